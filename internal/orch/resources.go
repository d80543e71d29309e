package orch

import (
	"fmt"
	"slices"

	"github.com/catena-nfv/catena/internal/service"
)

// What users of a cloud have beside networks and instances: security groups,
// keypairs, floating IPs.

// optional lists the kinds of what most services have nothing of, but this one has
// (nil: none) or there are records of; see Cloud.Observe.
func optional(records map[Key]Record, s *service.Service) []service.Kind {
	has := map[service.Kind]bool{}
	for k := range records {
		has[k.Kind] = true
	}
	if s != nil {
		has[service.KindSecurityGroup] = has[service.KindSecurityGroup] || len(s.SecurityGroups) > 0
		has[service.KindKeyPair] = has[service.KindKeyPair] || len(s.KeyPairs) > 0
		has[service.KindFloatingIP] = has[service.KindFloatingIP] || s.HasFloatingIPs()
	}
	var out []service.Kind
	for _, k := range []service.Kind{service.KindSecurityGroup, service.KindKeyPair, service.KindFloatingIP} {
		if has[k] {
			out = append(out, k)
		}
	}
	return out
}

// securityGroups expands the groups. Groups come before the rules of any of them,
// since rules may name groups in a circle.
func (d desired) securityGroups() []*wanted {
	var out []*wanted
	for i := range d.Service.SecurityGroups {
		g := d.Service.SecurityGroups[i]
		rules := &wanted{Key: Key{service.KindSecurityRules, g.Name}, SecurityRules: &g, After: []Key{{service.KindSecurityGroup, g.Name}}, shape: "rules"}
		for _, r := range g.Rules {
			if remote := (Key{service.KindSecurityGroup, r.RemoteGroup}); r.RemoteGroup != "" && !slices.Contains(rules.After, remote) {
				rules.After = append(rules.After, remote)
			}
		}
		out = append(out, &wanted{Key: Key{service.KindSecurityGroup, g.Name}, SecurityGroup: &g, shape: "group"}, rules)
	}
	return out
}

func (d desired) keyPairs() []*wanted {
	var out []*wanted
	for i := range d.Service.KeyPairs {
		k := d.Service.KeyPairs[i]
		out = append(out, &wanted{Key: Key{service.KindKeyPair, k.Name}, KeyPair: &k})
	}
	return out
}

// floatingIP expands that of an attachment. It keeps its address when its port is
// made anew, but belongs to its router's external network.
func (d desired) floatingIP(port string, a service.Attachment) *wanted {
	router := d.Service.Router(a.Network).Name
	spec := &service.FloatingIPSpec{Name: port, External: a.FloatingIP, Router: router}
	return &wanted{
		Key: Key{service.KindFloatingIP, port}, FloatingIP: spec, PortNames: []string{port},
		After: []Key{{service.KindPort, port}, {service.KindRouter, router}},
		shape: fmt.Sprint(a.FloatingIP, " by ", router),
	}
}

// completed tells whether an object is made right by its Create, whatever is left of
// it, so that it need not go first: nothing of it is fixed, and its users stay.
func completed(k service.Kind) bool {
	return k == service.KindSecurityGroup || k == service.KindSecurityRules
}

// bond is what becomes of an object when one that it depends on is made.
type bond int

const (
	replaced bond = iota // it does not outlive it
	updated              // it is changed where it is
	unmoved              // it needed the other only when it was made
)

// bondOf tells how an object hangs on another; removed says that the other goes
// before it is made.
func bondOf(k, other service.Kind, removed bool) bond {
	switch {
	case k == kindPart:
		return updated
	case other == service.KindSecurityGroup:
		return updated
	case other == service.KindKeyPair:
		return unmoved
	case k == service.KindFloatingIP && (other == service.KindPort || !removed):
		return updated
	}
	return replaced
}

// members are the kinds of what may be on an object without a record that says so.
var members = map[service.Kind][]service.Kind{
	service.KindNetwork:       {service.KindServer, service.KindFunction, service.KindPort, service.KindFloatingIP, service.KindRouter},
	service.KindPort:          {service.KindServer, service.KindFunction},
	service.KindRouter:        {service.KindFloatingIP},
	service.KindSecurityGroup: {service.KindServer, service.KindFunction, service.KindPort, service.KindSecurityRules},
}

// letsGo are the kinds of objects that let go of what is deleted by being changed or
// finished.
var letsGo = []service.Kind{service.KindRouter, service.KindFunction, service.KindPort, service.KindSecurityRules}
