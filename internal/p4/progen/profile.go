package progen

import (
	"fmt"
	"strings"
)

// profile is an action profile or selector of one table.
type profile struct {
	full     string
	table    *table
	selector bool
}

// declareProfile makes the declaration of a profile or selector for a table that is to be declared, and gives the table
// what feeds a selector's hash.
func (g *gen) declareProfile(t *table) (declaration, keys *Node) {
	name := g.fresh("prof")
	t.profile = &profile{full: strings.ToUpper(g.s.control) + "." + name, table: t, selector: g.one(2)}
	g.profiles = append(g.profiles, t.profile)
	if !t.profile.selector {
		return text("", "    action_profile(16) "+name+";\n"), list()
	}
	algorithm := pick(g.Choices, []string{"crc16", "crc32", "identity", "csum16", "xor16"})
	var ks []*Node
	for range g.between(1, 3) {
		ks = append(ks, text("", "            ¤ : selector @name(\""+g.fresh("k")+"\");\n", g.expr(bitType(pick(g.Choices, []int{8, 16, 32, 48, 4, 9})), 1)))
	}
	return text("", fmt.Sprintf("    action_selector(HashAlgorithm.%s, 16, %d) %s;\n", algorithm, pick(g.Choices, []int{14, 10, 16, 4}), name)), list(ks...)
}

// profileMembers and profileGroups are how many a script makes of each, numbered from 1.
const (
	profileMembers = 3
	profileGroups  = 2
)

// members are what a script puts into a profile.
func (g *gen) members(p *profile) []string {
	if len(p.table.actions) == 0 {
		return nil
	}
	var out []string
	for i := range profileMembers {
		out = append(out, fmt.Sprintf("member_add %s %d %s", p.full, i+1, g.call1(pick(g.Choices, p.table.actions))))
	}
	if !p.selector {
		return out
	}
	for i := range profileGroups {
		line := fmt.Sprintf("group_add %s %d", p.full, i+1)
		for m := range profileMembers {
			if m == 0 || g.one(2) {
				line += fmt.Sprintf(" %d*%d", m+1, g.between(1, 3))
			}
		}
		out = append(out, line)
	}
	return out
}

// choice is what an entry of the table does.
func (p *profile) choice(g *gen) string {
	if p.selector && g.one(2) {
		return fmt.Sprintf("group(%d)", g.between(1, profileGroups))
	}
	return fmt.Sprintf("member(%d)", g.between(1, profileMembers))
}
