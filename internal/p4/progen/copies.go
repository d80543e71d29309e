package progen

import "fmt"

// copying says what a program does that makes copies of packets or sends them round.
type copying struct {
	on     bool
	rounds int  // how often a packet starts again
	cut    bool // there is a clone session that cuts packets, and so no order between copies
}

// decideCopies decides on it before anything is declared.
func (g *gen) decideCopies() {
	g.copies = copying{on: g.one(2), rounds: 1, cut: g.one(5)}
	if g.one(3) {
		g.copies.rounds = 2
	}
}

// The replication that scripts set up: sessions and groups of one copy, or of two where packets do not
// start again often enough to have too many copies for the kernel.
const (
	oneSession = 5
	twoSession = 6
	cutSession = 7
	noSession  = 8
)

func (g *gen) session() int {
	s := []int{oneSession, oneSession, noSession}
	if g.copies.rounds == 1 {
		s = append(s, twoSession, twoSession)
	}
	if g.copies.cut {
		s = append(s, cutSession, cutSession)
	}
	return pick(g.Choices, s)
}

// replication is what the script does for the sessions and groups.
func (g *gen) replication() []string {
	group := "mc_node_create 3 2 4"
	if g.copies.rounds > 1 {
		group = "mc_node_create 3 2"
	}
	return []string{
		fmt.Sprintf("mirroring_add %d 9", oneSession), "mc_mgrp_create 1", group, "mc_node_associate 1 0",
		"mc_mgrp_create 2", "mc_node_create 7 6 8", "mc_node_associate 2 1",
		fmt.Sprintf("mirroring_add_mc %d 2", twoSession), fmt.Sprintf("mirroring_add_cut %d 10 %d", cutSession, g.between(1, 40)),
	}
}

// again is a statement of ingress or egress that makes copies or sends the packet round; nil elsewhere. What starts again
// keeps meta.rounds or had none, and clones have no clones of the same kind, so that all packets end.
func (g *gen) again() *Node {
	if !g.copies.on || g.s.ret != nil || g.s.pure > 0 {
		return nil
	}
	cond := g.expr(boolType, 1)
	list := g.between(1, 2)
	stmt := func(format string, args ...any) *Node {
		return text("stmt", "        if (¤ && "+fmt.Sprintf(format, args...)+"\n", cond)
	}
	switch g.s.control {
	case "ig":
		switch g.n(7) {
		case 0, 1:
			return stmt("meta.rounds < %d) { sm.mcast_grp = %d; }", g.between(1, 3), g.between(0, 3)%3)
		case 2:
			return stmt("meta.rounds < %d) { meta.rounds = meta.rounds + 1; resubmit_preserving_field_list(%d); }", g.copies.rounds, list)
		case 3, 4:
			return stmt("meta.rounds < %d) { clone_preserving_field_list(CloneType.I2E, %d, %d); }", g.copies.rounds, g.session(), list)
		case 5:
			return stmt("sm.instance_type == 0 && meta.rounds == 0) { clone(CloneType.I2E, %d); }", g.session())
		}
	case "eg":
		switch g.n(7) {
		case 0, 1, 2:
			return stmt("meta.rounds < %d) { meta.rounds = meta.rounds + 1; recirculate_preserving_field_list(%d); }", g.copies.rounds, list)
		case 3, 4:
			return stmt("sm.instance_type != 2 && meta.rounds < %d) { clone_preserving_field_list(CloneType.E2E, %d, %d); }", g.copies.rounds, g.session(), list)
		case 5:
			return stmt("sm.instance_type == 0 && meta.rounds == 0) { clone(CloneType.E2E, %d); }", g.session())
		}
	default:
		return nil
	}
	return text("stmt", "        truncate(¤ | 32);\n", g.leaf(bitType(32)))
}
