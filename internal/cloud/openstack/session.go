package openstack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/catena-nfv/catena/internal/cloud/openstack/watch"
	"github.com/catena-nfv/catena/internal/keystone"
)

// microversion of the compute API: tags with the request that makes a server (2.52),
// user data with one that rebuilds it (2.57).
const microversion = "2.57"

// SessionConfig of a session. Only Cloud must be set.
type SessionConfig struct {
	Cloud keystone.Cloud
	// Parallel bounds the requests that run at the same time; 0: no bound.
	Parallel int
	// Outage is how long requests that may be repeated are repeated while the cloud
	// fails; default 1 minute.
	Outage time.Duration
	Trace  *Trace // may be nil
}

// Session is one user's access to the APIs of one cloud. It has one token, which is
// renewed when it expires.
type Session struct {
	cfg       SessionConfig
	transport *http.Transport

	compute, network, image *api
	bulkTags                bool   // Neutron takes tags of ports as it makes them
	project                 string // its id
}

// Connect logs in and looks for the services.
func Connect(ctx context.Context, cfg SessionConfig) (*Session, error) {
	cfg.Outage = cmp.Or(cfg.Outage, time.Minute)
	s := &Session{cfg: cfg, transport: keystone.Transport(cfg.Cloud.TLS)}
	provider, err := cfg.Cloud.Login(ctx, s.roundTripper())
	if err != nil {
		return nil, err
	}
	for _, service := range []struct {
		api  **api
		name string
		open func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)
	}{
		{&s.compute, "compute", openstack.NewComputeV2},
		{&s.network, "network", openstack.NewNetworkV2},
		{&s.image, "image", openstack.NewImageV2},
	} {
		client, err := service.open(provider, cfg.Cloud.Endpoint)
		if err != nil {
			return nil, fmt.Errorf("%s service: %w", service.name, err)
		}
		*service.api = &api{service: service.name, client: client, outage: cfg.Outage, quotaUse: s.quotaUse}
		cfg.Trace.name(client.ResourceBaseURL(), service.name)
	}
	s.compute.client.Microversion = microversion
	s.project = projectOf(provider)
	var answer struct {
		Extensions []struct{ Alias string }
	}
	if err := s.network.get(ctx, "extensions?fields=alias", &answer); err != nil {
		return nil, err
	}
	for _, e := range answer.Extensions {
		s.bulkTags = s.bulkTags || e.Alias == "tag-ports-during-bulk-creation"
	}
	return s, nil
}

// Close gives the connections up.
func (s *Session) Close() { s.transport.CloseIdleConnections() }

// roundTripper is what requests go through: a bound, then the trace, then the network.
func (s *Session) roundTripper() http.RoundTripper {
	var next http.RoundTripper = s.transport
	if s.cfg.Trace != nil {
		next = s.cfg.Trace.wrap(next)
	}
	bounded := make(chan struct{}, max(s.cfg.Parallel, 1))
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if s.cfg.Parallel > 0 {
			select {
			case bounded <- struct{}{}:
				defer func() { <-bounded }()
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		return next.RoundTrip(r)
	})
}

// serverList lists servers for those who wait for some.
func (s *Session) serverList(ctx context.Context, since time.Time) ([]servers.Server, error) {
	var list []servers.Server
	err := persist(ctx, s.cfg.Outage, func() (err error) {
		list, err = watch.Servers(s.compute.client)(ctx, since)
		return s.compute.explain(err, http.MethodGet, "servers/detail")
	}, isCut)
	return list, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// api is one service of the cloud. Paths are relative to its endpoint; bodies are JSON.
type api struct {
	service string
	client  *gophercloud.ServiceClient
	outage  time.Duration
	// quotaUse tells limit and use of a quota that was exceeded.
	quotaUse func(context.Context, *APIError) string
}

// get, put and remove may be repeated, and are while the service fails. post is not:
// whether it has had an effect must be found out first (see ensure).
func (a *api) get(ctx context.Context, path string, out any) error {
	return a.repeat(ctx, func() error { return a.call(ctx, http.MethodGet, path, nil, out) })
}

func (a *api) put(ctx context.Context, path string, body, out any) error {
	return a.repeat(ctx, func() error { return a.call(ctx, http.MethodPut, path, body, out) })
}

// remove succeeds when there is nothing (any more).
func (a *api) remove(ctx context.Context, path string) error {
	err := a.repeat(ctx, func() error { return a.call(ctx, http.MethodDelete, path, nil, nil) })
	if isStatus(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// post is not cut off midway when the context ends: what it makes would be known to
// nobody.
func (a *api) post(ctx context.Context, path string, body, out any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return a.call(context.WithoutCancel(ctx), http.MethodPost, path, body, out)
}

func (a *api) call(ctx context.Context, method, path string, body, out any) error {
	target := path
	if !strings.Contains(path, "://") {
		target = a.client.ServiceURL(path)
	}
	opts := &gophercloud.RequestOpts{KeepResponseBody: true, OkCodes: []int{200, 201, 202, 203, 204}}
	if body != nil {
		opts.JSONBody = body
	}
	resp, err := a.client.Request(ctx, method, target, opts)
	if err == nil {
		err = decode(resp, out)
	}
	err = a.explain(err, method, target)
	var refused *APIError
	if errors.As(err, &refused) && refused.quota() && a.quotaUse != nil {
		refused.Quota = a.quotaUse(ctx, refused)
	}
	return err
}

// decode reads an answer to its end, so that its connection can be used again.
func decode(resp *http.Response, out any) error {
	defer resp.Body.Close()
	if out != nil {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("the answer is not as expected: %w", err)
		}
	}
	_, err := io.Copy(io.Discard, resp.Body)
	return err
}

// repeat calls until that does not fail in a way that passes by itself, for as long as an
// outage may last.
func (a *api) repeat(ctx context.Context, call func() error) error {
	return persist(ctx, a.outage, call, isTransient)
}

// persist calls until the error is none to be met by patience, with growing pauses.
func persist(ctx context.Context, patience time.Duration, call func() error, passes func(error) bool) error {
	begun := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := call()
		if err == nil || !passes(err) {
			return err
		}
		if time.Since(begun)+pause > patience {
			return fmt.Errorf("given up after %s: %w", time.Since(begun).Round(time.Second), err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w, while it was tried again: %w", ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// query builds a path with a query; values of one key are alternatives.
func query(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Add(pairs[i], pairs[i+1])
	}
	return path + "?" + q.Encode()
}
