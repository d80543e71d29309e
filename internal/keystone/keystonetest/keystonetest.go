// Package keystonetest is a small, honest Keystone for tests: users with passwords
// and roles in projects, application credentials, tokens that expire and can be
// revoked, and a catalog. It answers as the real one does as far as clients of this
// project notice.
package keystonetest

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Domain of everything that is made here.
const Domain = "default"

// Grant is what a token stands for.
type Grant struct {
	Token     string
	User      string
	UserID    string
	Project   string // "": for no project
	ProjectID string
	Roles     []string
	Expires   time.Time
}

// Admin tells whether it has the role admin.
func (g Grant) Admin() bool { return slices.Contains(g.Roles, "admin") }

// Keystone is the fake. Its methods may be called at any time.
type Keystone struct {
	mu       sync.Mutex
	users    map[string]*user // by name
	projects map[string]string
	creds    map[string]credential // by id
	tokens   map[string]Grant
	catalog  []entry
	life     time.Duration
	requests int
	broken   int
}

type user struct {
	id, password string
	roles        map[string][]string // by project
}

type credential struct{ secret, user, project string }

type entry struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Type      string     `json:"type"`
	Endpoints []endpoint `json:"endpoints"`
}

type endpoint struct {
	ID        string `json:"id"`
	Interface string `json:"interface"`
	Region    string `json:"region"`
	RegionID  string `json:"region_id"`
	URL       string `json:"url"`
}

// New returns a Keystone without users.
func New() *Keystone {
	return &Keystone{
		users: map[string]*user{}, projects: map[string]string{}, creds: map[string]credential{}, tokens: map[string]Grant{}, life: time.Hour,
	}
}

func newID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// AddUser gives a user roles in a project, and makes both where they are missing. It
// returns the project's id.
func (k *Keystone) AddUser(name, password, project string, roles ...string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.projects[project] == "" {
		k.projects[project] = newID()
	}
	u := k.users[name]
	if u == nil {
		u = &user{id: newID(), roles: map[string][]string{}}
		k.users[name] = u
	}
	u.password = password
	u.roles[project] = roles
	return k.projects[project]
}

// AddCredential makes an application credential of a user for a project.
func (k *Keystone) AddCredential(userName, project string) (id, secret string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id, secret = newID(), newID()
	k.creds[id] = credential{secret, userName, project}
	return id, secret
}

// AddService puts a service into the catalog, with the same URL for each interface.
func (k *Keystone) AddService(kind, url string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := entry{ID: newID(), Name: kind, Type: kind}
	for _, i := range []string{"public", "internal", "admin"} {
		e.Endpoints = append(e.Endpoints, endpoint{newID(), i, "RegionOne", "RegionOne", url})
	}
	k.catalog = append(k.catalog, e)
}

// SetLife says how long new tokens are valid.
func (k *Keystone) SetLife(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.life = d
}

// Break makes the next n requests answer 503.
func (k *Keystone) Break(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.broken = n
}

// Requests counts the requests so far.
func (k *Keystone) Requests() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.requests
}

// Issue gives a user a token for a project; "" for one without.
func (k *Keystone) Issue(userName, project string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.issue(userName, project).Token
}

func (k *Keystone) issue(userName, project string) Grant {
	u := k.users[userName]
	if u == nil {
		panic(fmt.Sprintf("keystonetest: no user %q", userName))
	}
	g := Grant{
		Token: "gAAAA" + newID(), User: userName, UserID: u.id, Project: project, ProjectID: k.projects[project],
		Roles: u.roles[project], Expires: time.Now().Add(k.life).UTC(),
	}
	k.tokens[g.Token] = g
	return g
}

// Revoke ends a token.
func (k *Keystone) Revoke(token string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.tokens, token)
}

// Lookup tells what a valid token stands for.
func (k *Keystone) Lookup(token string) (Grant, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lookup(token)
}

func (k *Keystone) lookup(token string) (Grant, bool) {
	g, ok := k.tokens[token]
	return g, ok && time.Now().Before(g.Expires)
}

// ServeHTTP answers below any path that ends in /v3.
func (k *Keystone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.requests++
	if k.broken > 0 {
		k.broken--
		fail(w, http.StatusServiceUnavailable, "Service Unavailable")
		return
	}
	_, path, _ := strings.Cut(r.URL.Path, "/v3")
	switch {
	case path == "/auth/tokens" && r.Method == http.MethodPost:
		k.authenticate(w, r)
	case path == "/auth/tokens" && r.Method == http.MethodGet:
		k.validate(w, r)
	case path == "/projects" && r.Method == http.MethodGet:
		k.listProjects(w, r)
	case path == "" || path == "/":
		reply(w, http.StatusOK, map[string]any{"version": map[string]any{"id": "v3.14", "status": "stable"}})
	default:
		fail(w, http.StatusNotFound, "no such resource: "+r.Method+" "+r.URL.Path)
	}
}

// request is the body of an authentication.
type request struct {
	Auth struct {
		Identity struct {
			Methods  []string `json:"methods"`
			Password struct {
				User struct {
					ID, Name, Password string
				} `json:"user"`
			} `json:"password"`
			Token struct {
				ID string `json:"id"`
			} `json:"token"`
			Credential struct {
				ID, Secret string
			} `json:"application_credential"`
		} `json:"identity"`
		Scope *struct {
			Project *struct{ ID, Name string } `json:"project"`
		} `json:"scope"`
	} `json:"auth"`
}

func (k *Keystone) authenticate(w http.ResponseWriter, r *http.Request) {
	var req request
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Auth.Identity.Methods) != 1 {
		fail(w, http.StatusBadRequest, "the body is no authentication request")
		return
	}
	id := req.Auth.Identity
	var name string
	switch id.Methods[0] {
	case "password":
		name = k.userByPassword(id.Password.User.ID, id.Password.User.Name, id.Password.User.Password)
	case "token":
		if g, ok := k.lookup(id.Token.ID); ok {
			name = g.User
		}
	case "application_credential":
		c, ok := k.creds[id.Credential.ID]
		if !ok {
			fail(w, http.StatusNotFound, "Could not find Application Credential: "+id.Credential.ID+".")
			return
		}
		if c.secret == id.Credential.Secret && req.Auth.Scope == nil {
			k.grant(w, c.user, c.project)
			return
		}
	}
	if name == "" {
		fail(w, http.StatusUnauthorized, "The request you have made requires authentication.")
		return
	}
	project := ""
	if req.Auth.Scope != nil && req.Auth.Scope.Project != nil {
		for p, pid := range k.projects {
			if pid == req.Auth.Scope.Project.ID || p == req.Auth.Scope.Project.Name {
				project = p
			}
		}
		if project == "" || len(k.users[name].roles[project]) == 0 {
			fail(w, http.StatusUnauthorized, "The request you have made requires authentication.")
			return
		}
	}
	k.grant(w, name, project)
}

func (k *Keystone) userByPassword(id, name, password string) string {
	for n, u := range k.users {
		if (n == name || id != "" && u.id == id) && u.password == password {
			return n
		}
	}
	return ""
}

func (k *Keystone) grant(w http.ResponseWriter, name, project string) {
	g := k.issue(name, project)
	w.Header().Set("X-Subject-Token", g.Token)
	reply(w, http.StatusCreated, k.body(g))
}

func (k *Keystone) validate(w http.ResponseWriter, r *http.Request) {
	caller, ok := k.lookup(r.Header.Get("X-Auth-Token"))
	if !ok {
		fail(w, http.StatusUnauthorized, "The request you have made requires authentication.")
		return
	}
	subject := r.Header.Get("X-Subject-Token")
	if subject != caller.Token && !caller.Admin() {
		fail(w, http.StatusForbidden, "You are not authorized to perform the requested action: identity:validate_token.")
		return
	}
	g, ok := k.lookup(subject)
	if !ok {
		fail(w, http.StatusNotFound, "Could not recognize token.")
		return
	}
	w.Header().Set("X-Subject-Token", subject)
	reply(w, http.StatusOK, k.body(g))
}

// body is what Keystone tells of a token.
func (k *Keystone) body(g Grant) map[string]any {
	domain := map[string]any{"id": Domain, "name": "Default"}
	token := map[string]any{
		"expires_at": g.Expires.Format("2006-01-02T15:04:05.000000Z"),
		"user":       map[string]any{"id": g.UserID, "name": g.User, "domain": domain},
	}
	if g.Project != "" {
		var roles []map[string]any
		for _, r := range g.Roles {
			roles = append(roles, map[string]any{"id": "role-" + r, "name": r})
		}
		token["project"] = map[string]any{"id": g.ProjectID, "name": g.Project, "domain": domain}
		token["roles"] = roles
		token["catalog"] = k.catalog
	}
	return map[string]any{"token": token}
}

// listProjects shows an admin all projects, and others the one of their token.
func (k *Keystone) listProjects(w http.ResponseWriter, r *http.Request) {
	g, ok := k.lookup(r.Header.Get("X-Auth-Token"))
	if !ok {
		fail(w, http.StatusUnauthorized, "The request you have made requires authentication.")
		return
	}
	out := []map[string]any{}
	for name, id := range k.projects {
		if want := r.URL.Query().Get("name"); (want == "" || want == name) && (g.Admin() || id == g.ProjectID) {
			out = append(out, map[string]any{"id": id, "name": name, "domain_id": Domain, "enabled": true})
		}
	}
	reply(w, http.StatusOK, map[string]any{"projects": out})
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the client is gone: nothing to do about it
}

func fail(w http.ResponseWriter, code int, message string) {
	reply(w, code, map[string]any{"error": map[string]any{"code": code, "title": http.StatusText(code), "message": message}})
}
