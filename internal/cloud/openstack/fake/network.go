package fake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// singular names a Neutron resource as its bodies do.
var singular = map[string]string{
	"networks": "network", "subnets": "subnet", "routers": "router", "ports": "port",
	"security-groups": "security_group", "security-group-rules": "security_group_rule", "floatingips": "floatingip",
}

func plural(kind string) string { return strings.ReplaceAll(kind, "-", "_") }

// network answers for Neutron.
func (c *Cloud) network(mux *http.ServeMux) {
	handle := func(pattern string, h handler) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" /network/v2.0"+path, c.serve(true, h))
	}
	handle("GET /extensions", func(Identity, *http.Request) (int, any, *problem) {
		var all []object
		for _, alias := range []string{
			"standard-attr-description", "standard-attr-tag", "tag-ports-during-bulk-creation", "net-mtu-writable", "extra_dhcp_opt",
			"port-security", "router", "security-group", "binding", "allowed-address-pairs", "external-net", "quota_details",
		} {
			all = append(all, object{"alias": alias, "name": alias})
		}
		return http.StatusOK, object{"extensions": all}, nil
	})
	handle("GET /{kind}", c.list)
	handle("POST /{kind}", c.create)
	handle("GET /{kind}/{id}", func(who Identity, r *http.Request) (int, any, *problem) {
		o, p := c.find(who, r.PathValue("kind"), r.PathValue("id"))
		if p != nil {
			return 0, nil, p
		}
		return http.StatusOK, object{singular[r.PathValue("kind")]: c.view(r.PathValue("kind"), o)}, nil
	})
	handle("GET /quotas/{id}/details", c.quotaDetails)
	handle("PUT /{kind}/{id}", c.update)
	handle("DELETE /{kind}/{id}", c.remove)
	handle("PUT /{kind}/{id}/tags", func(who Identity, r *http.Request) (int, any, *problem) {
		o, p := c.find(who, r.PathValue("kind"), r.PathValue("id"))
		if p != nil {
			return 0, nil, p
		}
		var body struct {
			Tags []string `json:"tags"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return 0, nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "%v", err)
		}
		o["tags"] = body.Tags
		return http.StatusOK, object{"tags": body.Tags}, nil
	})
	handle("PUT /routers/{id}/add_router_interface", c.plug)
	handle("PUT /routers/{id}/remove_router_interface", c.unplug)
}

func (c *Cloud) find(who Identity, kind, id string) (object, *problem) {
	o := c.neutron[kind][id]
	if o == nil || !who.Admin && o["project_id"] != who.Project && o["router:external"] != true {
		name := typeNames[kind]
		return nil, refuse(http.StatusNotFound, name+"NotFound", "%s %s could not be found.", name, id)
	}
	return o, nil
}

func (c *Cloud) list(who Identity, r *http.Request) (int, any, *problem) {
	kind := r.PathValue("kind")
	if c.neutron[kind] == nil {
		return 0, nil, refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
	}
	c.defaultGroup(who.Project)
	out := []object{}
	for _, o := range sorted(c.neutron[kind]) {
		if (who.Admin || o["project_id"] == who.Project || o["router:external"] == true) && matches(o, r.URL.Query()) {
			out = append(out, c.view(kind, o))
		}
	}
	return http.StatusOK, object{plural(kind): out}, nil
}

// matches compares the attributes that a query names; several values are alternatives.
func matches(o object, query map[string][]string) bool {
	for key, values := range query {
		switch key {
		case "fields", "limit", "marker":
			continue
		case "security_groups": // ports that have one of them
			if !slices.ContainsFunc(values, func(id string) bool { return strings.Contains(fmt.Sprint(o[key]), id) }) {
				return false
			}
			continue
		case "tags":
			have, _ := o["tags"].([]string)
			for _, want := range strings.Split(values[0], ",") {
				if !slices.Contains(have, want) {
					return false
				}
			}
			continue
		}
		have := fmt.Sprint(o[key])
		if key == "router:external" {
			have, values = fmt.Sprint(o[key] == true), []string{strings.ToLower(values[0])}
		}
		if !slices.Contains(values, have) {
			return false
		}
	}
	return true
}

// create makes one resource, or several at once: all or none.
func (c *Cloud) create(who Identity, r *http.Request) (int, any, *problem) {
	kind := r.PathValue("kind")
	if c.neutron[kind] == nil {
		return 0, nil, refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found.")
	}
	var body map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return 0, nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "%v", err)
	}
	var asked []object
	key := singular[kind]
	bulk := body[plural(kind)] != nil
	if bulk {
		key = plural(kind)
		if err := json.Unmarshal(body[key], &asked); err != nil {
			return 0, nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "%v", err)
		}
	} else {
		var one object
		if err := json.Unmarshal(body[key], &one); err != nil {
			return 0, nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "Resource body required")
		}
		asked = []object{one}
	}
	c.defaultGroup(who.Project)
	if limit, limited := c.cfg.Quota[singular[kind]]; limited && c.countOf(who.Project, kind)+len(asked) > limit {
		return 0, nil, refuse(http.StatusConflict, "OverQuota", "Quota exceeded for resources: ['%s'].", singular[kind])
	}
	var made []object
	for _, o := range asked {
		o["id"], o["project_id"], o["tenant_id"] = newID(), who.Project, who.Project
		p := c.complete(who, kind, o, bulk)
		if p != nil {
			for _, m := range made {
				delete(c.neutron[kind], text(m["id"]))
			}
			return 0, nil, p
		}
		c.neutron[kind][text(o["id"])] = o
		made = append(made, c.view(kind, o))
	}
	if bulk {
		return http.StatusCreated, object{key: made}, nil
	}
	return http.StatusCreated, object{key: made[0]}, nil
}

// complete checks what is asked for and fills in the rest.
func (c *Cloud) complete(who Identity, kind string, o object, bulk bool) *problem {
	fill := func(key string, value any) {
		if o[key] == nil {
			o[key] = value
		}
	}
	fill("name", "")
	fill("description", "")
	if tags, asked := o["tags"]; asked {
		if kind != "ports" || !bulk {
			return refuse(http.StatusBadRequest, "HTTPBadRequest", "Unrecognized attribute(s) 'tags'")
		}
		var list []string
		for _, t := range tags.([]any) {
			list = append(list, text(t))
		}
		o["tags"] = list
	}
	fill("tags", []string{})
	switch kind {
	case "security-groups":
		return c.completeGroup(who, o)
	case "security-group-rules":
		return c.completeRule(who, o, fill)
	case "floatingips":
		return c.completeFloating(who, o)
	case "networks":
		fill("mtu", 1500)
		if p := c.checkMTU(o); p != nil {
			return p
		}
		o["status"], o["subnets"], o["admin_state_up"] = "ACTIVE", []string{}, true
	case "routers":
		o["status"], o["admin_state_up"] = "ACTIVE", true
		fill("external_gateway_info", nil)
		return c.checkGateway(who, o, nil)
	case "subnets":
		n, p := c.find(who, "networks", text(o["network_id"]))
		if p != nil {
			return p
		}
		cidr, err := netip.ParsePrefix(text(o["cidr"]))
		if err != nil {
			return refuse(http.StatusBadRequest, "HTTPBadRequest", "Invalid input for cidr. Reason: '%v' is not a valid IP subnet.", o["cidr"])
		}
		for _, other := range c.neutron["subnets"] {
			if q := netip.MustParsePrefix(text(other["cidr"])); other["network_id"] == n["id"] && q.Overlaps(cidr) {
				return refuse(http.StatusBadRequest, "InvalidInput", "Requested subnet with cidr: %s for network: %v overlaps with another subnet.", cidr, n["id"])
			}
		}
		fill("enable_dhcp", true)
		fill("dns_nameservers", []any{})
		fill("gateway_ip", cidr.Addr().Next().String())
		n["subnets"] = append(n["subnets"].([]string), text(o["id"]))
	case "ports":
		if bulk { // as Neutron does
			delete(o, "allowed_address_pairs")
		}
		return c.completePort(who, o, fill)
	}
	return nil
}

func (c *Cloud) checkMTU(o object) *problem {
	if mtu, ok := o["mtu"].(float64); ok && c.cfg.MaxMTU > 0 && int(mtu) > c.cfg.MaxMTU {
		return refuse(http.StatusBadRequest, "InvalidInput", "Invalid input for operation: Requested MTU is too big, maximum is %d.", c.cfg.MaxMTU)
	}
	return nil
}

func (c *Cloud) completePort(who Identity, o object, fill func(string, any)) *problem {
	n, p := c.find(who, "networks", text(o["network_id"]))
	if p != nil {
		return p
	}
	random := newID()
	fill("mac_address", "fa:16:3e:"+random[:2]+":"+random[2:4]+":"+random[4:6])
	fill("device_id", "")
	fill("device_owner", "")
	fill("port_security_enabled", true)
	if o["port_security_enabled"] == true {
		fill("security_groups", []any{c.defaultGroup(who.Project)})
	}
	fill("security_groups", []any{})
	fill("allowed_address_pairs", []any{})
	fill("fixed_ips", nil)
	o["status"], o["admin_state_up"] = "DOWN", true
	o["binding:host_id"], o["binding:vif_type"] = "", "unbound"
	if len(n["subnets"].([]string)) == 0 && o["fixed_ips"] != nil {
		return refuse(http.StatusBadRequest, "InvalidInput", "Invalid input for operation: no subnet on network %v.", n["id"])
	}
	c.allocate(n, o)
	if p := c.checkSecurity(who, o, nil); p != nil {
		return p
	}
	return c.checkPort(o)
}

// allocate gives a port without addresses one of the network's first subnet.
func (c *Cloud) allocate(network, port object) {
	subnets := network["subnets"].([]string)
	if port["fixed_ips"] != nil || len(subnets) == 0 {
		return
	}
	s := c.neutron["subnets"][subnets[0]]
	taken := map[string]bool{text(s["gateway_ip"]): true}
	for _, other := range c.neutron["ports"] {
		ips, _ := other["fixed_ips"].([]any)
		for _, f := range ips {
			if other["network_id"] == network["id"] {
				taken[text(f.(object)["ip_address"])] = true
			}
		}
	}
	ip := netip.MustParsePrefix(text(s["cidr"])).Addr().Next()
	for taken[ip.String()] {
		ip = ip.Next()
	}
	port["fixed_ips"] = []any{object{"ip_address": ip.String()}}
}

// checkPort checks the addresses of a port against its network and its neighbours.
func (c *Cloud) checkPort(o object) *problem {
	for _, other := range c.neutron["ports"] {
		if other["id"] != o["id"] && other["network_id"] == o["network_id"] && other["mac_address"] == o["mac_address"] {
			return refuse(http.StatusConflict, "MacAddressInUse", "Unable to complete operation for network %v. The mac address %v is in use.", o["network_id"], o["mac_address"])
		}
	}
	ips, _ := o["fixed_ips"].([]any)
	for _, f := range ips {
		fixed := f.(object)
		ip, err := netip.ParseAddr(text(fixed["ip_address"]))
		if err != nil {
			return refuse(http.StatusBadRequest, "HTTPBadRequest", "Invalid input for fixed_ips: %v", fixed)
		}
		inside := false
		for id, s := range c.neutron["subnets"] {
			if s["network_id"] == o["network_id"] && netip.MustParsePrefix(text(s["cidr"])).Contains(ip) {
				inside = true
				fixed["subnet_id"] = id
			}
		}
		if !inside {
			return refuse(http.StatusBadRequest, "InvalidIpForNetwork", "IP address %s is not a valid IP for any of the subnets on the specified network.", ip)
		}
		for _, other := range c.neutron["ports"] {
			theirs, _ := other["fixed_ips"].([]any)
			for _, t := range theirs {
				if other["id"] != o["id"] && other["network_id"] == o["network_id"] && t.(object)["ip_address"] == ip.String() {
					return refuse(http.StatusConflict, "IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %v", ip, fixed["subnet_id"])
				}
			}
		}
	}
	return nil
}

func (c *Cloud) update(who Identity, r *http.Request) (int, any, *problem) {
	kind := r.PathValue("kind")
	o, p := c.find(who, kind, r.PathValue("id"))
	if p != nil {
		return 0, nil, p
	}
	change, p := decode(r, singular[kind])
	if p != nil {
		return 0, nil, p
	}
	next := object{}
	for k, v := range o {
		next[k] = v
	}
	for k, v := range change {
		if k == "tags" {
			return 0, nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "Unrecognized attribute(s) 'tags'")
		}
		next[k] = v
	}
	if kind == "networks" {
		if p := c.checkMTU(next); p != nil {
			return 0, nil, p
		}
	}
	switch kind {
	case "ports":
		p = c.checkSecurity(who, next, change)
		if p == nil {
			p = c.checkPort(next)
		}
	case "routers":
		p = c.checkGateway(who, next, o)
	case "floatingips":
		p = c.associate(who, next)
	case "security-group-rules":
		p = refuse(http.StatusBadRequest, "HTTPBadRequest", "Cannot update read-only attributes")
	}
	if p != nil {
		return 0, nil, p
	}
	c.neutron[kind][text(o["id"])] = next
	return http.StatusOK, object{singular[kind]: c.view(kind, next)}, nil
}

func (c *Cloud) remove(who Identity, r *http.Request) (int, any, *problem) {
	kind, id := r.PathValue("kind"), r.PathValue("id")
	o, p := c.find(who, kind, id)
	if p != nil {
		return 0, nil, p
	}
	switch kind {
	case "networks":
		for _, port := range c.neutron["ports"] {
			if port["network_id"] == id {
				return 0, nil, refuse(http.StatusConflict, "NetworkInUse", "Unable to complete operation on network %s. There are one or more ports still in use on the network.", id)
			}
		}
		for sid, s := range c.neutron["subnets"] {
			if s["network_id"] == id {
				delete(c.neutron["subnets"], sid)
			}
		}
	case "routers":
		for _, port := range c.neutron["ports"] {
			if port["device_id"] == id {
				return 0, nil, refuse(http.StatusConflict, "RouterInUse", "Router %s still has ports", id)
			}
		}
	case "security-groups":
		if p := c.removeGroup(o); p != nil {
			return 0, nil, p
		}
	case "ports":
		if o["device_owner"] == "network:router_interface" {
			return 0, nil, refuse(http.StatusConflict, "ServicePortInUse", "Port %s cannot be deleted directly via the port API: has device owner network:router_interface.", id)
		}
		c.disassociate(id)
	}
	delete(c.neutron[kind], id)
	return http.StatusNoContent, nil, nil
}

// plug makes a port the router's.
func (c *Cloud) plug(who Identity, r *http.Request) (int, any, *problem) {
	router, port, p := c.interfaceOf(who, r, true)
	if p != nil {
		return 0, nil, p
	}
	if port["device_id"] == router["id"] {
		return 0, nil, refuse(http.StatusBadRequest, "BadRequest", "Bad router request: Router already has a port on subnet.")
	}
	if port["device_id"] != "" {
		return 0, nil, refuse(http.StatusConflict, "PortInUse", "Unable to complete operation on port %v for network %v. Port already has an attached device %v.", port["id"], port["network_id"], port["device_id"])
	}
	port["device_id"], port["device_owner"], port["status"] = router["id"], "network:router_interface", "ACTIVE"
	return http.StatusOK, object{"id": router["id"], "port_id": port["id"]}, nil
}

// unplug takes a port from the router, and deletes it.
func (c *Cloud) unplug(who Identity, r *http.Request) (int, any, *problem) {
	router, port, p := c.interfaceOf(who, r, false)
	if p != nil {
		return 0, nil, p
	}
	if port["device_id"] != router["id"] {
		return 0, nil, refuse(http.StatusNotFound, "RouterInterfaceNotFound", "Router %v does not have an interface with id %v", router["id"], port["id"])
	}
	if p := c.heldByFloating(router, port); p != nil {
		return 0, nil, p
	}
	delete(c.neutron["ports"], text(port["id"]))
	return http.StatusOK, object{"id": router["id"], "port_id": port["id"]}, nil
}

// interfaceOf finds the router and the port of a request, by the port or by its subnet;
// in that case a port is made if need be.
func (c *Cloud) interfaceOf(who Identity, r *http.Request, create bool) (router, port object, p *problem) {
	if router, p = c.find(who, "routers", r.PathValue("id")); p != nil {
		return nil, nil, p
	}
	var body struct {
		Port   string `json:"port_id"`
		Subnet string `json:"subnet_id"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Port == "" && body.Subnet == "" {
		return nil, nil, refuse(http.StatusBadRequest, "BadRequest", "Either subnet_id or port_id must be specified")
	}
	if body.Port == "" {
		port, p = c.interfaceOn(who, router, body.Subnet, create)
		return router, port, p
	}
	port, p = c.find(who, "ports", body.Port)
	return router, port, p
}

// interfaceOn finds the router's port on a subnet; a new one has the gateway's address.
func (c *Cloud) interfaceOn(who Identity, router object, subnet string, create bool) (object, *problem) {
	s, p := c.find(who, "subnets", subnet)
	if p != nil {
		return nil, p
	}
	for _, port := range c.neutron["ports"] {
		ips, _ := port["fixed_ips"].([]any)
		if port["device_id"] == router["id"] && len(ips) > 0 && ips[0].(object)["subnet_id"] == subnet {
			return port, nil
		}
	}
	if !create {
		return nil, refuse(http.StatusNotFound, "RouterInterfaceNotFoundForSubnet", "Router %v has no interface on subnet %s", router["id"], subnet)
	}
	port := object{
		"id": newID(), "project_id": who.Project, "tenant_id": who.Project, "network_id": s["network_id"],
		"fixed_ips": []any{object{"ip_address": s["gateway_ip"]}},
	}
	if p := c.complete(who, "ports", port, false); p != nil {
		return nil, p
	}
	c.neutron["ports"][text(port["id"])] = port
	return port, nil
}
