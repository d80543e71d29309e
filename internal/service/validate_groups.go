package service

import (
	"fmt"
	"slices"
)

// groupsOK checks the security groups and who names them.
func (v *validator) groupsOK() {
	for i, g := range v.svc.SecurityGroups {
		what := fmt.Sprintf("security group %q", g.Name)
		for j, r := range g.Rules {
			v.securityRule(at(at("security_groups", i)+".rules", j), fmt.Sprintf("%s: rule %d", what, j+1), r)
		}
	}
	check := func(p, what string, groups []string, list []Attachment) {
		v.groupNames(p, what, groups)
		for j, a := range list {
			ap := at(p+".networks", j)
			v.groupNames(ap, what, a.SecurityGroups)
			if len(a.AllowedAddresses) > 0 && len(groups)+len(a.SecurityGroups) == 0 {
				v.add(ap, CodeValue, "%s: allowed addresses are for ports with security groups; others may send from every address", what)
			}
		}
	}
	for i, r := range v.svc.Servers {
		check(at("servers", i), fmt.Sprintf("server %q", r.Name), r.SecurityGroups, r.Networks)
	}
	for i, f := range v.svc.Functions {
		check(at("functions", i), fmt.Sprintf("function %q", f.Name), f.SecurityGroups, f.Networks)
	}
}

// groupNames checks references to security groups.
func (v *validator) groupNames(p, what string, names []string) {
	for j, name := range names {
		np := at(p+".security_groups", j)
		switch {
		case v.svc.SecurityGroup(name) == nil:
			var known []string
			for _, g := range v.svc.SecurityGroups {
				known = append(known, g.Name)
			}
			v.add(np, CodeReference, "%s: there is no security group %q%s", what, name, suggest(name, known))
		case slices.Contains(names[:j], name):
			v.add(np, CodeDuplicate, "%s has the security group %q twice", what, name)
		}
	}
}

func (v *validator) securityRule(p, what string, r SecurityRule) {
	if r.Direction == "" {
		v.add(p, CodeMissing, "%s has no direction; add \"direction: ingress\" or \"direction: egress\"", what)
	} else {
		v.oneOf(p+".direction", what+": direction", string(r.Direction), string(Ingress), string(Egress))
	}
	if r.Protocol != "" {
		if _, err := ProtocolNumber(r.Protocol); err != nil {
			v.add(p+".protocol", CodeValue, "%s: %v", what, err)
		}
	}
	if !r.Ports.IsZero() && r.Protocol != "tcp" && r.Protocol != "udp" {
		v.add(p+".ports", CodeValue, "%s: ports need the protocol tcp or udp", what)
	}
	if r.ICMP != nil && r.Protocol != "icmp" {
		v.add(p, CodeValue, "%s: a type of ICMP messages needs the protocol icmp", what)
	}
	if r.RemoteGroup == "" {
		return
	}
	if r.RemotePrefix.IsValid() {
		v.add(p, CodeValue, "%s has both a remote prefix and a remote group; write two rules", what)
	}
	if v.svc.SecurityGroup(r.RemoteGroup) == nil {
		v.add(p+".remote_group", CodeReference, "%s: there is no security group %q", what, r.RemoteGroup)
	}
}
