package openstack

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/catena-nfv/catena/internal/service"
)

// securityGroup as Neutron shows it. Its description is the owner's mark and a word
// that tells what its rules are to be, see groupText.
type securityGroup struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Rules       []securityRule `json:"security_group_rules"`
}

type securityRule struct {
	ID        string  `json:"id,omitempty"`
	Group     string  `json:"security_group_id"`
	Direction string  `json:"direction"`
	EtherType string  `json:"ethertype"`
	Protocol  *string `json:"protocol"`
	Min       *int    `json:"port_range_min"`
	Max       *int    `json:"port_range_max"`
	Prefix    *string `json:"remote_ip_prefix"`
	Remote    *string `json:"remote_group_id"`
}

// ruleKey is what a rule says, the same for all ways of saying it. The remote group has
// its name in the service; one of somebody else has its id.
type ruleKey struct {
	Direction, EtherType string
	Protocol             int // -1: any
	Min, Max             int // ports, or type and code of ICMP; -1: any
	Prefix, Remote       string
}

func compareRules(a, b ruleKey) int {
	return cmp.Or(cmp.Compare(a.Direction, b.Direction), cmp.Compare(a.EtherType, b.EtherType), a.Protocol-b.Protocol, a.Min-b.Min, a.Max-b.Max,
		cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Remote, b.Remote))
}

// neutronDefaults are the rules of a group that is new.
var neutronDefaults = []ruleKey{
	{Direction: "egress", EtherType: "IPv4", Protocol: -1, Min: -1, Max: -1},
	{Direction: "egress", EtherType: "IPv6", Protocol: -1, Min: -1, Max: -1},
}

// wantRules puts a group's rules in Neutron's words, sorted. Everything that a service
// says is about IPv4; one that lets all out keeps both of Neutron's rules for that.
func wantRules(g service.SecurityGroup) []ruleKey {
	var out []ruleKey
	for _, r := range g.Rules {
		k := ruleKey{Direction: string(r.Direction), EtherType: "IPv4", Protocol: -1, Min: -1, Max: -1, Remote: r.RemoteGroup}
		if n, err := service.ProtocolNumber(r.Protocol); r.Protocol != "" && err == nil {
			k.Protocol = int(n)
		}
		if !r.Ports.IsZero() {
			k.Min, k.Max = max(1, int(r.Ports.Lo)), int(r.Ports.Hi) // Neutron has no port 0
		}
		if r.ICMP != nil {
			k.Min, k.Max = int(r.ICMP.Type), int(r.ICMP.Code)
		}
		if r.RemotePrefix.IsValid() && r.RemotePrefix.Bits() > 0 {
			k.Prefix = r.RemotePrefix.String()
		}
		if k == neutronDefaults[0] {
			out = append(out, neutronDefaults[1])
		}
		out = append(out, k)
	}
	slices.SortFunc(out, compareRules)
	return slices.Compact(out)
}

// keyOf reads a rule of the cloud; names are those of the owner's groups by their ids.
func keyOf(r securityRule, names map[string]string) ruleKey {
	number := func(p *int) int {
		if p == nil {
			return -1
		}
		return *p
	}
	k := ruleKey{Direction: r.Direction, EtherType: r.EtherType, Protocol: -1, Min: number(r.Min), Max: number(r.Max)}
	if r.Protocol != nil && *r.Protocol != "" && *r.Protocol != "any" {
		if n, err := service.ProtocolNumber(*r.Protocol); err == nil {
			k.Protocol = int(n)
		} else {
			k.Protocol = 1000 // one that no service can ask for
		}
	}
	if r.Prefix != nil {
		k.Prefix = *r.Prefix
		if p, err := netip.ParsePrefix(*r.Prefix); err == nil {
			if k.Prefix = p.String(); p.Bits() == 0 {
				k.Prefix = ""
			}
		}
	}
	if r.Remote != nil {
		k.Remote = cmp.Or(names[*r.Remote], *r.Remote)
	}
	return k
}

// ask is the request for a rule.
func (k ruleKey) ask(groupID, remoteID string) securityRule {
	r := securityRule{Group: groupID, Direction: k.Direction, EtherType: k.EtherType}
	if k.Protocol >= 0 {
		name := map[int]string{1: "icmp", 6: "tcp", 17: "udp"}[k.Protocol]
		name = cmp.Or(name, strconv.Itoa(k.Protocol))
		r.Protocol = &name
	}
	if k.Min >= 0 {
		r.Min = &k.Min
	}
	if k.Max >= 0 {
		r.Max = &k.Max
	}
	if k.Prefix != "" {
		r.Prefix = &k.Prefix
	}
	if remoteID != "" {
		r.Remote = &remoteID
	}
	return r
}

// groupNames are the names of groups by their ids.
func groupNames(groups []securityGroup) map[string]string {
	out := map[string]string{}
	for _, g := range groups {
		out[g.ID] = g.Name
	}
	return out
}

// keys are what a group's rules say, sorted.
func (g securityGroup) keys(names map[string]string) []ruleKey {
	var out []ruleKey
	for _, r := range g.Rules {
		out = append(out, keyOf(r, names))
	}
	slices.SortFunc(out, compareRules)
	return out
}

// made tells whether a group has any other rules than a new one.
func (g securityGroup) made(names map[string]string) bool {
	return slices.ContainsFunc(g.keys(names), func(k ruleKey) bool { return !slices.Contains(neutronDefaults, k) })
}

// groupText is a group's description: the mark, and a digest of the rules that were asked
// for, which tells later whether somebody has changed them.
func (c *Cloud) groupText(o service.Owner, rules []ruleKey) (string, error) {
	sum, err := digest(rules)
	return c.marks.text(o) + " rules=" + sum, err
}

// rulesAsMade tells whether a group's rules are those that were asked for.
func (c *Cloud) rulesAsMade(o service.Owner, g securityGroup, names map[string]string) bool {
	text, err := c.groupText(o, g.keys(names))
	return err == nil && text == g.Description
}

// CreateSecurityGroup makes a group; its rules are made when there are all groups that
// they name.
func (c *Cloud) CreateSecurityGroup(ctx context.Context, o service.Owner, g service.SecurityGroup) (id string, err error) {
	text, err := c.groupText(o, wantRules(g))
	if err == nil {
		err = c.ensure(ctx, o, key{service.KindSecurityGroup, g.Name}, func(inv *inventory) error {
			var answer struct {
				Group securityGroup `json:"security_group"`
			}
			var have securityGroup
			if inv != nil {
				have, _ = inv.group(g.Name)
			}
			var err error
			switch {
			case have.ID == "":
				err = c.session.network.post(ctx, "security-groups", body("security_group", map[string]any{"name": g.Name, "description": text}), &answer)
				have = answer.Group
			case have.Description != text:
				err = c.session.network.put(ctx, "security-groups/"+have.ID, body("security_group", map[string]any{"description": text}), nil)
			}
			if err != nil {
				return err
			}
			id = have.ID
			k := c.of(o)
			k.mu.Lock()
			defer k.mu.Unlock()
			k.groups[g.Name] = have
			return nil
		})
	}
	return id, named(service.KindSecurityGroup, g.Name, err)
}

// CreateSecurityRules gives a group its rules: what is missing first, so that nothing is
// cut off that both allow, then what is too much goes.
func (c *Cloud) CreateSecurityRules(ctx context.Context, o service.Owner, g service.SecurityGroup) error {
	return named(service.KindSecurityRules, g.Name, c.ensure(ctx, o, key{service.KindSecurityRules, g.Name}, func(inv *inventory) error {
		have, names, err := c.groupNow(ctx, o, g.Name, inv)
		if err != nil {
			return err
		}
		want := wantRules(g)
		ids := map[string]string{}
		for id, name := range names {
			ids[name] = id
		}
		var ask []securityRule
		present := have.keys(names)
		for _, k := range want {
			if slices.Contains(present, k) {
				continue
			}
			remote := ids[k.Remote]
			if k.Remote != "" && remote == "" {
				return fmt.Errorf("security group %q, which a rule names, does not exist", k.Remote)
			}
			ask = append(ask, k.ask(have.ID, remote))
		}
		c.of(o).forgetRules(g.Name)
		if len(ask) > 0 {
			if err := c.session.network.post(ctx, "security-group-rules", map[string]any{"security_group_rules": ask}, nil); err != nil {
				return err
			}
		}
		group, ctx := errgroup.WithContext(ctx)
		for _, r := range have.Rules {
			if !slices.Contains(want, keyOf(r, names)) {
				group.Go(func() error { return c.session.network.remove(ctx, "security-group-rules/"+r.ID) })
			}
		}
		return group.Wait()
	}))
}

// groupNow finds a group with its rules as they are, and the names of all groups.
func (c *Cloud) groupNow(ctx context.Context, o service.Owner, name string, inv *inventory) (securityGroup, map[string]string, error) {
	k := c.of(o)
	k.mu.Lock()
	g, ok := k.groups[name]
	names := map[string]string{}
	for _, other := range k.groups {
		names[other.ID] = other.Name
	}
	k.mu.Unlock()
	if ok && inv == nil && g.Rules != nil {
		return g, names, nil
	}
	if inv == nil {
		k.also(service.KindSecurityGroup)
		var err error
		if inv, err = c.look(ctx, o); err != nil {
			return g, nil, err
		}
	}
	if g, ok = inv.group(name); !ok {
		return g, nil, fmt.Errorf("security group %q has vanished", name)
	}
	return g, groupNames(inv.groups), nil
}

// forgetRules says that a group's rules are about to change.
func (k *known) forgetRules(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if g, ok := k.groups[name]; ok {
		g.Rules = nil
		k.groups[name] = g
	}
}

// groupIDs finds groups of the service by their names.
func (c *Cloud) groupIDs(ctx context.Context, o service.Owner, names []string) ([]string, error) {
	k := c.of(o)
	out := []string{}
	for _, name := range names {
		k.mu.Lock()
		g, ok := k.groups[name]
		k.mu.Unlock()
		if !ok {
			k.also(service.KindSecurityGroup)
			inv, err := c.look(ctx, o)
			if err != nil {
				return nil, err
			}
			if g, ok = inv.group(name); !ok {
				return nil, fmt.Errorf("security group %q does not exist", name)
			}
		}
		out = append(out, g.ID)
	}
	slices.Sort(out)
	return out, nil
}

// deleteSecurityGroup removes the groups of that name, also from our ports that have it.
// The rules go with it.
func (c *Cloud) deleteSecurityGroup(ctx context.Context, o service.Owner, name string) error {
	return c.dismantle(ctx, o, key{service.KindSecurityGroup, name}, func(inv *inventory) error {
		for _, g := range inv.groups {
			if g.Name != name {
				continue
			}
			for _, p := range inv.ports {
				if !slices.Contains(p.SecurityGroups, g.ID) {
					continue
				}
				rest := slices.DeleteFunc(slices.Clone(p.SecurityGroups), func(id string) bool { return id == g.ID })
				if err := c.session.network.put(ctx, "ports/"+p.ID, body("port", map[string]any{"security_groups": rest}), nil); err != nil && !isStatus(err, http.StatusNotFound) {
					return err
				}
			}
			if err := c.session.network.remove(ctx, "security-groups/"+g.ID); err != nil {
				return err
			}
		}
		return nil
	})
}
