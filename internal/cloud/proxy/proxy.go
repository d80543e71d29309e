// Package proxy offers OpenStack's own APIs as gRPC services: Identity, Image,
// Network, Compute and Placement of catena.cloud.v1 (paper 001, section 4.1). A call
// is made with its caller's token and sees what that token's project sees; nothing
// is kept between calls but the watching of servers, which callers of one project
// share.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	cloudv1 "github.com/catena-nfv/catena/api/catena/cloud/v1"
	"github.com/catena-nfv/catena/internal/cloud/openstack/apierror"
	"github.com/catena-nfv/catena/internal/keystone"
)

// Microversions that the calls rely on: flavors within servers; usages of a project.
const (
	computeMicroversion   = "2.52"
	placementMicroversion = "1.9"
)

// parallel bounds how many requests one call makes at the same time.
const parallel = 8

// Config of the services. Keystone is needed.
type Config struct {
	Keystone *keystone.Verifier
	// Transport carries all requests to the cloud; nil: keystone.Transport(nil).
	Transport http.RoundTripper
	// Endpoint chooses among the endpoints of the cloud's catalog.
	Endpoint gophercloud.EndpointOpts
	// Interval between two looks at servers that are watched; 0: a default that
	// adapts.
	Interval time.Duration
}

// Services implements the services. The contexts of its calls carry the caller's token
// (keystone.NewContext); those of Identity.Authenticate need not.
type Services struct {
	cfg      Config
	watchers watchers
}

// New returns the services.
func New(cfg Config) *Services {
	if cfg.Transport == nil {
		cfg.Transport = keystone.Transport(nil)
	}
	return &Services{cfg: cfg, watchers: watchers{interval: cfg.Interval}}
}

// Register adds the services to a server.
func (s *Services) Register(r grpc.ServiceRegistrar) {
	cloudv1.RegisterIdentityServer(r, &identity{all: s})
	cloudv1.RegisterImageServer(r, &image{all: s})
	cloudv1.RegisterNetworkServer(r, &network{all: s})
	cloudv1.RegisterComputeServer(r, &compute{all: s})
	cloudv1.RegisterPlacementServer(r, &placement{all: s})
}

// token returns the caller's token.
func token(ctx context.Context) (*keystone.Token, error) {
	t := keystone.FromContext(ctx)
	if t == nil {
		return nil, status.Error(codes.Unauthenticated, "the cloud's services need a Keystone token: send it as \"x-auth-token\"; Identity.Authenticate gives one")
	}
	return t, nil
}

// client makes the client of one of the cloud's services for the caller.
func (s *Services) client(ctx context.Context, open func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)) (*gophercloud.ServiceClient, *keystone.Token, error) {
	t, err := token(ctx)
	if err != nil {
		return nil, nil, err
	}
	c, err := open(t.Provider(s.cfg.Transport), s.cfg.Endpoint)
	if err != nil {
		return nil, nil, status.Error(codes.Unimplemented, err.Error())
	}
	switch c.Type {
	case "compute":
		c.Microversion = computeMicroversion
	case "placement":
		c.Microversion = placementMicroversion
	}
	return c, t, nil
}

func (s *Services) network(ctx context.Context) (*gophercloud.ServiceClient, *keystone.Token, error) {
	return s.client(ctx, openstack.NewNetworkV2)
}

func (s *Services) compute(ctx context.Context) (*gophercloud.ServiceClient, *keystone.Token, error) {
	return s.client(ctx, openstack.NewComputeV2)
}

// refused gives an error of the cloud its status, and names the object.
func refused(kind, name string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	text := apierror.Message(err)
	code := codes.Internal
	switch apierror.Code(err) {
	case 0:
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return status.FromContextError(err).Err()
		}
		code = codes.Unavailable
	case http.StatusBadRequest:
		code = codes.InvalidArgument
	case http.StatusUnauthorized:
		code = codes.Unauthenticated
	case http.StatusForbidden:
		code = codes.PermissionDenied
	case http.StatusNotFound:
		code = codes.NotFound
	case http.StatusConflict:
		code = codes.FailedPrecondition
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		code = codes.Unavailable
	}
	if apierror.Quota(err) {
		code = codes.ResourceExhausted
		text += "; delete what is not needed, or ask for a larger quota"
	} else if way := wayOut(code, text); way != "" {
		text = strings.TrimSuffix(text, ".") + "; " + way
	}
	return status.Error(code, naming(kind, name)+": "+text)
}

// wayOut says what a caller can do about what the cloud refuses.
func wayOut(code codes.Code, text string) string {
	switch {
	case strings.Contains(text, "availability zone"):
		return "see which there are (openstack availability zone list --compute), or leave it to the cloud"
	case strings.Contains(text, "forced_host"):
		return "only administrators may say on which host"
	case code == codes.PermissionDenied:
		return "the token's roles in its project do not allow it (Identity.GetToken tells them)"
	case code == codes.Unauthenticated:
		return "get another token (Identity.Authenticate)"
	}
	return ""
}

// also adds what went wrong on the way back.
func also(err, second error) error {
	st, _ := status.FromError(err)
	return status.Errorf(st.Code(), "%s; and what was made is left behind: %s", st.Message(), status.Convert(second).Message())
}

func naming(kind, name string) string {
	if name == "" {
		return kind
	}
	return fmt.Sprintf("%s %q", kind, name)
}

// needed refuses a request in which a field is missing.
func needed(fields ...string) error {
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == "" {
			return status.Errorf(codes.InvalidArgument, "the request names no %s; set %q", fields[i], strings.ReplaceAll(fields[i], " ", "_"))
		}
	}
	return nil
}

// byName sorts a list as all lists of the API are.
func byName[T interface {
	GetName() string
	GetId() string
}](list []T) []T {
	slices.SortFunc(list, func(a, b T) int {
		if c := strings.Compare(a.GetName(), b.GetName()); c != 0 {
			return c
		}
		return strings.Compare(a.GetId(), b.GetId())
	})
	return list
}

// stamp leaves out a time that is not known.
func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
