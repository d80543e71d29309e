package keystone

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
)

// Cloud is how to reach a cloud, and as whom.
type Cloud struct {
	Auth     gophercloud.AuthOptions
	Endpoint gophercloud.EndpointOpts
	TLS      *tls.Config // nil: the system's roots
}

// ErrNoCredentials means that neither a name nor the environment tells of a cloud.
var ErrNoCredentials = errors.New("no cloud is named; set OS_CLOUD to an entry of clouds.yaml, or OS_AUTH_URL with a user and a project, or OS_APPLICATION_CREDENTIAL_ID and _SECRET")

// Credentials finds a cloud as the openstack command does: the entry of that name
// in clouds.yaml; without a name the entry that OS_CLOUD names; without either what
// OS_AUTH_URL and the other OS_ variables say.
func Credentials(name string) (Cloud, error) {
	name = cmp.Or(name, os.Getenv("OS_CLOUD"))
	if name != "" {
		auth, endpoint, tlsConfig, err := clouds.Parse(clouds.WithCloudName(name))
		if err != nil {
			return Cloud{}, fmt.Errorf("cloud %s: %w; OS_CLIENT_CONFIG_FILE names the clouds.yaml, OS_CLOUD one of its entries", name, err)
		}
		if auth.IdentityEndpoint == "" {
			return Cloud{}, fmt.Errorf("cloud %s: clouds.yaml has no auth_url for it", name)
		}
		return Cloud{auth, endpoint, tlsConfig}, nil
	}
	if os.Getenv("OS_AUTH_URL") == "" {
		return Cloud{}, ErrNoCredentials
	}
	return fromEnvironment()
}

// fromEnvironment reads the variables of an openrc file.
func fromEnvironment() (Cloud, error) {
	env := os.Getenv
	auth := gophercloud.AuthOptions{
		IdentityEndpoint: env("OS_AUTH_URL"),
		Username:         env("OS_USERNAME"),
		UserID:           env("OS_USER_ID"),
		Password:         env("OS_PASSWORD"),
		DomainID:         env("OS_USER_DOMAIN_ID"),
		DomainName:       env("OS_USER_DOMAIN_NAME"),
		TokenID:          env("OS_TOKEN"),

		ApplicationCredentialID:     env("OS_APPLICATION_CREDENTIAL_ID"),
		ApplicationCredentialName:   env("OS_APPLICATION_CREDENTIAL_NAME"),
		ApplicationCredentialSecret: env("OS_APPLICATION_CREDENTIAL_SECRET"),
	}
	if auth.DomainID == "" && auth.DomainName == "" && auth.Username != "" {
		auth.DomainID = "default"
	}
	project, projectID := cmp.Or(env("OS_PROJECT_NAME"), env("OS_TENANT_NAME")), cmp.Or(env("OS_PROJECT_ID"), env("OS_TENANT_ID"))
	byCredential := auth.ApplicationCredentialID != "" || auth.ApplicationCredentialName != ""
	switch {
	case byCredential:
		// It belongs to a project; Keystone refuses one that is named beside it.
		if auth.ApplicationCredentialSecret == "" {
			return Cloud{}, errors.New("OS_APPLICATION_CREDENTIAL_ID is set and OS_APPLICATION_CREDENTIAL_SECRET is not")
		}
		if auth.ApplicationCredentialID != "" {
			auth.Username, auth.DomainID, auth.DomainName = "", "", ""
		}
	case auth.TokenID != "" && project == "" && projectID == "":
		// The token is used as it is.
	case auth.TokenID == "" && (auth.Username == "" && auth.UserID == "" || auth.Password == ""):
		return Cloud{}, errors.New("OS_AUTH_URL is set, and there is no OS_USERNAME with OS_PASSWORD, no OS_TOKEN and no OS_APPLICATION_CREDENTIAL_ID")
	case projectID != "":
		auth.Scope = &gophercloud.AuthScope{ProjectID: projectID}
	case project != "":
		auth.Scope = &gophercloud.AuthScope{ProjectName: project, DomainID: env("OS_PROJECT_DOMAIN_ID"), DomainName: env("OS_PROJECT_DOMAIN_NAME")}
		if auth.Scope.DomainID == "" && auth.Scope.DomainName == "" {
			auth.Scope.DomainID = "default"
		}
	default:
		return Cloud{}, errors.New("OS_PROJECT_NAME is not set; every call is for a project")
	}
	if auth.TokenID != "" && !byCredential {
		auth.Username, auth.UserID, auth.Password, auth.DomainID, auth.DomainName = "", "", "", "", ""
	}
	endpoint, tlsConfig, err := Environment()
	return Cloud{auth, endpoint, tlsConfig}, err
}

// Environment tells how to reach a cloud's services, whoever calls: OS_REGION_NAME,
// OS_INTERFACE, OS_CACERT, OS_CERT, OS_KEY and OS_INSECURE.
func Environment() (gophercloud.EndpointOpts, *tls.Config, error) {
	tlsConfig, err := tlsFromEnvironment()
	return gophercloud.EndpointOpts{
		Region: os.Getenv("OS_REGION_NAME"), Availability: availability(os.Getenv("OS_INTERFACE")),
	}, tlsConfig, err
}

func availability(name string) gophercloud.Availability {
	switch strings.TrimSuffix(name, "URL") {
	case "internal":
		return gophercloud.AvailabilityInternal
	case "admin":
		return gophercloud.AvailabilityAdmin
	}
	return gophercloud.AvailabilityPublic
}

// tlsFromEnvironment returns nil when nothing is asked for.
func tlsFromEnvironment() (*tls.Config, error) {
	var cfg tls.Config
	used := false
	if path := os.Getenv("OS_CACERT"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("OS_CACERT: %w", err)
		}
		cfg.RootCAs, used = x509.NewCertPool(), true
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("OS_CACERT: %s has no certificate in PEM form", path)
		}
	}
	if cert, key := os.Getenv("OS_CERT"), os.Getenv("OS_KEY"); cert != "" && key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("OS_CERT, OS_KEY: %w", err)
		}
		cfg.Certificates, used = []tls.Certificate{pair}, true
	}
	if v := os.Getenv("OS_INSECURE"); v != "" {
		insecure, err := strconv.ParseBool(v)
		if err != nil {
			return nil, fmt.Errorf("OS_INSECURE=%q is neither true nor false", v)
		}
		cfg.InsecureSkipVerify, used = insecure, true
	}
	if !used {
		return nil, nil
	}
	return &cfg, nil
}

// Transport makes the HTTP transport for calls to one cloud: connections are kept,
// as many as calls may run at the same time.
func Transport(tlsConfig *tls.Config) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = tlsConfig.Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 64
	t.ResponseHeaderTimeout = 2 * time.Minute
	return t
}

// Login gets a token for the cloud's credentials and returns the client with which
// calls are made; it gets a new token by itself when that one has expired. The
// transport carries every request; nil stands for Transport(c.TLS).
func (c Cloud) Login(ctx context.Context, transport http.RoundTripper) (*gophercloud.ProviderClient, error) {
	if transport == nil {
		transport = Transport(c.TLS)
	}
	p, err := openstack.NewClient(identityURL(c.Auth.IdentityEndpoint))
	if err != nil {
		return nil, fmt.Errorf("identity URL %q: %w", c.Auth.IdentityEndpoint, err)
	}
	p.HTTPClient = http.Client{Transport: transport}
	auth := c.Auth
	auth.AllowReauth = auth.TokenID == ""
	if err := openstack.Authenticate(ctx, p, auth); err != nil {
		return nil, c.explain(err)
	}
	if project, err := projectOf(p.GetAuthResult()); err == nil && project == nil {
		return nil, fmt.Errorf("identity service %s knows %s, but not for which project; name one (project_name, OS_PROJECT_NAME)", c.Auth.IdentityEndpoint, c.who())
	}
	catalog, err := catalogOf(p.GetAuthResult())
	if err != nil {
		return nil, fmt.Errorf("identity service %s: catalog: %w", c.Auth.IdentityEndpoint, err)
	}
	p.EndpointLocator = locator(catalog)
	return p, nil
}

// explain says of a login in vain what is to be looked at.
func (c Cloud) explain(err error) error {
	at := "identity service " + c.Auth.IdentityEndpoint
	var unreachable net.Error
	switch byToken := c.Auth.TokenID != ""; {
	case gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) && byToken:
		return fmt.Errorf("%s refuses %s%s: it has expired or was revoked, or the project is not its user's; get another (openstack token issue)", at, c.who(), c.whose())
	case gophercloud.ResponseCodeIs(err, http.StatusUnauthorized):
		return fmt.Errorf("%s refuses the credentials of %s%s; check name, password and domains, and that it has a role in the project (openstack token issue)", at, c.who(), c.whose())
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound) && strings.Contains(err.Error(), "Application Credential"):
		return fmt.Errorf("%s has no %s; see which there are (openstack application credential list)", at, c.who())
	case gophercloud.ResponseCodeIs(err, http.StatusNotFound):
		return fmt.Errorf("at %s there is no Keystone of version 3 (404); check the URL (auth_url, OS_AUTH_URL)", c.Auth.IdentityEndpoint)
	case errors.As(err, &unreachable):
		return fmt.Errorf("%w; check the URL (auth_url, OS_AUTH_URL), and that the cloud is up", unanswered(c.Auth.IdentityEndpoint, err))
	}
	return unanswered(c.Auth.IdentityEndpoint, err)
}

// unanswered is the error of an identity service that did not do what it is for.
func unanswered(at string, err error) error {
	var request *url.Error // whose URL is said anyway
	var answer gophercloud.ErrUnexpectedResponseCode
	switch {
	case errors.As(err, &request):
		return fmt.Errorf("identity service %s does not answer: %w", at, request.Err)
	case errors.As(err, &answer):
		return fmt.Errorf("identity service %s fails (%d %s); see its log, or try again", at, answer.Actual, http.StatusText(answer.Actual))
	}
	return fmt.Errorf("identity service %s: %w", at, err)
}

// whose names the project for messages.
func (c Cloud) whose() string {
	if s := c.Auth.Scope; s != nil && cmp.Or(s.ProjectName, s.ProjectID) != "" {
		return " for project " + cmp.Or(s.ProjectName, s.ProjectID)
	}
	if name := cmp.Or(c.Auth.TenantName, c.Auth.TenantID); name != "" {
		return " for project " + name
	}
	return ""
}

// who names the user for messages.
func (c Cloud) who() string {
	switch a := c.Auth; {
	case a.ApplicationCredentialID != "" || a.ApplicationCredentialName != "":
		return "application credential " + cmp.Or(a.ApplicationCredentialName, a.ApplicationCredentialID)
	case a.TokenID != "":
		return "the token"
	default:
		return "user " + cmp.Or(a.Username, a.UserID)
	}
}

// projectOf is the project of a login, nil when it is for none.
func projectOf(result gophercloud.AuthResult) (*tokens.Project, error) {
	r, ok := result.(interface {
		ExtractProject() (*tokens.Project, error)
	})
	if !ok {
		return nil, fmt.Errorf("%T has none", result)
	}
	return r.ExtractProject()
}

func catalogOf(result gophercloud.AuthResult) (*tokens.ServiceCatalog, error) {
	r, ok := result.(interface {
		ExtractServiceCatalog() (*tokens.ServiceCatalog, error)
	})
	if !ok {
		return nil, fmt.Errorf("%T has none", result)
	}
	return r.ExtractServiceCatalog()
}

// locator finds endpoints in a catalog. Unlike gophercloud's own it trusts the
// catalog and asks no endpoint for its versions, which would be a request a service.
func locator(catalog *tokens.ServiceCatalog) gophercloud.EndpointLocator {
	return func(o gophercloud.EndpointOpts) (string, error) {
		o.ApplyDefaults(o.Type)
		for _, e := range catalog.Entries {
			if !slices.Contains(o.Types(), e.Type) || o.Name != "" && e.Name != o.Name {
				continue
			}
			for _, at := range e.Endpoints {
				if at.Interface == string(o.Availability) && (o.Region == "" || at.Region == o.Region || at.RegionID == o.Region) {
					return gophercloud.NormalizeURL(at.URL), nil
				}
			}
		}
		in := ""
		if o.Region != "" {
			in = " in region " + o.Region
		}
		return "", fmt.Errorf("the cloud's catalog has no %s endpoint for %s%s; see what it has (openstack catalog list)", o.Availability, o.Type, in)
	}
}

// identityURL appends the version, which saves a request that asks for it.
func identityURL(url string) string {
	url = strings.TrimSuffix(url, "/")
	if !strings.HasSuffix(url, "/v3") {
		url += "/v3"
	}
	return url + "/"
}
