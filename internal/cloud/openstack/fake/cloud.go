// Package fake is an OpenStack in one process, for tests: the parts of Keystone,
// Glance, Neutron, Nova and Placement that Catena uses, with their rules and their errors. Servers
// are built and deleted by the clock, quotas are counted, ports belong to one server,
// networks in use cannot be deleted; and calls can be made to fail (Fail, Break).
//
// Objects are kept as the JSON that the APIs show. Nothing runs in its servers; what
// their console says is Config.Console's to decide.
package fake

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// Config of a cloud; every field has a default.
type Config struct {
	// BuildTime and DeleteTime are how long a server is in BUILD, and how long it is
	// "deleting" after it was deleted, and then once more, DELETED, still in lists.
	BuildTime, DeleteTime time.Duration
	// Quota of each project, by the services' names: "instances", "cores", "network",
	// "subnet", "port", "router", "security_group",
	// "security_group_rule", "floatingip", "key_pairs". What is missing is not limited.
	Quota map[string]int
	// Images are their names; default "catena" and "ubuntu". All have the property
	// catena_guest=1, but "plain".
	Images []string
	// Flavors are their names; default "small".
	Flavors []string
	// Console is what a server that was built has written to its console.
	Console func(name, userData string) string
	// PageSize limits how many servers one answer lists; default 1000.
	PageSize int
	// MaxMTU of networks; 0: any.
	MaxMTU int
	// External are the names of external networks, which an administrator has made.
	External []string
	// Hosts are the compute hosts, in the zone "nova"; default "host1".
	Hosts []string
}

// object is one resource as the APIs show it.
type object = map[string]any

// Cloud is a running fake.
type Cloud struct {
	URL    string
	cfg    Config
	server *httptest.Server

	mu       sync.Mutex
	neutron  map[string]map[string]object // kind → id → resource
	servers  map[string]*server
	keyPairs map[string]map[string]object // user → name → keypair
	order    int                          // of servers, as they were made
	images   []object
	flavors  []object
	tokens   map[string]Identity
	failures []*failure
	broken   map[string]string // name of a server → why it goes to ERROR
	calls    map[string]int
	cut      int // 0: never; 1: now; else after cut-1 changes
}

// failure makes calls fail.
type failure struct {
	call   string
	status int
	left   int
	body   string
	late   bool // the call has its effect
}

// New starts a cloud; Close ends it.
func New(cfg Config) *Cloud {
	if cfg.PageSize == 0 {
		cfg.PageSize = 1000
	}
	if len(cfg.Hosts) == 0 {
		cfg.Hosts = []string{"host1"}
	}
	if cfg.Images == nil {
		cfg.Images = []string{"catena", "ubuntu"}
	}
	if cfg.Flavors == nil {
		cfg.Flavors = []string{"small"}
	}
	c := &Cloud{
		cfg: cfg, neutron: map[string]map[string]object{}, servers: map[string]*server{}, keyPairs: map[string]map[string]object{}, tokens: map[string]Identity{},
		broken: map[string]string{}, calls: map[string]int{},
	}
	for _, kind := range []string{"networks", "subnets", "routers", "ports", "security-groups", "security-group-rules", "floatingips"} {
		c.neutron[kind] = map[string]object{}
	}
	for i, name := range cfg.External {
		c.addExternal(i, name)
	}
	for _, name := range cfg.Images {
		image := object{"id": newID(), "name": name, "status": "active", "visibility": "public", "size": 1 << 20, "min_disk": 0, "min_ram": 0}
		if name != "plain" {
			image["catena_guest"] = "1"
		}
		c.images = append(c.images, image)
	}
	for _, name := range cfg.Flavors {
		c.flavors = append(c.flavors, object{"id": newID(), "name": name, "vcpus": 1, "ram": 256, "disk": 0})
	}
	mux := http.NewServeMux()
	c.identity(mux)
	c.image(mux)
	c.network(mux)
	c.compute(mux)
	c.placement(mux)
	c.server = httptest.NewServer(c.count(mux))
	c.URL = c.server.URL
	return c
}

// Close ends the cloud.
func (c *Cloud) Close() { c.server.Close() }

// Fail makes the next n calls fail with the status. A call is a method and the
// beginning of a path, e.g. "POST /compute/v2.1/servers"; n < 0: all, until Heal.
func (c *Cloud) Fail(call string, status, n int) { c.FailWith(call, status, n, "") }

// Lose lets the next n calls have their effect, and answers 500 all the same.
func (c *Cloud) Lose(call string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = append(c.failures, &failure{call: call, status: http.StatusInternalServerError, left: n, late: true})
}

// Cut lets n more calls that change something through, and then fails every call, until
// Heal: what a controller sees that is cut off, or the cloud when it is killed.
func (c *Cloud) Cut(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = n + 1
}

// FailWith is Fail with a body of one's own.
func (c *Cloud) FailWith(call string, status, n int, body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = append(c.failures, &failure{call: call, status: status, left: n, body: body})
}

// Heal ends all failures.
func (c *Cloud) Heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures, c.broken, c.cut = nil, map[string]string{}, 0
}

// Break lets servers of a name go to ERROR, with the fault's message.
func (c *Cloud) Break(name, message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken[name] = message
}

// SetQuota changes a limit; see Config.Quota.
func (c *Cloud) SetQuota(resource string, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cfg.Quota = maps.Clone(c.cfg.Quota)
	if c.cfg.Quota == nil {
		c.cfg.Quota = map[string]int{}
	}
	c.cfg.Quota[resource] = limit
}

// Calls tells how often calls that begin like this were made, failed ones included.
func (c *Cloud) Calls(call string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for k, v := range c.calls {
		if strings.HasPrefix(k, call) {
			n += v
		}
	}
	return n
}

// Resources lists all that users have made, as "kind name id", sorted.
func (c *Cloud) Resources() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	var out []string
	for kind, all := range c.neutron {
		for id, o := range all {
			// Rules go with their group, and nobody made these.
			if kind == "security-group-rules" || kind == "security-groups" && o["name"] == "default" || o["project_id"] == administration {
				continue
			}
			out = append(out, fmt.Sprintf("%s %v %s", kind, o["name"], id))
		}
	}
	for id, s := range c.servers {
		if s.deleted.IsZero() {
			out = append(out, fmt.Sprintf("servers %v %s", s.view["name"], id))
		}
	}
	for _, keys := range c.keyPairs {
		for name := range keys {
			out = append(out, "keypairs "+name)
		}
	}
	slices.Sort(out)
	return out
}

// Destroy removes a resource as an administrator might, whatever uses it.
func (c *Cloud) Destroy(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, all := range c.neutron {
		delete(all, id)
	}
	for _, keys := range c.keyPairs {
		delete(keys, id)
	}
	c.disassociate(id)
	if s := c.servers[id]; s != nil {
		s.leaves = time.Now().Add(-time.Second)
		c.tick()
	}
}

// Made tells when a resource of that id was made; one made in its place has another
// time.
func (c *Cloud) Made(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, all := range c.neutron {
		if o := all[id]; o != nil {
			return "resource " + id
		}
	}
	for _, keys := range c.keyPairs {
		if k := keys[id]; k != nil {
			return fmt.Sprint("keypair ", k["id"])
		}
	}
	if s := c.servers[id]; s != nil {
		return fmt.Sprintf("server %s %d", id, s.order)
	}
	return ""
}

// count counts calls and lets those fail that are to fail.
func (c *Cloud) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call := r.Method + " " + r.URL.Path
		c.mu.Lock()
		c.calls[call]++
		status, body, late := 0, "", false
		for _, f := range c.failures {
			if f.left != 0 && strings.HasPrefix(call, f.call) {
				f.left--
				status, body, late = f.status, f.body, f.late
				break
			}
		}
		if c.cut == 1 {
			status, late = http.StatusServiceUnavailable, false
		} else if c.cut > 1 && r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/auth/tokens") {
			c.cut--
		}
		c.mu.Unlock()
		if status == 0 {
			next.ServeHTTP(w, r)
			return
		}
		if late {
			next.ServeHTTP(httptest.NewRecorder(), r)
		}
		if body == "" {
			body = `{"computeFault": {"code": ` + fmt.Sprint(status) + `, "message": "The server is made to fail."}}`
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

// problem is an error answer; shape is that of the service.
type problem struct {
	status  int
	kind    string // Neutron's type or Nova's key
	message string
}

func refuse(status int, kind, format string, args ...any) *problem {
	return &problem{status, kind, fmt.Sprintf(format, args...)}
}

// handler answers a call of an authenticated user with a status and a body; nil: none.
type handler func(who Identity, r *http.Request) (int, any, *problem)

// serve wraps a handler: token, lock, JSON.
func (c *Cloud) serve(neutron bool, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		who, ok := c.tokens[r.Header.Get("X-Auth-Token")]
		var status int
		var body any
		p := refuse(http.StatusUnauthorized, "unauthorized", "The request you have made requires authentication.")
		if ok {
			c.tick()
			status, body, p = h(who, r)
		}
		if p != nil {
			status = p.status
			if neutron {
				body = object{"NeutronError": object{"type": p.kind, "message": p.message, "detail": ""}}
			} else {
				body = object{p.kind: object{"code": p.status, "message": p.message}}
			}
		}
		text, err := json.Marshal(body)
		c.mu.Unlock()
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if body != nil {
			_, _ = w.Write(text)
		}
	}
}

// decode reads the body, an object with one key.
func decode(r *http.Request, key string) (object, *problem) {
	var body map[string]object
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body[key] == nil {
		return nil, refuse(http.StatusBadRequest, "badRequest", "the body has no %q", key)
	}
	return body[key], nil
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func text(v any) string { s, _ := v.(string); return s }

// sorted lists objects by name and id.
func sorted(all map[string]object) []object {
	out := slices.Collect(maps.Values(all))
	slices.SortFunc(out, func(a, b object) int {
		return strings.Compare(text(a["name"])+text(a["id"]), text(b["name"])+text(b["id"]))
	})
	return out
}
