package fake

import (
	"fmt"
	"net/http"
	"net/netip"
)

// administration is the project of what an administrator has made for all.
const administration = "administration"

// addExternal makes an external network, 203.0.113.0/28 or a later one.
func (c *Cloud) addExternal(i int, name string) {
	n := object{
		"id": newID(), "name": name, "description": "", "project_id": administration, "router:external": true, "mtu": 1500,
		"status": "ACTIVE", "admin_state_up": true, "tags": []string{},
	}
	s := object{
		"id": newID(), "name": name, "description": "", "project_id": administration, "network_id": n["id"],
		"cidr": fmt.Sprintf("203.0.113.%d/28", 16*i), "gateway_ip": fmt.Sprintf("203.0.113.%d", 16*i+1), "tags": []string{},
	}
	n["subnets"] = []string{text(s["id"])}
	c.neutron["networks"][text(n["id"])], c.neutron["subnets"][text(s["id"])] = n, s
}

func gatewayOf(router object) string {
	info, _ := router["external_gateway_info"].(object)
	return text(info["network_id"])
}

// checkGateway checks a router's external gateway; was is the router before, nil: new.
func (c *Cloud) checkGateway(who Identity, router, was object) *problem {
	id := gatewayOf(router)
	if id == "" {
		router["external_gateway_info"] = nil
	} else if n, p := c.find(who, "networks", id); p != nil {
		return p
	} else if n["router:external"] != true {
		return refuse(http.StatusBadRequest, "BadRequest", "Bad router request: Network %s is not an external network.", id)
	}
	if was == nil || gatewayOf(was) == id {
		return nil
	}
	for _, f := range c.neutron["floatingips"] {
		if f["router_id"] == router["id"] {
			return refuse(http.StatusConflict, "RouterExternalGatewayInUseByFloatingIp",
				"Gateway cannot be updated for router %v, since a gateway to external network %v is required by one or more floating IPs.", router["id"], gatewayOf(was))
		}
	}
	return nil
}

// heldByFloating refuses to take a router from a network to which floating IPs lead
// through it.
func (c *Cloud) heldByFloating(router, gateway object) *problem {
	for _, f := range c.neutron["floatingips"] {
		port := c.neutron["ports"][text(f["port_id"])]
		if f["router_id"] == router["id"] && port != nil && port["network_id"] == gateway["network_id"] {
			return refuse(http.StatusConflict, "RouterInterfaceInUseByFloatingIP",
				"Router interface for subnet on router %v cannot be deleted, as it is required by one or more floating IPs.", router["id"])
		}
	}
	return nil
}

func (c *Cloud) completeFloating(who Identity, o object) *problem {
	n, p := c.find(who, "networks", text(o["floating_network_id"]))
	if p != nil {
		return p
	}
	if n["router:external"] != true {
		return refuse(http.StatusBadRequest, "BadRequest", "Bad floatingip request: Network %v is not a valid external network.", n["id"])
	}
	s := c.neutron["subnets"][n["subnets"].([]string)[0]]
	cidr := netip.MustParsePrefix(text(s["cidr"]))
	taken := map[string]bool{text(s["gateway_ip"]): true}
	for _, f := range c.neutron["floatingips"] {
		taken[text(f["floating_ip_address"])] = true
	}
	ip := cidr.Addr().Next()
	for taken[ip.String()] {
		ip = ip.Next()
	}
	if !cidr.Contains(ip.Next()) {
		return refuse(http.StatusConflict, "IpAddressGenerationFailure", "No more IP addresses available on network %v.", n["id"])
	}
	o["floating_ip_address"] = ip.String()
	return c.associate(who, o)
}

// associate leads a floating IP to the port that it names, if any.
func (c *Cloud) associate(who Identity, f object) *problem {
	f["router_id"], f["fixed_ip_address"], f["status"] = nil, nil, "DOWN"
	if f["port_id"] == nil {
		return nil
	}
	port, p := c.find(who, "ports", text(f["port_id"]))
	if p != nil {
		return p
	}
	for _, other := range c.neutron["floatingips"] {
		if other["id"] != f["id"] && other["port_id"] == f["port_id"] {
			return refuse(http.StatusConflict, "FloatingIPPortAlreadyAssociated", "Cannot associate floating IP %v with port %v, as the port already has a floating IP.", f["floating_ip_address"], port["id"])
		}
	}
	for id, r := range c.neutron["routers"] {
		if gatewayOf(r) != f["floating_network_id"] {
			continue
		}
		for _, gateway := range c.neutron["ports"] {
			if gateway["device_id"] == id && gateway["network_id"] == port["network_id"] {
				f["router_id"], f["status"] = id, "ACTIVE"
				ips, _ := port["fixed_ips"].([]any)
				f["fixed_ip_address"] = ips[0].(object)["ip_address"]
				return nil
			}
		}
	}
	return refuse(http.StatusNotFound, "ExternalGatewayForFloatingIPNotFound",
		"External network %v is not reachable from subnet. Therefore, cannot associate Port %v with a Floating IP.", f["floating_network_id"], port["id"])
}

// disassociate has floating IPs let go of a port that is gone.
func (c *Cloud) disassociate(port string) {
	for _, f := range c.neutron["floatingips"] {
		if f["port_id"] == port {
			f["port_id"], f["router_id"], f["fixed_ip_address"], f["status"] = nil, nil, nil, "DOWN"
		}
	}
}
