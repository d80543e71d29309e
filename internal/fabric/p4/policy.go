package p4

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// A policy is what ports with the same security groups may send and receive. In the
// program (internal/nf/include/guard.p4) each direction of it is two tables of longest prefixes: rules
// gives the set of remotes that may use a protocol and port, remotes the set of
// remotes that an address is of. Remotes are bits of a set; those with the same rules
// share one.

// maxRemotes is how many bits a set of remotes has.
const maxRemotes = 128

// policy has a number that is a hash of its rules, so that one with other rules is
// another policy.
type policy struct {
	number          uint32
	ingress, egress side
}

// side is one direction of a policy: the entries of its two tables, sorted.
type side struct {
	rules   []prefixSet // of 24 bits: protocol and port, or ICMP type and code
	remotes []prefixSet // of 32 bits
}

// prefixSet is a set of remotes for a prefix.
type prefixSet struct {
	prefix
	set *big.Int
}

// prefix is the first length bits of value.
type prefix struct {
	value  uint32
	length int
}

func (p prefix) holds(q prefix, width int) bool {
	return p.length <= q.length && (p.value^q.value)>>(width-p.length) == 0
}

func comparePrefixes(a, b prefix) int {
	if a.value != b.value {
		return int(int64(a.value) - int64(b.value))
	}
	return a.length - b.length
}

// remote is who a rule is about: a prefix, or the ports of a group.
type remote struct {
	group uint32
	prefix
}

// policies makes the policies of all secured ports. of gives each port's, by the
// port's number. An inventory's ports must not keep others from being deployed: one
// whose groups do not fit has a policy that allows nothing, and is told of in unfit.
func policies(cfg service.SwitchConfig) (all []policy, of map[uint32]uint32, unfit, err error) {
	m := &policyMaker{
		groups: map[uint32]service.SwitchGroup{}, members: membersOf(cfg.Ports),
		byGroups: map[string]made{}, byRules: map[string]made{}, taken: map[uint32]bool{},
	}
	for _, g := range cfg.Groups {
		m.groups[g.Number] = g
	}
	of = map[uint32]uint32{}
	var errs, left []error
	for _, p := range cfg.Ports {
		if !p.Secured {
			continue
		}
		x, err := m.policy(p.Groups)
		if err != nil {
			return nil, nil, nil, err
		}
		of[p.Number] = x.number
		switch {
		case x.err == nil:
		case p.Owner == service.InventoryOwner:
			left = append(left, fmt.Errorf("port %q is cut off: %w", p.Port.Name, x.err))
		default:
			errs = append(errs, fmt.Errorf("port %q: %w", p.Port.Name, x.err))
		}
	}
	return m.all, of, errors.Join(left...), errors.Join(errs...)
}

// policyMaker makes each policy once.
type policyMaker struct {
	groups            map[uint32]service.SwitchGroup
	members           map[uint32][]prefix
	byGroups, byRules map[string]made
	taken             map[uint32]bool
	all               []policy
}

// made is a policy's number, which is never 0, and what is wrong with its groups: then
// it allows nothing.
type made struct {
	number uint32
	err    error
}

func (m *policyMaker) policy(groups []uint32) (made, error) {
	set := fmt.Sprint(groups)
	if x, ok := m.byGroups[set]; ok {
		return x, nil
	}
	rules, names, missing := rulesOf(groups, m.groups)
	text, err := json.Marshal(rules)
	if err != nil {
		return made{}, err
	}
	x, ok := m.byRules[string(text)]
	if !ok {
		x.number = numberOf(text, m.taken)
		p := policy{number: x.number}
		if p.ingress, x.err = sideOf(rules, service.Ingress, m.members); x.err == nil {
			p.egress, x.err = sideOf(rules, service.Egress, m.members)
		}
		if x.err != nil {
			p.ingress, p.egress = side{}, side{}
			x.err = fmt.Errorf("security groups %s: %w", strings.Join(names, ", "), x.err)
		}
		m.byRules[string(text)] = x
		m.all = append(m.all, p)
	}
	x.err = errors.Join(missing, x.err)
	m.byGroups[set] = x
	return x, nil
}

// numberOf hashes a policy's rules to a number above 0 that no other has.
func numberOf(text []byte, taken map[uint32]bool) uint32 {
	h := fnv.New32a()
	h.Write(text)
	n := h.Sum32()
	for n == 0 || taken[n] {
		n++
	}
	taken[n] = true
	return n
}

// rulesOf collects the rules of groups, sorted and without repetitions: equal lists are
// equal policies. With a group that is missing there are none.
func rulesOf(numbers []uint32, groups map[uint32]service.SwitchGroup) (rules []service.SwitchGroupRule, names []string, err error) {
	for _, n := range numbers {
		g, ok := groups[n]
		if !ok {
			return nil, nil, fmt.Errorf("security group %d is not configured", n)
		}
		names = append(names, strconv.Quote(g.Name))
		for _, r := range g.Rules {
			r.RemoteGroup = "" // the number counts
			rules = append(rules, r)
		}
	}
	key := func(r service.SwitchGroupRule) string {
		icmp := ""
		if r.ICMP != nil {
			icmp = fmt.Sprint(*r.ICMP)
		}
		return fmt.Sprint(r.Direction, " ", r.Protocol, " ", r.Ports, " ", icmp, " ", r.RemotePrefix, " ", r.Remote)
	}
	slices.SortFunc(rules, func(a, b service.SwitchGroupRule) int { return strings.Compare(key(a), key(b)) })
	rules = slices.CompactFunc(rules, func(a, b service.SwitchGroupRule) bool { return key(a) == key(b) })
	return rules, names, nil
}

// membersOf gives the addresses of each group's ports.
func membersOf(ports []service.SwitchPort) map[uint32][]prefix {
	out := map[uint32][]prefix{}
	for _, p := range ports {
		var own []prefix
		for _, a := range addressesOf(p) {
			own = append(own, prefixOf(netip.PrefixFrom(a, 32)))
		}
		for _, x := range p.Pairs {
			if x.IP.Addr().Is4() {
				own = append(own, prefixOf(x.IP))
			}
		}
		for _, g := range p.Groups {
			out[g] = append(out[g], own...)
		}
	}
	return out
}

// addressesOf lists a port's own IPv4 addresses.
func addressesOf(p service.SwitchPort) []netip.Addr {
	var out []netip.Addr
	for _, ip := range append([]netip.Prefix{p.Port.IP}, p.IPs...) {
		if ip.Addr().Is4() {
			out = append(out, ip.Addr())
		}
	}
	return out
}

func prefixOf(p netip.Prefix) prefix {
	a := p.Masked().Addr().As4()
	return prefix{uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3]), p.Bits()}
}

// sideOf makes the tables of one direction.
func sideOf(rules []service.SwitchGroupRule, d service.Direction, members map[uint32][]prefix) (side, error) {
	uses := map[remote]map[prefix]bool{} // what each remote may use
	for _, r := range rules {
		if r.Direction != d {
			continue
		}
		to := remote{group: r.Remote}
		if r.Remote == 0 && r.RemotePrefix.IsValid() {
			to.prefix = prefixOf(r.RemotePrefix)
		}
		what, err := servicesOf(r.SecurityRule)
		if err != nil {
			return side{}, err
		}
		if uses[to] == nil {
			uses[to] = map[prefix]bool{}
		}
		for _, w := range what {
			uses[to][w] = true
		}
	}
	// A bit for each different set of uses, in a fixed order.
	byUse := map[string][]remote{}
	useOf := map[string][]prefix{}
	for to, what := range uses {
		list := keysOf(what)
		k := fmt.Sprint(list)
		byUse[k] = append(byUse[k], to)
		useOf[k] = list
	}
	order := sortedKeys(byUse)
	if len(order) > maxRemotes {
		return side{}, fmt.Errorf("%d sets of remotes with different %s rules; the switch has room for %d", len(order), d, maxRemotes)
	}
	var rulesAt, remotesAt []prefixBit
	for bit, k := range order {
		for _, p := range useOf[k] {
			rulesAt = append(rulesAt, prefixBit{p, bit})
		}
		for _, to := range byUse[k] {
			if to.group == 0 {
				remotesAt = append(remotesAt, prefixBit{to.prefix, bit})
				continue
			}
			for _, p := range members[to.group] {
				remotesAt = append(remotesAt, prefixBit{p, bit})
			}
		}
	}
	return side{setsOf(rulesAt, 24), setsOf(remotesAt, 32)}, nil
}

type prefixBit struct {
	prefix
	bit int
}

// setsOf gives each prefix the bits of all prefixes that hold it: only the longest one is
// found.
func setsOf(list []prefixBit, width int) []prefixSet {
	sets := map[prefix]*big.Int{}
	for _, x := range list {
		if sets[x.prefix] == nil {
			sets[x.prefix] = new(big.Int)
		}
		sets[x.prefix].SetBit(sets[x.prefix], x.bit, 1)
	}
	own := map[prefix]*big.Int{}
	for p, s := range sets {
		own[p] = new(big.Int).Set(s)
	}
	var out []prefixSet
	for _, p := range keysOf(sets) {
		for n := range p.length {
			shorter := prefix{p.value >> (width - n) << (width - n), n}
			if s := own[shorter]; s != nil {
				sets[p].Or(sets[p], s)
			}
		}
		out = append(out, prefixSet{p, sets[p]})
	}
	return out
}

func keysOf[V any](m map[prefix]V) []prefix {
	out := make([]prefix, 0, len(m))
	for p := range m {
		out = append(out, p)
	}
	slices.SortFunc(out, comparePrefixes)
	return out
}

// servicesOf gives what a rule allows, as prefixes of protocol and port, or of ICMP
// type and code.
func servicesOf(r service.SecurityRule) ([]prefix, error) {
	if r.Protocol == "" {
		return []prefix{{0, 0}}, nil
	}
	v, err := service.ProtocolNumber(r.Protocol)
	if err != nil {
		return nil, err
	}
	base := uint32(v) << 16
	switch {
	case r.ICMP != nil && r.ICMP.Code >= 0:
		return []prefix{{base | uint32(r.ICMP.Type)<<8 | uint32(r.ICMP.Code)&0xff, 24}}, nil
	case r.ICMP != nil:
		return []prefix{{base | uint32(r.ICMP.Type)<<8, 16}}, nil
	case r.Ports.IsZero():
		return []prefix{{base, 8}}, nil
	}
	var out []prefix
	for _, m := range coverRange(uint64(r.Ports.Lo), uint64(r.Ports.Hi), 16) {
		length := new(big.Int).SetBytes(m.Mask).Uint64()
		n := 0
		for length&0x8000 != 0 {
			length, n = length<<1, n+1
		}
		out = append(out, prefix{base | uint32(new(big.Int).SetBytes(m.Value).Uint64()), 8 + n})
	}
	return out, nil
}
