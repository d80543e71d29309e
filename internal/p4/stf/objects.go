package stf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

func (r *runner) checkCounter(c *CheckCounter) error {
	v, err := r.counter(c.Name, c.Index)
	if err != nil || c.Unit == "" {
		return err
	}
	got := v.Packets
	if c.Unit == "bytes" {
		got = v.Bytes
	}
	ok := false
	switch c.Compare {
	case "==":
		ok = got == c.Value
	case "!=":
		ok = got != c.Value
	case "<":
		ok = got < c.Value
	case "<=":
		ok = got <= c.Value
	case ">":
		ok = got > c.Value
	case ">=":
		ok = got >= c.Value
	}
	if !ok {
		return fmt.Errorf("counter %s(%s): expected %s %s %d, got %d", c.Name, c.Index, c.Unit, c.Compare, c.Value, got)
	}
	return nil
}

// counter reads a cell of an indirect counter, or the direct counter of the entry
// with handle $NAME.
func (r *runner) counter(name, index string) (target.Counter, error) {
	i, err := findInstance(r.schema, name, ir.KindCounter, ir.KindDirectCounter)
	if err != nil {
		return target.Counter{}, err
	}
	h, isHandle := strings.CutPrefix(index, "$")
	if i.Kind == ir.KindCounter {
		n, err := indexNumber(index)
		if err != nil {
			return target.Counter{}, fmt.Errorf("counter %q: index %q is no number", i.FullName, index)
		}
		return r.dev.ReadCounter(i.FullName, n)
	}
	e, ok := r.handles[h]
	if !isHandle || !ok {
		return target.Counter{}, fmt.Errorf("direct counter %q: %q is not the $HANDLE of an entry", i.FullName, index)
	}
	if e.table.Counter != i {
		return target.Counter{}, fmt.Errorf("direct counter %q does not belong to table %q of entry %q", i.FullName, e.table.FullName, h)
	}
	es, _, err := r.dev.ReadEntries(e.table.FullName)
	if err != nil {
		return target.Counter{}, err
	}
	for _, have := range es {
		if target.Identity(have) == target.Identity(e.entry) && have.Counter != nil {
			return *have.Counter, nil
		}
	}
	return target.Counter{}, fmt.Errorf("direct counter %q: entry %q is gone", i.FullName, h)
}

// object runs the commands on counters, registers, meters, groups and value sets.
func (r *runner) object(c *Object) error {
	switch c.Verb {
	case "counter_read":
		v, err := r.counter(c.Name, c.Args[0])
		if err == nil {
			r.note("counter %s(%s): %d packets, %d bytes", c.Name, c.Args[0], v.Packets, v.Bytes)
		}
		return err
	case "counter_write":
		return r.writeCounter(c)
	case "register_read", "register_write", "register_reset":
		return r.register(c)
	case "meter_get_rates", "meter_set_rates", "meter_array_set_rates":
		return r.meter(c)
	case "group_add":
		return r.addGroup(c)
	case "value_set_add":
		return r.addToSet(c)
	}
	return fmt.Errorf("unknown command %q", c.Verb)
}

func (r *runner) writeCounter(c *Object) error {
	i, err := findInstance(r.schema, c.Name, ir.KindCounter)
	if err != nil {
		return err
	}
	var n [3]uint64
	for k := range n {
		if n[k], err = strconv.ParseUint(c.Args[k], 0, 63); err != nil {
			return fmt.Errorf("%s: %q is no number", c.Verb, c.Args[k])
		}
	}
	return r.dev.WriteCounter(i.FullName, int(n[0]), target.Counter{Packets: n[1], Bytes: n[2]})
}

func (r *runner) register(c *Object) error {
	i, err := findInstance(r.schema, c.Name, ir.KindRegister)
	if err != nil {
		return err
	}
	types := target.Scalars(i.Elem)
	if c.Verb == "register_reset" {
		zeros, err := words(types, nil)
		for n := 0; n < i.Size && err == nil; n++ {
			err = r.dev.WriteRegister(i.FullName, n, zeros)
		}
		return err
	}
	index, err := indexNumber(c.Args[0])
	if err != nil {
		return fmt.Errorf("%s: index %q is no number", c.Verb, c.Args[0])
	}
	if c.Verb == "register_write" {
		vs, err := words(types, c.Args[1:])
		if err != nil {
			return err
		}
		return r.dev.WriteRegister(i.FullName, index, vs)
	}
	got, err := r.dev.ReadRegister(i.FullName, index)
	if err != nil {
		return err
	}
	r.note("register %s[%d] = %x", i.FullName, index, got)
	if len(c.Args) == 1 {
		return nil
	}
	if c.Args[1] != "==" {
		return fmt.Errorf("register_read: == expected, not %q", c.Args[1])
	}
	want, err := words(types, c.Args[2:])
	if err != nil {
		return err
	}
	if fmt.Sprintf("%x", got) != fmt.Sprintf("%x", want) {
		return fmt.Errorf("register %s[%d]: expected %x, got %x", i.FullName, index, want, got)
	}
	return nil
}

// words reads one number for each type; none at all means zeros.
func words(types []ir.Type, args []string) ([][]byte, error) {
	if args != nil && len(args) != len(types) {
		return nil, fmt.Errorf("%d values for %d fields", len(args), len(types))
	}
	out := make([][]byte, len(types))
	for i, t := range types {
		w, _ := ir.ScalarBits(t)
		s := "0"
		if args != nil {
			s = args[i]
		}
		v, err := number(s, w)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (r *runner) meter(c *Object) error {
	i, err := findInstance(r.schema, c.Name, ir.KindMeter)
	if err != nil {
		return err
	}
	args := c.Args
	first, last := 0, i.Size-1
	if c.Verb != "meter_array_set_rates" {
		n, err := indexNumber(args[0])
		if err != nil {
			return fmt.Errorf("%s: index %q is no number", c.Verb, args[0])
		}
		first, last, args = n, n, args[1:]
	}
	if c.Verb == "meter_get_rates" {
		m, err := r.dev.ReadMeter(i.FullName, first)
		if err == nil {
			r.note("meter %s[%d]: %+v", i.FullName, first, m)
		}
		return err
	}
	m, err := rates(args)
	for n := first; n <= last && err == nil; n++ {
		err = r.dev.WriteMeter(i.FullName, n, m)
	}
	return err
}

// rates reads RATE:BURST RATE:BURST, the rates being tokens per microsecond.
func rates(args []string) (*target.MeterConfig, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("two RATE:BURST expected, not %d", len(args))
	}
	var rate, burst [2]uint64
	for i, a := range args {
		l, b, ok := strings.Cut(a, ":")
		f, err1 := strconv.ParseFloat(l, 64)
		n, err2 := strconv.ParseUint(b, 0, 64)
		if !ok || err1 != nil || err2 != nil || f < 0 {
			return nil, fmt.Errorf("%q is no RATE:BURST", a)
		}
		rate[i], burst[i] = uint64(math.Round(f*1e6)), n
	}
	return &target.MeterConfig{CIR: rate[0], CBurst: burst[0], PIR: rate[1], PBurst: burst[1]}, nil
}

// replication runs the mirroring and multicast commands.
func (r *runner) replication(c *Switch) error {
	switch a := c.Args; c.Verb {
	case "mirroring_add":
		return r.dev.WriteClone(target.Insert, target.CloneSession{ID: a[0], Replicas: []target.Replica{{Port: a[1]}}})
	case "mirroring_add_mc":
		rs, ok := r.groups[a[1]]
		if !ok {
			return fmt.Errorf("no multicast group %d", a[1])
		}
		return r.dev.WriteClone(target.Insert, target.CloneSession{ID: a[0], Replicas: rs})
	case "mirroring_delete":
		return r.dev.WriteClone(target.Delete, target.CloneSession{ID: a[0]})
	case "mirroring_get":
		all, err := r.dev.ReadClones()
		for _, s := range all {
			if s.ID == a[0] {
				r.note("session %d: %+v", s.ID, s.Replicas)
			}
		}
		return err
	case "mc_mgrp_create":
		r.groups[a[0]] = nil
		return r.dev.WriteMulticast(target.Insert, a[0], nil)
	case "mc_node_create":
		if a[0] > math.MaxUint16 {
			return fmt.Errorf("egress_rid %d is larger than 65535", a[0])
		}
		r.nodes = append(r.nodes, node{uint16(a[0]), a[1:]})
	case "mc_node_associate":
		if int(a[1]) >= len(r.nodes) {
			return fmt.Errorf("no node %d, there are %d", a[1], len(r.nodes))
		}
		rs, ok := r.groups[a[0]]
		if !ok {
			return fmt.Errorf("no multicast group %d", a[0])
		}
		n := r.nodes[a[1]]
		for _, p := range n.ports {
			rs = append(rs, target.Replica{Port: p, Instance: n.rid})
		}
		r.groups[a[0]] = rs
		return r.dev.WriteMulticast(target.Modify, a[0], rs)
	}
	return nil
}

// indexNumber reads the index of an array, decimal or with the prefix of its base.
func indexNumber(s string) (int, error) {
	if len(s) > 1 && s[0] == '0' && (s[1] < '0' || s[1] > '9') {
		n, err := strconv.ParseUint(s, 0, 31)
		return int(n), err
	}
	return strconv.Atoi(s)
}
