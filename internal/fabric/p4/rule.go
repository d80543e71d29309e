package p4

import (
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/service"
)

// library finds NFs by name.
type library map[string]service.NFInfo

func newLibrary(nfs []service.NFInfo) library {
	l := library{}
	for _, n := range nfs {
		l[n.Name] = n
	}
	return l
}

// maxEntriesOfRule bounds what the ranges of one rule may expand to.
const maxEntriesOfRule = 4096

// entries turns a rule of a scope into table entries: one, or several where ranges
// have to be expanded.
func (l library) entries(scope uint32, r service.Rule) ([]client.Entry, error) {
	n, ok := l[r.NF]
	if !ok {
		return nil, fmt.Errorf("no NF %q; there are %s", r.NF, strings.Join(sortedKeys(l), ", "))
	}
	t, err := ruleTable(n, r.Table)
	if err != nil {
		return nil, err
	}
	a, err := ruleAction(n, t, r.Action)
	if err != nil {
		return nil, err
	}
	params, err := ruleParams(n, t, a, r.Params)
	if err != nil {
		return nil, err
	}
	matches, prioritised, err := ruleMatches(n, t, r.Match)
	if err != nil {
		return nil, err
	}
	priority := 0
	if prioritised {
		if r.Priority < 0 || r.Priority >= 1<<30 {
			return nil, fmt.Errorf("NF %s: table %s: priority %d is not between 0 and %d", n.Name, t.Name, r.Priority, 1<<30-1)
		}
		priority = r.Priority + 1 // P4Runtime has no priority 0
	} else if r.Priority != 0 {
		return nil, fmt.Errorf("NF %s: table %s has exact and lpm keys only, a rule takes no priority", n.Name, t.Name)
	}
	action := a.Name
	if action != "NoAction" {
		action = n.Name + "." + action
	}
	var out []client.Entry
	for _, m := range matches {
		m[scopeKey] = exactly(number(uint64(scope)))
		out = append(out, client.Entry{Table: n.Name + "." + t.Name, Match: m, Priority: priority, Action: action, Params: params})
	}
	return out, nil
}

func ruleTable(n service.NFInfo, name string) (service.NFTable, error) {
	var names []string
	for _, t := range n.Tables {
		if t.Name == name || name == "" {
			return t, nil
		}
		names = append(names, t.Name)
	}
	if len(names) == 0 {
		return service.NFTable{}, fmt.Errorf("NF %s has no table", n.Name)
	}
	return service.NFTable{}, fmt.Errorf("NF %s: no table %q; it has %s", n.Name, name, strings.Join(names, ", "))
}

func ruleAction(n service.NFInfo, t service.NFTable, name string) (service.NFAction, error) {
	var names []string
	for _, a := range t.Actions {
		if a.Name == name {
			return a, nil
		}
		names = append(names, a.Name)
	}
	return service.NFAction{}, fmt.Errorf("NF %s: table %s: no action %q; it has %s", n.Name, t.Name, name, strings.Join(names, ", "))
}

func ruleParams(n service.NFInfo, t service.NFTable, a service.NFAction, given map[string]string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, p := range a.Params {
		text, ok := given[p.Name]
		if !ok {
			return nil, fmt.Errorf("NF %s: table %s: action %s needs the parameter %s", n.Name, t.Name, a.Name, p.Name)
		}
		v, err := parseValue(p.Name, text, p.Bits)
		if err != nil {
			return nil, fmt.Errorf("NF %s: table %s: action %s: %w", n.Name, t.Name, a.Name, err)
		}
		out[p.Name] = bytesOf(v)
	}
	for _, name := range sortedKeys(given) {
		if _, ok := out[name]; !ok {
			return nil, fmt.Errorf("NF %s: table %s: action %s has no parameter %q", n.Name, t.Name, a.Name, name)
		}
	}
	return out, nil
}

// ruleMatches returns the matches of the entries of a rule, and whether the table
// wants priorities.
func ruleMatches(n service.NFInfo, t service.NFTable, given map[string]string) ([]map[string]target.Match, bool, error) {
	out := []map[string]target.Match{{}}
	prioritised := false
	known := map[string]bool{}
	var names []string
	for _, k := range t.Keys {
		known[k.Name] = true
		names = append(names, k.Name)
		prioritised = prioritised || k.Match == "ternary" || k.Match == "range" || k.Match == "optional"
		ms, err := parseMatch(k, given[k.Name])
		if err != nil {
			return nil, false, fmt.Errorf("NF %s: table %s: %w", n.Name, t.Name, err)
		}
		if len(ms) == 1 && ms[0].Any {
			continue
		}
		if len(out)*len(ms) > maxEntriesOfRule {
			return nil, false, fmt.Errorf("NF %s: table %s: the ranges of the rule expand to more than %d entries", n.Name, t.Name, maxEntriesOfRule)
		}
		var product []map[string]target.Match
		for _, have := range out {
			for _, m := range ms {
				one := map[string]target.Match{k.Name: m}
				for name, v := range have {
					one[name] = v
				}
				product = append(product, one)
			}
		}
		out = product
	}
	for _, name := range sortedKeys(given) {
		if !known[name] {
			return nil, false, fmt.Errorf("NF %s: table %s: no key %q; it has %s", n.Name, t.Name, name, strings.Join(names, ", "))
		}
	}
	return out, prioritised, nil
}
