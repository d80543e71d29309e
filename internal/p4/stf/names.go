package stf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// resolve finds the candidate that a name means: the one that is equal, else the
// only one of which it is a suffix at a dot, else the only one that ends in it.
func resolve(what, name string, candidates []string) (int, error) {
	clean := strings.TrimPrefix(name, ".")
	for _, same := range []func(string) bool{
		func(c string) bool { return strings.TrimPrefix(c, ".") == clean },
		func(c string) bool { return strings.HasSuffix(c, "."+clean) },
		func(c string) bool { return strings.HasSuffix(c, clean) },
	} {
		found := -1
		var all []string
		for i, c := range candidates {
			if same(c) {
				if found < 0 {
					found = i
				}
				if !slices.Contains(all, c) {
					all = append(all, c)
				}
			}
		}
		switch {
		case len(all) == 1:
			return found, nil
		case len(all) > 1:
			return 0, fmt.Errorf("%s %q is ambiguous: %s", what, name, strings.Join(all, ", "))
		}
	}
	known := slices.Clone(candidates)
	slices.Sort(known)
	if len(known) == 0 {
		return 0, fmt.Errorf("no %s %q: there is none", what, name)
	}
	return 0, fmt.Errorf("no %s %q, there is %s", what, name, strings.Join(slices.Compact(known), ", "))
}

func findTable(s *target.Schema, name string) (*ir.Table, error) {
	all := s.Tables()
	names := make([]string, len(all))
	for i, t := range all {
		names[i] = t.FullName
	}
	i, err := resolve("table", name, names)
	if err != nil {
		return nil, err
	}
	return all[i], nil
}

func findInstance(s *target.Schema, name string, kinds ...ir.InstanceKind) (*ir.Instance, error) {
	var all []*ir.Instance
	var names []string
	for _, i := range s.Instances() {
		if slices.Contains(kinds, i.Kind) {
			all = append(all, i)
			names = append(names, i.FullName)
		}
	}
	i, err := resolve(string(kinds[0]), name, names)
	if err != nil {
		return nil, err
	}
	return all[i], nil
}

var stackElement = regexp.MustCompile(`\$([0-9]+)`)

// findKey finds the key of a table. A key on the validity of header h is also h,
// h.valid and h.$valid$; stack element h[2] is also h$2.
func findKey(t *ir.Table, keys []*ir.Key, name string) (int, error) {
	name = stackElement.ReplaceAllString(name, "[$1]")
	var names []string
	var which []int
	for i, k := range keys {
		forms := []string{k.Name}
		for _, suffix := range []string{".isValid()", ".$valid$"} {
			if h, ok := strings.CutSuffix(k.Name, suffix); ok {
				forms = append(forms, h, h+".valid", h+".$valid$", h+".$valid")
			}
		}
		for _, f := range forms {
			names = append(names, f)
			which = append(which, i)
		}
	}
	i, err := resolve("key", name, names)
	if err != nil {
		return 0, fmt.Errorf("table %q: %w", t.FullName, err)
	}
	return which[i], nil
}

// call turns an action as written into one of the table's.
func call(t *ir.Table, a ActionCall) (*target.Action, error) {
	names := make([]string, len(t.Actions))
	for i, ta := range t.Actions {
		names[i] = ta.Action.FullName
	}
	i, err := resolve("action", a.Name, names)
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", t.FullName, err)
	}
	decl := t.Actions[i].Action
	out := &target.Action{Name: decl.FullName, Params: make([][]byte, len(decl.Params))}
	for n, arg := range a.Args {
		at := n
		if arg.Name != "" {
			at = slices.IndexFunc(decl.Params, func(v *ir.Var) bool { return v.PlaneName() == arg.Name })
		}
		if at < 0 || at >= len(decl.Params) {
			return nil, fmt.Errorf("action %q has no parameter for %q", decl.FullName, strings.TrimPrefix(arg.Name+":"+arg.Value, ":"))
		}
		width, _ := ir.ScalarBits(decl.Params[at].Type)
		if out.Params[at], err = number(arg.Value, width); err != nil {
			return nil, fmt.Errorf("action %q: parameter %q: %w", decl.FullName, decl.Params[at].PlaneName(), err)
		}
	}
	for i, p := range decl.Params {
		if out.Params[i] == nil {
			return nil, fmt.Errorf("action %q: no value for parameter %q", decl.FullName, p.PlaneName())
		}
	}
	return out, nil
}
