package service

import "fmt"

// RouterExternal as an attachment's FloatingIP stands for the external network of
// its network's router; Default puts that one's name in its place.
const RouterExternal = "true"

// FloatingIPSpec is an address of an external network that leads to a port of the
// service. It has the name of the port.
type FloatingIPSpec struct {
	Name     string
	External string // name or id of the external network
	Router   string // name of the router that translates; it exists
	Port     Port   // it exists
}

// setExternal gives attachments their router's external network.
func (s *Service) setExternal(list []Attachment) {
	for i := range list {
		if r := s.Router(list[i].Network); list[i].FloatingIP == RouterExternal && r != nil && r.External != "" {
			list[i].FloatingIP = r.External
		}
	}
}

// externalOK checks external networks and who has floating IPs of them.
func (v *validator) externalOK() {
	for i, r := range v.svc.Routers {
		if r.External != "" && !isForeignName(r.External) {
			v.add(at("routers", i)+".external", CodeValue, "router %q: %q cannot be the name of an external network", r.Name, r.External)
		}
	}
	check := func(p, what string, list []Attachment) {
		for j, a := range list {
			if a.FloatingIP == "" || v.networks[a.Network] == nil {
				continue
			}
			ap := at(p+".networks", j) + ".floating_ip"
			switch r := v.svc.Router(a.Network); {
			case r == nil:
				v.add(ap, CodeReference, "%s: a floating IP needs a router with an external network, but network %q has no router", what, a.Network)
			case r.External == "":
				v.add(ap, CodeReference, "%s: a floating IP needs an external network; add \"external: NETWORK\" to router %q", what, r.Name)
			case r.External != a.FloatingIP:
				v.add(ap, CodeValue, "%s: its floating IP cannot be of network %q, since router %q leads to %q", what, a.FloatingIP, r.Name, r.External)
			}
		}
	}
	for i, r := range v.svc.Servers {
		check(at("servers", i), fmt.Sprintf("server %q", r.Name), r.Networks)
	}
	for i, f := range v.svc.Functions {
		check(at("functions", i), fmt.Sprintf("function %q", f.Name), f.Networks)
	}
}

// HasFloatingIPs tells whether any port of the service has one.
func (s *Service) HasFloatingIPs() bool {
	for _, in := range s.allInstances() {
		for _, a := range in.networks {
			if a.FloatingIP != "" {
				return true
			}
		}
	}
	return false
}
