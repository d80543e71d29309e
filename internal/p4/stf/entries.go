package stf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// matches builds the matches of an entry from what the script names.
func matches(t *ir.Table, named []KeyValue) ([]target.Match, error) {
	keys := target.ControlKeys(t)
	out := make([]target.Match, len(keys))
	for i, k := range keys {
		out[i] = absent(k)
	}
	for _, kv := range named {
		i, err := findKey(t, keys, kv.Name)
		if err != nil {
			return nil, err
		}
		if out[i], err = match(keys[i], kv.Value); err != nil {
			return nil, fmt.Errorf("table %q: %w", t.FullName, err)
		}
	}
	return out, nil
}

func (r *runner) add(c *Add) error {
	t, err := findTable(r.schema, c.Table)
	if err != nil {
		return err
	}
	e := target.Entry{Table: t.FullName, Priority: c.Priority}
	if e.Match, err = matches(t, c.Keys); err != nil {
		return err
	}
	if t.Impl != nil {
		err = r.indirect(t, c.Action, &e)
	} else {
		e.Action, err = call(t, c.Action)
	}
	if err != nil {
		return err
	}
	if c.Handle != "" {
		checked, err := target.CheckKey(t, e)
		if err != nil {
			return err
		}
		r.handles[c.Handle] = handle{t, checked}
	}
	return r.dev.WriteEntry(target.Insert, e)
}

// indirect fills in the member or group of an entry. An action instead gets a member
// of its own, as one-shot programming does.
func (r *runner) indirect(t *ir.Table, a ActionCall, e *target.Entry) error {
	if a.Name == "member" || a.Name == "group" {
		if len(a.Args) != 1 {
			return fmt.Errorf("%s(ID) takes one number", a.Name)
		}
		n, err := strconv.ParseUint(a.Args[0].Value, 0, 32)
		if err != nil {
			return fmt.Errorf("%s %q is no number", a.Name, a.Args[0].Value)
		}
		if a.Name == "group" {
			e.Group = uint32(n)
		} else {
			e.Member = uint32(n)
		}
		return nil
	}
	act, err := call(t, a)
	if err != nil {
		return err
	}
	members, err := r.dev.ReadMembers(t.Impl.FullName)
	if err != nil {
		return err
	}
	id := uint32(1)
	for _, m := range members {
		id = max(id, m.ID+1)
	}
	e.Member = id
	return r.dev.WriteMember(target.Insert, t.Impl.FullName, target.Member{ID: id, Action: *act})
}

func (r *runner) remove(c *Remove) error {
	if c.Table == "" {
		return r.removeAll()
	}
	t, err := findTable(r.schema, c.Table)
	if err != nil {
		return err
	}
	e := target.Entry{Table: t.FullName, Priority: c.Priority}
	if e.Match, err = matches(t, c.Keys); err != nil {
		return err
	}
	return r.dev.WriteEntry(target.Delete, e)
}

func (r *runner) removeAll() error {
	for _, t := range r.schema.Tables() {
		es, _, err := r.dev.ReadEntries(t.FullName)
		if err != nil {
			return err
		}
		for _, e := range es {
			if e.Const {
				continue
			}
			if err := r.dev.WriteEntry(target.Delete, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *runner) addMember(c *MemberAdd) error {
	i, err := findInstance(r.schema, c.Profile, ir.KindActionProfile, ir.KindActionSelector)
	if err != nil {
		return err
	}
	_, tables, err := r.schema.Profile(i.FullName)
	if err != nil {
		return err
	}
	if len(tables) == 0 {
		return fmt.Errorf("no table uses %q", i.FullName)
	}
	a, err := call(tables[0], c.Action)
	if err != nil {
		return err
	}
	return r.dev.WriteMember(target.Insert, i.FullName, target.Member{ID: c.ID, Action: *a})
}

// addGroup is group_add: MEMBER or MEMBER*WEIGHT.
func (r *runner) addGroup(c *Object) error {
	i, err := findInstance(r.schema, c.Name, ir.KindActionSelector)
	if err != nil {
		return err
	}
	var nums []uint64
	g := target.Group{}
	for n, w := range c.Args {
		id, weight, _ := strings.Cut(w, "*")
		if weight == "" {
			weight = "1"
		}
		for _, s := range []string{id, weight} {
			v, err := strconv.ParseUint(s, 0, 32)
			if err != nil {
				return fmt.Errorf("group_add: %q is no number", s)
			}
			nums = append(nums, v)
		}
		if n == 0 {
			g.ID = uint32(nums[0])
			continue
		}
		g.Members = append(g.Members, target.GroupMember{ID: uint32(nums[2*n]), Weight: int(nums[2*n+1])})
	}
	return r.dev.WriteGroup(target.Insert, i.FullName, g)
}

// addToSet is value_set_add.
func (r *runner) addToSet(c *Object) error {
	all := r.schema.ValueSets()
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = v.Name
	}
	i, err := resolve("value set", c.Name, names)
	if err != nil {
		return err
	}
	v := all[i]
	if len(c.Args) != len(v.Fields) {
		return fmt.Errorf("value set %q: %d values for %d components", v.Name, len(c.Args), len(v.Fields))
	}
	var member []target.Match
	for i, k := range v.Fields {
		m, err := match(k, c.Args[i])
		if err != nil {
			return err
		}
		member = append(member, m)
	}
	r.sets[v.Name] = append(r.sets[v.Name], member)
	return r.dev.WriteValueSet(v.Name, r.sets[v.Name])
}
