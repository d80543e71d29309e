package orch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/service"
)

// checkChains checks the chains of a service against the NF library, by names:
// that requests parse, that NFs, tables, keys, actions and parameters exist, that
// paths do. Every problem has its place, down to the character of a request.
// Whether values fit is for the fabric to say.
func checkChains(s *service.Service, nfs []service.NFInfo) []service.Problem {
	c := &chainChecker{nfs: map[string]service.NFInfo{}}
	for _, nf := range nfs {
		c.nfs[nf.Name] = nf
		c.names = append(c.names, nf.Name)
	}
	slices.Sort(c.names)
	for i, ch := range s.Chains {
		c.chain(fmt.Sprintf("chains[%d]", i), ch)
	}
	c.rules("rules", fmt.Sprintf("service %q", s.Name), s.Rules, nil)
	return c.problems
}

type chainChecker struct {
	nfs      map[string]service.NFInfo
	names    []string // sorted
	problems []service.Problem
}

func (c *chainChecker) add(path string, offset int, format string, args ...any) {
	c.problems = append(c.problems, service.Problem{Path: path, Code: service.CodeChain, Offset: offset, Message: fmt.Sprintf(format, args...)})
}

func (c *chainChecker) chain(path string, ch service.Chain) {
	what := fmt.Sprintf("chain %q", ch.Name)
	dags, err := chain.Parse(ch.Request, chain.Options{File: ch.Name})
	var malformed chain.Problems
	switch {
	case errors.As(err, &malformed):
		for _, p := range malformed {
			text := p.Msg
			for _, n := range p.Notes {
				text += "; " + n
			}
			c.add(path+".request", p.Pos.Offset, "%s: %s", what, text)
		}
		return
	case err != nil:
		c.add(path+".request", 0, "%s: %v", what, err)
		return
	case len(dags) != 1:
		c.add(path+".request", 0, "%s: %d requests; a chain is one", what, len(dags))
		return
	}
	visited := map[string]bool{}
	for _, nf := range dags[0].NFs {
		visited[nf.Name] = true
		if _, ok := c.nfs[nf.Name]; !ok {
			c.add(path+".request", nf.Pos.Offset, "%s: unknown NF %q; the library has %s", what, nf.Name, strings.Join(c.names, ", "))
		}
	}
	paths := len(dags[0].Paths())
	if ch.Path > paths {
		c.add(path+".path", 0, "%s has %d paths, but no path %d", what, paths, ch.Path)
	}
	for i, m := range ch.Match {
		if m.Path > paths {
			c.add(fmt.Sprintf("%s.match[%d].path", path, i), 0, "%s has %d paths, but no path %d", what, paths, m.Path)
		}
	}
	c.rules(path+".rules", what, ch.Rules, visited)
}

// rules checks names in rules. visited are the NFs that the rules can be for;
// nil: any.
func (c *chainChecker) rules(path, what string, rules []service.Rule, visited map[string]bool) {
	for i, r := range rules {
		p := fmt.Sprintf("%s[%d]", path, i)
		nf, ok := c.nfs[r.NF]
		if !ok {
			c.add(p+".nf", 0, "%s: unknown NF %q; the library has %s", what, r.NF, strings.Join(c.names, ", "))
			continue
		}
		if visited != nil && !visited[r.NF] {
			c.add(p+".nf", 0, "%s does not visit NF %q, so the rule would never be used", what, r.NF)
		}
		t, ok := tableOf(nf, r.Table)
		if !ok {
			c.add(p+".table", 0, "%s: NF %s has no table %q; it has %s", what, nf.Name, r.Table, list(nf.Tables, func(t service.NFTable) string { return t.Name }))
			continue
		}
		keys := func(k service.NFKey) string { return k.Name }
		for _, k := range sortedNames(r.Match) {
			if !slices.ContainsFunc(t.Keys, func(o service.NFKey) bool { return o.Name == k }) {
				c.add(p+".match."+k, 0, "%s: table %s of NF %s has no key %q; it has %s", what, t.Name, nf.Name, k, list(t.Keys, keys))
			}
		}
		j := slices.IndexFunc(t.Actions, func(a service.NFAction) bool { return a.Name == r.Action })
		if j < 0 {
			c.add(p+".action", 0, "%s: table %s of NF %s has no action %q; it has %s", what, t.Name, nf.Name, r.Action, list(t.Actions, func(a service.NFAction) string { return a.Name }))
			continue
		}
		params := t.Actions[j].Params
		name := func(q service.NFParam) string { return q.Name }
		for _, k := range sortedNames(r.Params) {
			if !slices.ContainsFunc(params, func(o service.NFParam) bool { return o.Name == k }) {
				c.add(p+".params."+k, 0, "%s: action %s of NF %s has no parameter %q; it has %s", what, r.Action, nf.Name, k, list(params, name))
			}
		}
		for _, q := range params {
			if _, ok := r.Params[q.Name]; !ok {
				c.add(p+".action", 0, "%s: action %s of NF %s needs the parameter %q", what, r.Action, nf.Name, q.Name)
			}
		}
	}
}

// tableOf finds a table; "" is the NF's first.
func tableOf(nf service.NFInfo, name string) (service.NFTable, bool) {
	if name == "" && len(nf.Tables) > 0 {
		return nf.Tables[0], true
	}
	i := slices.IndexFunc(nf.Tables, func(t service.NFTable) bool { return t.Name == name })
	if i < 0 {
		return service.NFTable{}, false
	}
	return nf.Tables[i], true
}

// list gives names for a message.
func list[T any](items []T, name func(T) string) string {
	if len(items) == 0 {
		return "none"
	}
	names := make([]string, len(items))
	for i, it := range items {
		names[i] = name(it)
	}
	return strings.Join(names, ", ")
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
