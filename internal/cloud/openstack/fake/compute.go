package fake

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// server is one server. view is what the API shows.
type server struct {
	view        object
	project     string
	userData    string
	tags        []string
	ports       []string
	made        []string // of the ports, those that Nova made and removes
	order       int
	updated     time.Time
	built       time.Time // when it is to leave BUILD; zero: it has
	leaves      time.Time // when it is to vanish; zero: it stays
	faulty      time.Time // when it went to ERROR; why is to be read a moment later
	deleted     time.Time // when it became DELETED; plain lists still show it for a moment
	reservation string
}

// vanished: no list but one of changes has it any more. Nova sets the state of a server
// first, gives its resources back, and removes it then.
func (s *server) vanished(c *Cloud) bool {
	return !s.deleted.IsZero() && time.Since(s.deleted) >= c.cfg.DeleteTime
}

// faultDelay is how long the reason for a server's ERROR is behind its status.
const faultDelay = 200 * time.Millisecond

// tick lets time pass for all servers.
func (c *Cloud) tick() {
	now := time.Now()
	for _, s := range c.servers {
		if !s.leaves.IsZero() && s.deleted.IsZero() && now.After(s.leaves) {
			for _, id := range s.made {
				delete(c.neutron["ports"], id)
				c.disassociate(id)
			}
			for _, id := range s.ports {
				if p := c.neutron["ports"][id]; p != nil {
					p["device_id"], p["device_owner"], p["status"], p["binding:host_id"] = "", "", "DOWN", ""
				}
			}
			s.deleted, s.updated = now, now
			s.view["status"], s.view["OS-EXT-STS:task_state"] = "DELETED", nil
		}
		if !s.faulty.IsZero() && now.Sub(s.faulty) > faultDelay {
			if why := c.broken[text(s.view["name"])]; why != "" {
				s.view["fault"] = object{"code": 500, "message": why, "created": stamp(now)}
			}
			s.faulty = time.Time{}
		}
		if !s.built.IsZero() && s.leaves.IsZero() && now.After(s.built) {
			s.built, s.updated = time.Time{}, now
			if c.broken[text(s.view["name"])] != "" {
				s.view["status"], s.faulty = "ERROR", now
				continue
			}
			s.view["status"] = "ACTIVE"
			delete(s.view, "fault")
			for _, id := range s.ports {
				if p := c.neutron["ports"][id]; p != nil {
					p["status"], p["binding:host_id"], p["binding:vif_type"] = "ACTIVE", s.view["OS-EXT-SRV-ATTR:host"], "bridge"
				}
			}
		}
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// compute answers for Nova.
func (c *Cloud) compute(mux *http.ServeMux) {
	handle := func(pattern string, h handler) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /compute/v2.1"+path, c.serve(false, h))
	}
	handle("GET /flavors/detail", func(Identity, *http.Request) (int, any, *problem) {
		return http.StatusOK, object{"flavors": c.flavors}, nil
	})
	handle("GET /os-server-groups", func(Identity, *http.Request) (int, any, *problem) {
		return http.StatusOK, object{"server_groups": []object{}}, nil
	})
	c.keyPairCalls(handle)
	handle("POST /servers", c.boot)
	handle("GET /servers/detail", c.listServers)
	handle("GET /servers", c.listServers)
	handle("GET /servers/{id}", c.onServer(func(s *server, _ *http.Request) (int, any, *problem) {
		return http.StatusOK, object{"server": s.view}, nil
	}))
	handle("DELETE /servers/{id}", c.onServer(func(s *server, _ *http.Request) (int, any, *problem) {
		s.leaves, s.updated = time.Now().Add(c.cfg.DeleteTime), time.Now()
		s.view["OS-EXT-STS:task_state"] = "deleting"
		return http.StatusNoContent, nil, nil
	}))
	handle("POST /servers/{id}/metadata", c.onServer(func(s *server, r *http.Request) (int, any, *problem) {
		change, p := decode(r, "metadata")
		if p != nil {
			return 0, nil, p
		}
		meta := object{}
		for k, v := range s.view["metadata"].(object) {
			meta[k] = v
		}
		for k, v := range change {
			if len(text(v)) > 255 {
				return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Invalid input for field/attribute %s. Value: %v. It is too long", k, v)
			}
			meta[k] = v
		}
		s.view["metadata"], s.updated = meta, time.Now()
		return http.StatusOK, object{"metadata": meta}, nil
	}))
	handle("POST /servers/{id}/action", c.onServer(c.act))
}

func (c *Cloud) onServer(do func(*server, *http.Request) (int, any, *problem)) handler {
	return func(who Identity, r *http.Request) (int, any, *problem) {
		s := c.servers[r.PathValue("id")]
		if s == nil || !s.deleted.IsZero() || !who.Admin && s.project != who.Project {
			return 0, nil, refuse(http.StatusNotFound, "itemNotFound", "Instance %s could not be found.", r.PathValue("id"))
		}
		return do(s, r)
	}
}

// boot checks a request as nova-api does, and begins to build.
func (c *Cloud) boot(who Identity, r *http.Request) (int, any, *problem) {
	var body struct {
		Server struct {
			Name     string
			Image    string `json:"imageRef"`
			Flavor   string `json:"flavorRef"`
			UserData string `json:"user_data"`
			Zone     string `json:"availability_zone"`
			Metadata object
			Tags     []string
			Networks json.RawMessage
			KeyName  string `json:"key_name"`
			Min      int    `json:"min_count"`
			Reserve  bool   `json:"return_reservation_id"`
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return 0, nil, refuse(http.StatusBadRequest, "badRequest", "%v", err)
	}
	b := body.Server
	if len(b.Tags) > 0 && !atLeast(r, 52) {
		return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Additional properties are not allowed ('tags' was unexpected)")
	}
	for _, t := range b.Tags {
		if len(t) > 60 || strings.ContainsAny(t, "/,") {
			return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Invalid input for field/attribute tags. Value: %s", t)
		}
	}
	for k, v := range b.Metadata {
		if len(text(v)) > 255 || len(k) > 255 {
			return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Invalid input for field/attribute %s.", k)
		}
	}
	image := slices.IndexFunc(c.images, func(i object) bool { return i["id"] == b.Image })
	flavor := slices.IndexFunc(c.flavors, func(f object) bool { return f["id"] == b.Flavor })
	if image < 0 {
		return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Can not find requested image")
	}
	if flavor < 0 {
		return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Flavor %s could not be found.", b.Flavor)
	}
	userData, err := base64.StdEncoding.DecodeString(b.UserData)
	if err != nil || len(b.UserData) > 65535 {
		return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Invalid input for field/attribute user_data.")
	}
	if b.KeyName != "" && c.keyPairs[who.User][b.KeyName] == nil {
		return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Invalid key_name provided.")
	}
	used := 0
	for _, s := range c.servers {
		if s.deleted.IsZero() && s.project == who.Project {
			used++
		}
	}
	count := max(1, b.Min)
	if limit, limited := c.cfg.Quota["instances"]; limited && used+count > limit {
		return 0, nil, refuse(http.StatusForbidden, "forbidden", "Quota exceeded for instances: Requested %d, but already used %d of %d instances", count, used, limit)
	}
	var ports []string // that exist
	var nets []string  // on which each server gets one
	if p := c.plugs(who, b.Networks, count, &ports, &nets); p != nil {
		return 0, nil, p
	}
	host := c.cfg.Hosts[0]
	if zone, pinned, ok := strings.Cut(b.Zone, ":"); ok {
		if !slices.Contains(c.cfg.Hosts, pinned) {
			return 0, nil, refuse(http.StatusBadRequest, "badRequest", "The requested availability zone is not available: %s", zone)
		}
		host = pinned
	}
	if b.Metadata == nil {
		b.Metadata = object{}
	}
	reservation, first := "r-"+newID()[:8], ""
	for i := range count {
		id, name := newID(), b.Name
		if count > 1 {
			name = fmt.Sprintf("%s-%d", b.Name, i+1)
		}
		s := &server{project: who.Project, userData: string(userData), tags: b.Tags, updated: time.Now(), order: c.order, reservation: reservation}
		c.order++
		s.built = time.Now().Add(c.cfg.BuildTime)
		s.ports = slices.Clone(ports)
		for _, n := range nets {
			port := object{"id": newID(), "project_id": who.Project, "tenant_id": who.Project, "network_id": n}
			if p := c.complete(who, "ports", port, false); p != nil {
				return 0, nil, refuse(http.StatusBadRequest, "badRequest", "%s", p.message)
			}
			c.neutron["ports"][text(port["id"])] = port
			s.ports, s.made = append(s.ports, text(port["id"])), append(s.made, text(port["id"]))
		}
		for _, p := range s.ports {
			c.neutron["ports"][p]["device_id"], c.neutron["ports"][p]["device_owner"] = id, "compute:nova"
		}
		s.view = object{
			"id": id, "name": name, "status": "BUILD", "metadata": b.Metadata, "tags": b.Tags, "tenant_id": who.Project,
			"image": object{"id": b.Image}, "flavor": object{"original_name": c.flavors[flavor]["name"]},
			"created": stamp(time.Now()), "key_name": b.KeyName, "OS-EXT-STS:task_state": nil, "OS-EXT-SRV-ATTR:host": host, "addresses": c.addresses(s.ports),
		}
		c.servers[id] = s
		if first == "" {
			first = id
		}
	}
	if b.Reserve {
		return http.StatusAccepted, object{"reservation_id": reservation}, nil
	}
	return http.StatusAccepted, object{"server": object{"id": first}}, nil
}

// plugs reads what servers are to be connected to.
func (c *Cloud) plugs(who Identity, raw json.RawMessage, count int, ports, nets *[]string) *problem {
	var list []struct{ Port, UUID string }
	if word := strings.Trim(string(raw), `"`); word == "none" || word == "auto" || word == "" {
		return nil
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return refuse(http.StatusBadRequest, "badRequest", "%v", err)
	}
	for _, n := range list {
		if n.Port == "" {
			if c.neutron["networks"][n.UUID] == nil {
				return refuse(http.StatusBadRequest, "badRequest", "Network %s could not be found.", n.UUID)
			}
			*nets = append(*nets, n.UUID)
			continue
		}
		port, p := c.find(who, "ports", n.Port)
		switch {
		case p != nil:
			return refuse(http.StatusBadRequest, "badRequest", "Port %s could not be found.", n.Port)
		case port["device_id"] != "":
			return refuse(http.StatusBadRequest, "badRequest", "Port %s is still in use.", n.Port)
		case count > 1:
			return refuse(http.StatusBadRequest, "badRequest", "Unable to launch multiple instances with a single configured port ID.")
		}
		*ports = append(*ports, n.Port)
	}
	return nil
}

// addresses shows those of ports, by network.
func (c *Cloud) addresses(ports []string) object {
	out := object{}
	for _, id := range ports {
		p := c.neutron["ports"][id]
		name := text(c.neutron["networks"][text(p["network_id"])]["name"])
		ips, _ := p["fixed_ips"].([]any)
		for _, f := range ips {
			have, _ := out[name].([]object)
			out[name] = append(have, object{"addr": f.(object)["ip_address"], "version": 4, "OS-EXT-IPS-MAC:mac_addr": p["mac_address"], "OS-EXT-IPS:type": "fixed"})
		}
	}
	return out
}

// atLeast tells whether a call's microversion is 2.minor or later.
func atLeast(r *http.Request, minor int) bool {
	var have int
	_, err := fmt.Sscanf(r.Header.Get("OpenStack-API-Version"), "compute 2.%d", &have)
	return err == nil && have >= minor
}

func (c *Cloud) listServers(who Identity, r *http.Request) (int, any, *problem) {
	q := r.URL.Query()
	var since time.Time
	if text := q.Get("changes-since"); text != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Invalid input for changes-since")
		}
	}
	var all []*server
	for _, s := range c.servers {
		switch {
		case s.project != who.Project && !(who.Admin && q.Has("all_tenants")):
		case since.IsZero() && s.vanished(c):
		case s.updated.Before(since):
		case q.Get("reservation_id") != "" && s.reservation != q.Get("reservation_id"):
		case q.Get("status") != "" && text(s.view["status"]) != q.Get("status"):
		case q.Get("name") != "" && !matchesName(q.Get("name"), text(s.view["name"])):
		case q.Get("tags") != "" && (s.vanished(c) || !containsAll(s.tags, strings.Split(q.Get("tags"), ","))):
		default:
			s.view["updated"] = stamp(s.updated)
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *server) int { return b.order - a.order })
	if marker := q.Get("marker"); marker != "" {
		i := slices.IndexFunc(all, func(s *server) bool { return s.view["id"] == marker })
		if i < 0 {
			return 0, nil, refuse(http.StatusBadRequest, "badRequest", "marker [%s] not found", marker)
		}
		all = all[i+1:]
	}
	out := object{}
	if len(all) > c.cfg.PageSize {
		all = all[:c.cfg.PageSize]
		q.Set("marker", text(all[len(all)-1].view["id"]))
		out["servers_links"] = []object{{"rel": "next", "href": c.URL + r.URL.Path + "?" + q.Encode()}}
	}
	views := []object{}
	for _, s := range all {
		views = append(views, s.view)
	}
	out["servers"] = views
	return http.StatusOK, out, nil
}

// matchesName compares as Nova's database does: with a regular expression.
func matchesName(expression, name string) bool {
	rx, err := regexp.Compile(expression)
	return err == nil && rx.MatchString(name)
}

func containsAll(have, want []string) bool {
	for _, w := range want {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return true
}

// act carries out an action of a server.
func (c *Cloud) act(s *server, r *http.Request) (int, any, *problem) {
	var body map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return 0, nil, refuse(http.StatusBadRequest, "badRequest", "%v", err)
	}
	s.updated = time.Now()
	for action, args := range body {
		switch action {
		case "os-getConsoleOutput":
			out := ""
			if c.cfg.Console != nil && s.view["status"] == "ACTIVE" {
				out = c.cfg.Console(text(s.view["name"]), s.userData)
			}
			return http.StatusOK, object{"output": out}, nil
		case "os-stop":
			s.view["status"] = "SHUTOFF"
			return http.StatusAccepted, nil, nil
		case "os-start":
			s.view["status"] = "ACTIVE"
			return http.StatusAccepted, nil, nil
		case "rebuild":
			var a struct {
				Image    string  `json:"imageRef"`
				UserData *string `json:"user_data"`
				Metadata object
			}
			if err := json.Unmarshal(args, &a); err != nil || a.Image == "" {
				return 0, nil, refuse(http.StatusBadRequest, "badRequest", "imageRef is missing")
			}
			if a.UserData != nil {
				if !atLeast(r, 57) {
					return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Additional properties are not allowed ('user_data' was unexpected)")
				}
				text, err := base64.StdEncoding.DecodeString(*a.UserData)
				if err != nil {
					return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Invalid input for field/attribute user_data.")
				}
				s.userData = string(text)
			}
			if s.view["status"] != "ACTIVE" && s.view["status"] != "ERROR" && s.view["status"] != "SHUTOFF" {
				return 0, nil, refuse(http.StatusConflict, "conflictingRequest", "Cannot 'rebuild' instance %v while it is in vm_state building", s.view["id"])
			}
			if a.Metadata != nil {
				s.view["metadata"] = a.Metadata
			}
			delete(s.view, "fault")
			s.view["status"], s.view["image"] = "REBUILD", object{"id": a.Image}
			s.built = time.Now().Add(c.cfg.BuildTime)
			return http.StatusAccepted, object{"server": s.view}, nil
		}
	}
	return 0, nil, refuse(http.StatusBadRequest, "badRequest", "There is no such action")
}
