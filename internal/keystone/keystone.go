// Package keystone is the project's side of OpenStack's identity service: it reads
// credentials as the openstack command does, gets tokens for them, and checks the
// tokens that callers of the project's own API present.
package keystone

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"golang.org/x/sync/singleflight"
)

// Errors of tokens. Others mean that the identity service could not be asked.
var (
	ErrInvalid  = errors.New("the token is not valid, or has expired")
	ErrUnscoped = errors.New("the token is for no project; get one with a project, as in `openstack --os-project-name NAME token issue`")
)

// AdminRole is the role that crosses projects, as in OpenStack's own policies.
const AdminRole = "admin"

// Token is what the identity service says of a valid token.
type Token struct {
	ID      string // the secret itself
	Expires time.Time
	User    tokens.User
	Project tokens.Project
	Roles   []string // sorted
	catalog *tokens.ServiceCatalog
}

// Admin reports whether the token's roles cross projects.
func (t *Token) Admin() bool { return slices.Contains(t.Roles, AdminRole) }

// Provider returns a client that makes calls with the token. It never gets another
// one.
func (t *Token) Provider(transport http.RoundTripper) *gophercloud.ProviderClient {
	p := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: transport}}
	p.UseTokenLock()
	p.SetToken(t.ID)
	p.EndpointLocator = locator(t.catalog)
	return p
}

// Config of a Verifier. URL is needed.
type Config struct {
	// URL of the identity service, with or without "/v3".
	URL string
	// Transport carries the requests; nil: http.DefaultTransport.
	Transport http.RoundTripper
	// MaxAge bounds how long an answer is kept, and with it how long a revoked
	// token is still taken; default five minutes. No answer outlives its token.
	MaxAge time.Duration
	// MaxTokens bounds how many answers are kept, default 4096.
	MaxTokens int
	// Now is the clock, for tests.
	Now func() time.Time
}

// timeout of one question to the identity service.
const timeout = 15 * time.Second

// Verifier checks tokens and remembers the answers. It may be used at the same time.
type Verifier struct {
	cfg   Config
	asked singleflight.Group

	mu     sync.Mutex
	known  map[[sha256.Size]byte]answer
	latest uint64
}

// answer is a token that was valid when it was asked for.
type answer struct {
	token *Token
	until time.Time
	used  uint64 // grows with every use of any answer
}

// NewVerifier returns a verifier; it asks nothing yet.
func NewVerifier(cfg Config) (*Verifier, error) {
	if _, err := openstack.NewClient(identityURL(cfg.URL)); cfg.URL == "" || err != nil {
		return nil, fmt.Errorf("identity URL %q is not of the form http://HOST:PORT/v3", cfg.URL)
	}
	if cfg.Transport == nil {
		cfg.Transport = http.DefaultTransport
	}
	if cfg.MaxAge == 0 {
		cfg.MaxAge = 5 * time.Minute
	}
	if cfg.MaxTokens == 0 {
		cfg.MaxTokens = 4096
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Verifier{cfg: cfg, known: map[[sha256.Size]byte]answer{}}, nil
}

// Verify returns what a token stands for: ErrInvalid, ErrUnscoped, or an error that
// tells why the identity service could not be asked. Callers that ask for the same
// token at the same time share one question.
func (v *Verifier) Verify(ctx context.Context, token string) (*Token, error) {
	key := sha256.Sum256([]byte(token))
	if t := v.recall(key); t != nil {
		return t, nil
	}
	result := v.asked.DoChan(string(key[:]), func() (any, error) {
		// The answer is for all who wait, whoever of them goes away.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		t, err := v.ask(ctx, token)
		if err == nil {
			v.remember(key, t)
		}
		return t, err
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*Token), nil
	}
}

func (v *Verifier) recall(key [sha256.Size]byte) *Token {
	v.mu.Lock()
	defer v.mu.Unlock()
	a, ok := v.known[key]
	if !ok {
		return nil
	}
	if !v.cfg.Now().Before(a.until) {
		delete(v.known, key)
		return nil
	}
	v.latest++
	a.used = v.latest
	v.known[key] = a
	return a.token
}

func (v *Verifier) remember(key [sha256.Size]byte, t *Token) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.cfg.Now()
	if _, ok := v.known[key]; !ok && len(v.known) >= v.cfg.MaxTokens {
		v.makeRoom(now)
	}
	until := now.Add(v.cfg.MaxAge)
	if t.Expires.Before(until) {
		until = t.Expires
	}
	v.latest++
	v.known[key] = answer{t, until, v.latest}
}

// makeRoom forgets what has expired, or else a quarter of the answers, those that
// were not used for longest: looking for one at a time would cost the same.
func (v *Verifier) makeRoom(now time.Time) {
	var uses []uint64
	for key, a := range v.known {
		if !now.Before(a.until) {
			delete(v.known, key)
		} else {
			uses = append(uses, a.used)
		}
	}
	if len(v.known) < v.cfg.MaxTokens {
		return
	}
	slices.Sort(uses)
	last := uses[len(uses)/4]
	for key, a := range v.known {
		if a.used <= last {
			delete(v.known, key)
		}
	}
}

// ask validates a token with itself, which Keystone allows its owner by default: no
// service user is needed.
func (v *Verifier) ask(ctx context.Context, token string) (*Token, error) {
	p := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: v.cfg.Transport}}
	p.UseTokenLock()
	p.SetToken(token)
	r := tokens.Get(ctx, v.identity(p), token)
	if r.Err != nil {
		for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound} {
			if gophercloud.ResponseCodeIs(r.Err, code) {
				return nil, ErrInvalid
			}
		}
		return nil, unanswered(v.cfg.URL, r.Err)
	}
	t, err := read(&r)
	if err != nil {
		return nil, fmt.Errorf("identity service %s: %w", v.cfg.URL, err)
	}
	t.ID = token
	if !v.cfg.Now().Before(t.Expires) {
		return nil, ErrInvalid
	}
	return t, nil
}

// Authenticate gets a token of a project for a user's credentials; ErrInvalid when
// they are wrong.
func (v *Verifier) Authenticate(ctx context.Context, auth tokens.AuthOptionsBuilder) (*Token, error) {
	p := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: v.cfg.Transport}}
	p.UseTokenLock()
	r := tokens.Create(ctx, v.identity(p), auth)
	if r.Err != nil {
		if gophercloud.ResponseCodeIs(r.Err, http.StatusUnauthorized) {
			return nil, ErrInvalid
		}
		return nil, unanswered(v.cfg.URL, r.Err)
	}
	t, err := read(&r)
	if err != nil {
		return nil, fmt.Errorf("identity service %s: %w", v.cfg.URL, err)
	}
	v.remember(sha256.Sum256([]byte(t.ID)), t)
	return t, nil
}

func (v *Verifier) identity(p *gophercloud.ProviderClient) *gophercloud.ServiceClient {
	return &gophercloud.ServiceClient{ProviderClient: p, Endpoint: identityURL(v.cfg.URL), Type: "identity"}
}

// read takes a token out of the answer to a validation or an authentication.
func read(r interface {
	ExtractToken() (*tokens.Token, error)
	ExtractUser() (*tokens.User, error)
	ExtractProject() (*tokens.Project, error)
	ExtractRoles() ([]tokens.Role, error)
	ExtractServiceCatalog() (*tokens.ServiceCatalog, error)
}) (*Token, error) {
	token, err := r.ExtractToken()
	if err != nil {
		return nil, err
	}
	user, err := r.ExtractUser()
	if err != nil {
		return nil, err
	}
	project, err := r.ExtractProject()
	if err != nil {
		return nil, err
	}
	if project == nil || project.ID == "" {
		return nil, ErrUnscoped
	}
	roles, err := r.ExtractRoles()
	if err != nil {
		return nil, err
	}
	catalog, err := r.ExtractServiceCatalog()
	if err != nil {
		return nil, err
	}
	t := &Token{ID: token.ID, Expires: token.ExpiresAt, Project: *project, catalog: catalog}
	if user != nil {
		t.User = *user
	}
	for _, role := range roles {
		t.Roles = append(t.Roles, role.Name)
	}
	slices.Sort(t.Roles)
	return t, nil
}

// Len is how many answers are kept.
func (v *Verifier) Len() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.known)
}

type contextKey struct{}

// NewContext returns a context of a call that was made with the token.
func NewContext(ctx context.Context, t *Token) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// FromContext returns the token with which a call was made, nil if with none.
func FromContext(ctx context.Context) *Token {
	t, _ := ctx.Value(contextKey{}).(*Token)
	return t
}
