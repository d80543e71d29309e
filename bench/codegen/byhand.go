package codegen

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	cebpf "github.com/cilium/ebpf"

	"github.com/catena-nfv/catena/bench/reference"
	"github.com/catena-nfv/catena/internal/service"
)

// The layouts of bench/reference/sfc.h and of the programs there.

// maxMasks is MAX_MASKS there.
const maxMasks = 64

// fiveKeys are the fields of struct five in the order of a rule's matches.
func fiveKeys() []field {
	return []field{{"src_addr", 32}, {"dst_addr", 32}, {"protocol", 8}, {"src_port", 16}, {"dst_port", 16}}
}

// idsKeys are the fields of struct ids_key.
func idsKeys() []field { return append(fiveKeys(), field{"ttl", 8}, field{"tcp_flags", 8}) }

// tupleKey writes struct five or, with seven fields, struct ids_key. get picks value or mask of a match.
func tupleKey(ms []match, scope uint16, mask byte, get func(match) uint64) []byte {
	b := make([]byte, 0, 20)
	b = binary.BigEndian.AppendUint32(b, uint32(get(ms[0])))
	b = binary.BigEndian.AppendUint32(b, uint32(get(ms[1])))
	b = binary.BigEndian.AppendUint16(b, uint16(get(ms[3])))
	b = binary.BigEndian.AppendUint16(b, uint16(get(ms[4])))
	b = binary.NativeEndian.AppendUint16(b, scope)
	b = append(b, mask, byte(get(ms[2])))
	if len(ms) > 5 {
		b = append(b, byte(get(ms[5])), byte(get(ms[6])), 0, 0)
	}
	return b
}

// tupleRule is a rule of a tuple space.
type tupleRule struct {
	matches  []match
	scope    uint16
	priority uint32
	value    func() []byte // what follows the priority
}

// tuples are the masks and elements of a tuple space.
type tuples struct {
	masks    []byte // the variable with both generations
	filters  []byte // of the elements under each mask
	elements map[string][]byte
}

// filterBits is FILTER_BITS there.
const filterBits = 12

// filter notes that there is an element under a mask: may_have there.
func (t *tuples) filter(mask byte, key []byte) {
	multipliers := []uint64{0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb}
	sum := uint64(0)
	for i := 0; 8*i < len(key); i++ {
		word := make([]byte, 8)
		copy(word, key[8*i:])
		sum += binary.LittleEndian.Uint64(word) * multipliers[i]
	}
	bit := int(mask)<<filterBits + int(sum>>(64-filterBits))
	t.filters[bit/8] |= 1 << (bit % 8)
}

// spaceOf builds the tuple space of rules.
func spaceOf(rules []tupleRule) (tuples, error) {
	type mask struct {
		id   byte
		best uint32
		key  []byte
	}
	byKey := map[string]*mask{}
	var order []*mask
	t := tuples{elements: map[string][]byte{}, filters: make([]byte, maxMasks*1<<filterBits/8)}
	for _, r := range rules {
		key := tupleKey(r.matches, 0xffff, 0, func(m match) uint64 { return m.mask })
		m := byKey[string(key)]
		if m == nil {
			m = &mask{id: byte(len(order) + 1), key: key}
			byKey[string(key)] = m
			order = append(order, m)
		}
		m.best = max(m.best, r.priority)
		element := string(tupleKey(r.matches, r.scope, m.id, func(m match) uint64 { return m.value }))
		t.filter(m.id, []byte(element))
		value := append(binary.NativeEndian.AppendUint32(nil, r.priority), r.value()...)
		if old := t.elements[element]; old == nil || binary.NativeEndian.Uint32(old) < r.priority {
			t.elements[element] = value
		}
	}
	if len(order) >= maxMasks {
		return t, fmt.Errorf("%d masks, the reference has room for %d", len(order), maxMasks-1)
	}
	slices.SortStableFunc(order, func(a, b *mask) int { return -cmp.Compare(a.best, b.best) })
	size := 24 // struct five_mask
	if len(rules) > 0 && len(rules[0].matches) > 5 {
		size = 32 // struct ids_mask
	}
	t.masks = make([]byte, 8+2*maxMasks*size)
	for i, m := range order {
		b := t.masks[8+i*size:]
		binary.NativeEndian.PutUint32(b, uint32(m.id))
		binary.NativeEndian.PutUint32(b[4:], m.best)
		copy(b[8:], m.key)
		b[8+14] = m.id // five.mask
	}
	return t, nil
}

// words writes numbers as the machine does, 32 bits each.
func words(vs ...uint32) []byte {
	var b []byte
	for _, v := range vs {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	return b
}

// network32 writes a number as in a packet.
func network32(v uint64) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) }

// newByHand loads a hand-written chain with its workload.
func newByHand(ctx context.Context, c chain, w workloadOf) (*cebpf.Collection, error) {
	spec, err := reference.Compile(ctx, c.file)
	if err != nil {
		return nil, err
	}
	spaces, err := spacesOf(w)
	if err != nil {
		return nil, err
	}
	for name, t := range spaces {
		if err := spec.Variables[name+"_masks"].Set(t.masks); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", c.file, name, err)
		}
		if err := spec.Variables[name+"_filters"].Set(t.filters); err != nil {
			return nil, fmt.Errorf("%s: filters of %s: %w", c.file, name, err)
		}
	}
	if v := spec.Variables["crc_tables"]; v != nil {
		if err := v.Set(crcTables()); err != nil {
			return nil, fmt.Errorf("%s: %w", c.file, err)
		}
	}
	coll, err := cebpf.NewCollection(spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.file, err)
	}
	if err := fillByHand(coll, w, spaces); err != nil {
		coll.Close()
		return nil, fmt.Errorf("%s: %w", c.file, err)
	}
	return coll, nil
}

// crcTables are those of CRC-32, sliced by eight.
func crcTables() [8][256]uint32 {
	t := [8][256]uint32{0: *crc32.IEEETable}
	for i := 1; i < 8; i++ {
		for j, last := range t[i-1] {
			t[i][j] = last>>8 ^ t[0][last&0xff]
		}
	}
	return t
}

// spacesOf builds the tuple spaces of a workload, by the names of their maps.
func spacesOf(w workloadOf) (map[string]tuples, error) {
	spaces := map[string][]tupleRule{}
	for _, c := range w.classifiers {
		ms, _, err := parseRule(service.Rule{NF: "backbone", Table: "classifier", Match: c.match}, fiveKeys(), nil)
		if err != nil {
			return nil, err
		}
		spaces["classifier"] = append(spaces["classifier"], tupleRule{ms, uint16(c.port), 1, func() []byte {
			return binary.NativeEndian.AppendUint16(binary.NativeEndian.AppendUint16(nil, scope), uint16(c.path))
		}})
	}
	tables := []struct {
		nf, name string
		keys     []field
		actions  []string
	}{
		{"IDS", "ids", idsKeys(), []string{"pass", "drop", "alert", "alert_and_drop"}},
		{"Firewall", "firewall", fiveKeys(), []string{"allow", "deny"}},
	}
	for _, t := range tables {
		for i, r := range w.rules[t.nf] {
			ms, _, err := parseRule(r, t.keys, nil)
			if err != nil {
				return nil, err
			}
			action := slices.Index(t.actions, r.Action)
			if action < 0 {
				return nil, fmt.Errorf("%s: the reference has no action %q", t.nf, r.Action)
			}
			spaces[t.name] = append(spaces[t.name], tupleRule{ms, scope, uint32(r.Priority) + 1, func() []byte {
				return words(uint32(action), uint32(i+1), 0)
			}})
		}
	}
	built := map[string]tuples{}
	for name, rules := range spaces {
		var err error
		if built[name], err = spaceOf(rules); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return built, nil
}

// exactTable says how rules of a table become elements of a map of the reference.
type exactTable struct {
	nf, table, action string
	keys, params      []field
	m                 string
	element           func(ms []match, ps []uint64) (key, value []byte)
}

func exactTables() []exactTable {
	addr := []field{{"addr", 32}}
	station := func(action uint32) func(ms []match, ps []uint64) (key, value []byte) {
		return func(ms []match, ps []uint64) (key, value []byte) {
			key = binary.BigEndian.AppendUint64(nil, ms[0].value)[2:]
			return append(key, halves(scope)...), words(action, uint32(ps[0]))
		}
	}
	mac := []field{{"dst_addr", 48}}
	translation := func(ms []match, ps []uint64) (key, value []byte) {
		return append(network32(ms[0].value), words(scope)...), network32(ps[0])
	}
	serviceKey := func(ms []match) []byte {
		k := binary.BigEndian.AppendUint16(network32(ms[0].value), uint16(ms[2].value))
		return slices.Concat(k, []byte{byte(ms[1].value), 0}, words(scope))
	}
	return []exactTable{
		{"NAT", "source", "translate", []field{{"src_addr", 32}}, addr, "nat_source", translation},
		{"NAT", "restore", "restore_to", []field{{"dst_addr", 32}}, addr, "nat_restore", translation},
		{"L2fwd", "addresses", "forward", mac, []field{{"port", 9}}, "l2fwd_addresses", station(0)},
		{"L2fwd", "addresses", "flood", mac, []field{{"group", 16}}, "l2fwd_addresses", station(1)},
		{"L3fwd", "routes", "forward", []field{{"dst_addr", 32}}, []field{{"port", 9}, {"src_mac", 48}, {"dst_mac", 48}}, "l3fwd_routes",
			func(ms []match, ps []uint64) (key, value []byte) {
				src, dst := binary.BigEndian.AppendUint64(nil, ps[1])[2:], binary.BigEndian.AppendUint64(nil, ps[2])[2:]
				key = append(words(uint32(32+ms[0].prefix()), scope), network32(ms[0].value)...)
				return key, slices.Concat(words(1, uint32(ps[0])), dst, src)
			}},
		{"LB", "services", "balance", []field{{"dst_addr", 32}, {"protocol", 8}, {"dst_port", 16}}, []field{{"group", 16}, {"members", 16}}, "lb_services",
			func(ms []match, ps []uint64) (key, value []byte) { return serviceKey(ms), halves(ps[0], ps[1]) }},
		{"LB", "members", "to_member", []field{{"group", 16}, {"index", 16}}, addr, "lb_members",
			func(ms []match, ps []uint64) (key, value []byte) {
				return append(halves(ms[0].value, ms[1].value), words(scope)...), network32(ps[0])
			}},
		{"LB", "replies", "from_service", []field{{"src_addr", 32}, {"protocol", 8}, {"src_port", 16}}, addr, "lb_replies",
			func(ms []match, ps []uint64) (key, value []byte) { return serviceKey(ms), network32(ps[0]) }},
	}
}

// halves writes numbers as the machine does, 16 bits each.
func halves(vs ...uint64) []byte {
	var b []byte
	for _, v := range vs {
		b = binary.NativeEndian.AppendUint16(b, uint16(v))
	}
	return b
}

// fillByHand writes the maps.
func fillByHand(c *cebpf.Collection, w workloadOf, spaces map[string]tuples) error {
	var errs []error
	put := func(m string, key, value []byte) {
		if c.Maps[m] == nil {
			errs = append(errs, fmt.Errorf("the program has no map %s", m))
		} else if err := c.Maps[m].Put(key, value); err != nil {
			errs = append(errs, fmt.Errorf("map %s: %w", m, err))
		}
	}
	for name, t := range spaces {
		for key, value := range t.elements {
			put(name, []byte(key), value)
		}
	}
	put("ports_in", words(testInterface), words(inPort))
	put("ports_out", words(outPort), words(testInterface))
	if c.Maps["groups"] != nil {
		group := make([]byte, 4+4*64) // struct group
		copy(group, words(2, inPort, outPort))
		put("groups", words(floodGroup), group)
	}
	tables := exactTables()
	for nf, rules := range w.rules {
		for _, r := range rules {
			if nf == "IDS" || nf == "Firewall" {
				continue // in the tuple spaces
			}
			i := slices.IndexFunc(tables, func(t exactTable) bool { return t.nf == nf && t.table == r.Table && t.action == r.Action })
			if i < 0 {
				return fmt.Errorf("%s.%s: action %s: the reference is not filled with such rules", nf, r.Table, r.Action)
			}
			ms, ps, err := parseRule(r, tables[i].keys, tables[i].params)
			if err != nil {
				return err
			}
			key, value := tables[i].element(ms, ps)
			put(tables[i].m, key, value)
		}
	}
	return errors.Join(errs...)
}
