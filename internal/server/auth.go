package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/internal/service"
)

// Identity is who calls.
type Identity struct {
	// Admin may touch every project, and see the switch.
	Admin bool
	// Projects that others may touch, at least one. Of an admin: the one that the
	// token is for, which a request means that names none.
	Projects []string
}

func (i Identity) may(project string) bool {
	return i.Admin || slices.Contains(i.Projects, project)
}

// whose names the projects, for messages.
func (i Identity) whose() string {
	if len(i.Projects) == 1 {
		return fmt.Sprintf("project %q", i.Projects[0])
	}
	return fmt.Sprintf("the projects %q", i.Projects)
}

// Tokens are known by their hash, so that comparing takes the same time for all.
type Tokens map[[sha256.Size]byte]Identity

// ReadTokens reads a token file, and makes one with one random admin token when
// there is none. Each line is a token, alone for an admin, or followed by the
// projects that it is limited to; "#" begins a comment. Only the owner may be
// able to read the file.
func ReadTokens(path string) (Tokens, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		text, err = makeTokens(path)
	}
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("token file %s can be read by others; chmod 600 it", path)
	}
	tokens := Tokens{}
	for n, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f[0]) < 16 {
			return nil, fmt.Errorf("token file %s:%d: a token has at least 16 characters", path, n+1)
		}
		for _, p := range f[1:] {
			if !service.IsName(p) {
				return nil, fmt.Errorf("token file %s:%d: %q is no project name", path, n+1, p)
			}
		}
		tokens[sha256.Sum256([]byte(f[0]))] = Identity{Admin: len(f) == 1, Projects: f[1:]}
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("token file %s has no token; remove it to have one made", path)
	}
	return tokens, nil
}

func makeTokens(path string) ([]byte, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	random := make([]byte, 24)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	text := []byte(base64.RawURLEncoding.EncodeToString(random) + "\n")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(text); err != nil {
		_ = f.Close()
		return nil, err
	}
	return text, f.Close()
}

// identify finds the identity of a token.
func (t Tokens) identify(token string) (Identity, bool) {
	sum := sha256.Sum256([]byte(token))
	var found Identity
	ok := 0
	for h, id := range t {
		if subtle.ConstantTimeCompare(h[:], sum[:]) == 1 {
			found, ok = id, 1
		}
	}
	return found, ok == 1
}

// guard stands before every call: it identifies the caller, turns panics into
// errors and ends streams at shutdown.
type guard struct {
	tokens   Tokens
	keystone *keystone.Verifier // nil: none is asked
	log      *slog.Logger
	stopping context.Context
	ready    <-chan struct{} // nil: it is
}

// open are the calls that need no identity: they tell nothing of any project, or give
// an identity.
var open = []string{"/grpc.health.v1.Health/", "/grpc.reflection.", "/catena.cloud.v1.Identity/Authenticate"}

type identityKey struct{}

func identityOf(ctx context.Context) Identity {
	id, _ := ctx.Value(identityKey{}).(Identity)
	return id
}

// early are the calls that are answered before the orchestrator is ready: the cloud needs
// them to make what a recovery waits for.
var early = []string{"/grpc.health.v1.Health/", "/grpc.reflection.", "/catena.v1.Mirror/"}

// await lets a call wait until the orchestrator is ready.
func (g *guard) await(ctx context.Context, method string) error {
	if g.ready == nil || slices.ContainsFunc(early, func(prefix string) bool { return strings.HasPrefix(method, prefix) }) {
		return nil
	}
	select {
	case <-g.ready:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-g.stopping.Done():
		return unavailable("the controller is shutting down")
	}
}

// identify gives the context with the caller's identity: that of a Keystone token in
// "x-auth-token", of the unix socket, of a bearer token, or of a client certificate.
func (g *guard) identify(ctx context.Context, method string) (context.Context, error) {
	for _, prefix := range open {
		if strings.HasPrefix(method, prefix) {
			return ctx, nil
		}
	}
	md, _ := metadata.FromIncomingContext(ctx)
	if values := md.Get("x-auth-token"); len(values) > 0 {
		return g.identifyByKeystone(ctx, values[0])
	}
	network := ""
	p, known := peer.FromContext(ctx)
	if known {
		network = p.Addr.Network()
	}
	if network == "unix" {
		return context.WithValue(ctx, identityKey{}, Identity{Admin: true}), nil
	}
	if values := md.Get("authorization"); len(values) > 0 {
		token, ok := strings.CutPrefix(values[0], "Bearer ")
		if !ok {
			return nil, status.Error(codes.Unauthenticated, "the authorization is not of the form \"Bearer TOKEN\"")
		}
		token = strings.TrimSpace(token)
		if id, ok := g.tokens.identify(token); ok {
			return context.WithValue(ctx, identityKey{}, id), nil
		}
		if g.keystone == nil {
			return nil, status.Error(codes.Unauthenticated, "the token is not known; the right one is in the controller's token file")
		}
		return g.identifyByKeystone(ctx, token)
	}
	var id Identity
	var ok bool
	switch info := authInfo(p).(type) {
	case credentials.TLSInfo:
		id, ok = ofCertificate(&info.State)
	default:
		id, ok = throughGateway(network, md)
	}
	if ok {
		return context.WithValue(ctx, identityKey{}, id), nil
	}
	how := "the token of the controller's token file"
	if g.keystone != nil {
		how += " or a Keystone token"
	}
	return nil, status.Errorf(codes.Unauthenticated, "no token; send \"Authorization: Bearer TOKEN\", with %s", how)
}

func authInfo(p *peer.Peer) credentials.AuthInfo {
	if p == nil {
		return nil
	}
	return p.AuthInfo
}

// identifyByKeystone asks the identity service whose token it is.
func (g *guard) identifyByKeystone(ctx context.Context, token string) (context.Context, error) {
	if g.keystone == nil {
		return nil, status.Error(codes.Unauthenticated, "this controller does not take Keystone tokens; start it with --keystone URL")
	}
	t, err := g.keystone.Verify(ctx, token)
	switch {
	case errors.Is(err, keystone.ErrInvalid):
		return nil, status.Errorf(codes.Unauthenticated, "%v; get another (openstack token issue), or use the one of the controller's token file", keystone.ErrInvalid)
	case errors.Is(err, keystone.ErrUnscoped):
		return nil, status.Error(codes.Unauthenticated, keystone.ErrUnscoped.Error())
	case ctx.Err() != nil:
		return nil, status.FromContextError(ctx.Err()).Err()
	case err != nil:
		g.log.Error("a token cannot be checked", "error", err)
		return nil, unavailable("the token cannot be checked: %v; the controller's --keystone (CATENA_KEYSTONE) names it", err)
	}
	id := Identity{Admin: t.Admin(), Projects: []string{projectOf(t)}}
	return context.WithValue(keystone.NewContext(ctx, t), identityKey{}, id), nil
}

// Projects that Keystone knows by ids of this form must not be met by a name.
var projectIDRx = regexp.MustCompile(`^[0-9a-f]{32}$`)

// projectOf tells which project of the controller a token is for: the name of a project
// in the default domain, where names are unique, if it can be one here; else the id.
func projectOf(t *keystone.Token) string {
	p := t.Project
	if p.Domain.ID == "default" && service.IsName(p.Name) && !projectIDRx.MatchString(p.Name) {
		return p.Name
	}
	return p.ID
}

func (g *guard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer g.recovered(info.FullMethod, &err)
	if ctx, err = g.identify(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	if err := g.await(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	resp, err = handler(ctx, req)
	return resp, toStatus(err)
}

func (g *guard) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer g.recovered(info.FullMethod, &err)
	ctx, err := g.identify(ss.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.stopping, cancel)()
	if err := g.await(ctx, info.FullMethod); err != nil {
		return err
	}
	err = toStatus(handler(srv, &guardedStream{ss, ctx}))
	if g.stopping.Err() != nil && status.Code(err) == codes.Canceled {
		return unavailable("the controller is shutting down")
	}
	return err
}

func (g *guard) recovered(method string, err *error) {
	if r := recover(); r != nil {
		g.log.Error("panic in a call", "method", method, "panic", r, "stack", string(debug.Stack()))
		*err = status.Error(codes.Internal, "internal error; the controller's log has the details")
	}
}

// guardedStream is a stream whose context knows the caller.
type guardedStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *guardedStream) Context() context.Context { return s.ctx }

// project checks that the caller may touch a project. An empty name stands for
// the caller's only project, else the default one.
func project(ctx context.Context, name string) (string, error) {
	id := identityOf(ctx)
	if name == "" {
		name = service.DefaultProject
		if len(id.Projects) == 1 {
			name = id.Projects[0]
		}
	}
	if !id.may(name) {
		return "", status.Errorf(codes.PermissionDenied, "the token is not for project %q, but for %s", name, id.whose())
	}
	return name, nil
}

// projects gives those that a listing covers: the named one, or all that the
// caller may see. [""] stands for all there are.
func projects(ctx context.Context, name string) ([]string, error) {
	id := identityOf(ctx)
	switch {
	case name != "":
		if !id.may(name) {
			return nil, status.Errorf(codes.PermissionDenied, "the token is not for project %q, but for %s", name, id.whose())
		}
		return []string{name}, nil
	case id.Admin:
		return []string{""}, nil
	}
	return slices.Sorted(slices.Values(id.Projects)), nil
}

// admin refuses others.
func admin(ctx context.Context) error {
	if !identityOf(ctx).Admin {
		return status.Error(codes.PermissionDenied, "this needs an admin's token")
	}
	return nil
}
