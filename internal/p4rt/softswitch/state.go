package softswitch

import (
	"errors"
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/target"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// takeState copies what the control plane has written and what the program has
// counted from old to a new program, where both have an object of that name. An
// entry that does not fit the new program's table is an error; objects that the new
// program does not have take their contents with them.
func takeState(old *pipeline, to target.Switch, info *configv1.P4Info) error {
	names := func(list []*configv1.Preamble) map[string]bool {
		m := map[string]bool{}
		for _, p := range list {
			m[p.GetName()] = true
		}
		return m
	}
	oldTables := names(preambles(old.info.GetTables()))
	oldProfiles := names(preambles(old.info.GetActionProfiles()))
	for _, p := range info.GetActionProfiles() {
		if oldProfiles[p.GetPreamble().GetName()] {
			if err := takeProfile(old, to, p); err != nil {
				return err
			}
		}
	}
	for _, t := range info.GetTables() {
		if oldTables[t.GetPreamble().GetName()] && !t.GetIsConstTable() {
			if err := takeTable(old, to, t); err != nil {
				return err
			}
		}
	}
	return errors.Join(takeCells(old, to, info), takeReplication(old, to))
}

func preambles[T interface{ GetPreamble() *configv1.Preamble }](list []T) []*configv1.Preamble {
	out := make([]*configv1.Preamble, len(list))
	for i, x := range list {
		out[i] = x.GetPreamble()
	}
	return out
}

func takeProfile(old, to target.Switch, p *configv1.ActionProfile) error {
	name := p.GetPreamble().GetName()
	members, err := old.ReadMembers(name)
	if err != nil {
		return err
	}
	for _, m := range members {
		if err := to.WriteMember(target.Insert, name, m); err != nil {
			return fmt.Errorf("action profile %s: member %d does not fit the new program: %w", name, m.ID, err)
		}
	}
	if !p.GetWithSelector() {
		return nil
	}
	groups, err := old.ReadGroups(name)
	if err != nil {
		return nil // it was no selector before
	}
	for _, g := range groups {
		if err := to.WriteGroup(target.Insert, name, g); err != nil {
			return fmt.Errorf("action selector %s: group %d does not fit the new program: %w", name, g.ID, err)
		}
	}
	return nil
}

func takeTable(old, to target.Switch, t *configv1.Table) error {
	name := t.GetPreamble().GetName()
	entries, def, err := old.ReadEntries(name)
	if err != nil {
		return err
	}
	own, _, err := to.ReadEntries(name)
	if err != nil {
		return err
	}
	for _, e := range own {
		if !e.Const {
			if err := to.WriteEntry(target.Delete, e); err != nil {
				return err
			}
		}
	}
	for _, e := range entries {
		if e.Const {
			continue
		}
		if err := to.WriteEntry(target.Insert, e); err != nil {
			return fmt.Errorf("table %s: %s does not fit the new program: %w", name, e.Describe(), err)
		}
	}
	if t.GetConstDefaultActionId() == 0 && def != nil {
		// A default of the old program that the new one does not have stays behind.
		if err := to.SetDefault(name, def); err != nil && !errors.Is(err, target.ErrInvalid) {
			return err
		}
	}
	return nil
}

// takeCells copies counters, meters, registers and value sets of equal size.
func takeCells(old *pipeline, to target.Switch, info *configv1.P4Info) error {
	var errs []error
	sizes := map[string]int64{}
	for _, c := range old.info.GetCounters() {
		sizes["counter "+c.GetPreamble().GetName()] = c.GetSize()
	}
	for _, m := range old.info.GetMeters() {
		sizes["meter "+m.GetPreamble().GetName()] = m.GetSize()
	}
	for _, r := range old.info.GetRegisters() {
		sizes["register "+r.GetPreamble().GetName()] = int64(r.GetSize())
	}
	for _, c := range info.GetCounters() {
		name := c.GetPreamble().GetName()
		for i := 0; i < int(c.GetSize()) && sizes["counter "+name] == c.GetSize(); i++ {
			v, err := old.ReadCounter(name, i)
			if err == nil {
				err = to.WriteCounter(name, i, v)
			}
			errs = append(errs, err)
		}
	}
	for _, m := range info.GetMeters() {
		name := m.GetPreamble().GetName()
		for i := 0; i < int(m.GetSize()) && sizes["meter "+name] == m.GetSize(); i++ {
			v, err := old.ReadMeter(name, i)
			if err == nil {
				err = to.WriteMeter(name, i, v)
			}
			errs = append(errs, err)
		}
	}
	for _, r := range info.GetRegisters() {
		name := r.GetPreamble().GetName()
		for i := 0; i < int(r.GetSize()) && sizes["register "+name] == int64(r.GetSize()); i++ {
			v, err := old.ReadRegister(name, i)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if to.WriteRegister(name, i, v) != nil {
				break // of another type: it starts from zero
			}
		}
	}
	for _, v := range info.GetValueSets() {
		name := v.GetPreamble().GetName()
		if members, err := old.ReadValueSet(name); err == nil {
			errs = append(errs, to.WriteValueSet(name, members))
		}
	}
	return errors.Join(errs...)
}

func takeReplication(old, to target.Switch) error {
	groups, err := old.ReadMulticast()
	if err != nil {
		return err
	}
	for id, rs := range groups {
		if err := to.WriteMulticast(target.Insert, id, rs); err != nil {
			return err
		}
	}
	clones, err := old.ReadClones()
	if err != nil {
		return err
	}
	for _, c := range clones {
		if err := to.WriteClone(target.Insert, c); err != nil {
			return err
		}
	}
	return nil
}
