package orch

import (
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// class is a space of numbers on the switch.
type class struct {
	name string
	max  uint32
}

// The classes. Port 510 is the CPU and 511 drops; chain numbers are cells of the
// backbone's counter and double as scopes, of which 0 is the operator's default.
var (
	networkNumber = class{"network", 4095}
	routerNumber  = class{"router", 4095}
	portNumber    = class{"port", 509}
	chainNumber   = class{"chain", 4095}
	groupNumber   = class{"group", 4095}
)

// numbers are the numbers given to objects of all services on the switch, by
// class and "PROJECT/SERVICE/NAME". A number stays with its object as long as
// that lives.
type numbers map[string]uint32

func numberKey(c class, o service.Owner, name string) string {
	return c.name + "/" + o.String() + "/" + name
}

// get returns 0 for an object without a number.
func (n numbers) get(c class, o service.Owner, name string) uint32 {
	return n[numberKey(c, o, name)]
}

// clone copies n.
func (n numbers) clone() numbers {
	m := make(numbers, len(n))
	for k, v := range n {
		m[k] = v
	}
	return m
}

// assign gives a number to everything in the service that has none: the
// smallest that is free, so that numbers stay small. n is not changed.
func (n numbers) assign(s *service.Service) (numbers, error) {
	out := n.clone()
	for _, w := range numbered(s) {
		if !out.give(w.class, s.Owner(), w.name) {
			return nil, fmt.Errorf("the switch is full: it has room for %d %ss, and %q of service %s would be one more", w.class.max, w.class.name, w.name, s.Owner())
		}
	}
	return out, nil
}

// give numbers one object of n, unless it has a number; false: there is none left.
func (n numbers) give(c class, o service.Owner, name string) bool {
	if _, ok := n[numberKey(c, o, name)]; ok {
		return true
	}
	used := map[uint32]bool{}
	for k, v := range n {
		if strings.HasPrefix(k, c.name+"/") {
			used[v] = true
		}
	}
	next := uint32(1)
	for used[next] {
		next++
	}
	if next > c.max {
		return false
	}
	n[numberKey(c, o, name)] = next
	return true
}

// release takes back the numbers of an owner that none of the services needs.
func (n numbers) release(o service.Owner, keep ...*service.Service) numbers {
	needed := map[string]bool{}
	for _, s := range keep {
		if s == nil {
			continue
		}
		for _, w := range numbered(s) {
			needed[numberKey(w.class, o, w.name)] = true
		}
	}
	out := numbers{}
	for k, v := range n {
		_, rest, _ := strings.Cut(k, "/")
		if !strings.HasPrefix(rest, o.String()+"/") || needed[k] {
			out[k] = v
		}
	}
	return out
}

// only keeps the numbers of owners that pass the test.
func (n numbers) only(test func(service.Owner) bool) numbers {
	out := numbers{}
	for k, v := range n {
		if f := strings.SplitN(k, "/", 4); len(f) == 4 && test(service.Owner{Project: f[1], Service: f[2]}) {
			out[k] = v
		}
	}
	return out
}

type numberedName struct {
	class class
	name  string
}

// numbered lists the objects of a service that have numbers, in order.
func numbered(s *service.Service) []numberedName {
	var out []numberedName
	for _, n := range s.Networks {
		out = append(out, numberedName{networkNumber, n.Name})
	}
	for _, r := range s.Routers {
		out = append(out, numberedName{routerNumber, r.Name})
	}
	for _, c := range s.Chains {
		out = append(out, numberedName{chainNumber, c.Name})
	}
	for _, g := range s.SecurityGroups {
		out = append(out, numberedName{groupNumber, g.Name})
	}
	add := func(device string, list []service.Attachment) {
		for _, a := range list {
			out = append(out, numberedName{portNumber, service.PortName(device, a.Network)})
		}
	}
	for _, f := range s.Functions {
		add(f.Name, f.Networks)
	}
	for i := range s.Servers {
		for _, name := range s.Servers[i].Instances() {
			add(name, s.Servers[i].Networks)
		}
	}
	return out
}
