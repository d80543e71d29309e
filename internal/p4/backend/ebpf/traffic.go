package ebpf

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// The values of standard_metadata.instance_type, as the behavioural model has them.
const (
	normal       = 0
	ingressClone = 1
	egressClone  = 2
	recirculated = 4
	replicated   = 5
	resubmitted  = 6
)

// writeControls writes the functions of the controls but the deparser.
func (g *gen) writeControls() {
	for _, x := range []struct {
		c    *ir.Control
		name string
	}{
		{g.p.VerifyChecksum, "verify_checksum"}, {g.p.Ingress, "ingress"},
		{g.p.Egress, "egress"}, {g.p.ComputeChecksum, "compute_checksum"},
	} {
		for _, a := range x.c.Actions {
			g.writeAction(a)
		}
		for _, t := range x.c.Tables {
			g.writeApply(g.tables[t])
		}
		if g.split {
			g.writeDivided(x.c, x.name)
			continue
		}
		f := g.newFn()
		f.t.f("/* control %s */", x.c.Name)
		if x.c == g.p.Ingress {
			f.exit = g.leaveBlock()
			g.beginBlock(x.name)
			f.holdCells(x.c)
			f.block(x.c.Body)
			g.endBlock()
			continue
		}
		ret := "void"
		f.exit = "return;"
		if x.c == g.p.ComputeChecksum {
			ret, f.exit = "int", "return 0;"
		}
		f.t.f("static __always_inline %s %s(ctx_t *ctx, struct state *s)", ret, x.name)
		f.t.f("{")
		f.holdCells(x.c)
		f.block(x.c.Body) // a return leaves it
		if ret == "int" {
			f.t.f("return 0;")
		}
		f.t.f("}")
		f.t.f("")
	}
}

// writeMain writes the traffic manager and the program.
func (g *gen) writeMain() {
	t := &g.funcs
	if g.split {
		t.nowhere()
		g.maps.nowhere()
	}
	g.writeKept()
	if g.copies() {
		g.writeQueue()
	}
	g.writeTransmit()
	g.writeFinish()
	if g.copies() {
		g.writeRunJobs()
	}
	g.writePass()
	t.f("SEC(HOOK)")
	t.f("int %s(ctx_t *ctx)", ProgramName)
	t.f("{")
	t.f("u32 ifindex = IFINDEX(ctx);")
	t.f("struct port_in *in = bpf_map_lookup_elem(&ports_in, &ifindex);")
	t.f("if (!in)")
	t.f("\treturn VERDICT_NEXT; /* not one of ours */")
	if g.repeats() {
		if g.copiesRepeat() {
			t.f("#ifdef TARGET_TC")
			t.f("open_line();")
			t.f("#endif")
		}
		t.f("struct passes p = { .ctx = ctx, .port = in->port, .flags = in->flags, .verdict = VERDICT_DROP };")
		t.f("bpf_loop(MAX_PASSES, one_pass, &p, 0);")
		t.f("int verdict = p.verdict == AGAIN ? VERDICT_DROP : p.verdict;")
	} else {
		t.f("int verdict = pass(ctx, in->port, in->flags);")
	}
	if g.copiesLast() && !g.copiesRepeat() {
		t.f("#ifdef TARGET_TC")
		t.f("if (RARE(verdict == COPIES)) {")
		t.f("run_jobs(ctx, in->flags, 1);")
		t.f("return VERDICT_DROP;")
		t.f("}")
		t.f("#endif")
	}
	t.f("return verdict;")
	t.f("}")
	t.f("")
	t.f("char _license[] SEC(\"license\") = \"Dual MIT/GPL\";")
}

// writePass writes the way of a packet from the parser to its port.
func (g *gen) writePass() {
	f := g.newFn()
	t := f.t
	if g.repeats() {
		g.writePasses()
	}
	more := ""
	if g.repeats() {
		more = ", struct passes *p"
	}
	inline := "__always_inline"
	if g.copiesLast() && (!g.repeats() || g.copiesRepeat()) {
		inline = "__noinline" // its stack is free again when the copies are made
	}
	t.f("static %s int pass(ctx_t *ctx, u32 port, u32 flags%s)", inline, more)
	t.f("{")
	t.f("#ifdef STATE_IN_MAP")
	t.f("u32 zero = 0;")
	t.f("struct state *s = bpf_map_lookup_elem(&packet_state, &zero);")
	t.f("if (!s)")
	t.f("\treturn VERDICT_DROP;")
	t.f("clear_words((u64 *)s, sizeof(*s) / 8);")
	t.f("#else")
	t.f("struct state state = {};")
	t.f("struct state *s = &state;")
	t.f("#endif")
	t.f("if (prepare(ctx))")
	t.f("\treturn VERDICT_DROP;")
	t.f("#ifdef TEST_BUILD")
	t.f("s->length = wire_length(ctx) - (flags >> PORT_PAD_SHIFT);")
	t.f("#else")
	t.f("s->length = wire_length(ctx);")
	t.f("#endif")
	f.nowhere()
	f.setStd("ingress_port", "port")
	if g.repeats() {
		f.restoreLists()
	}
	f.setStd("packet_length", "s->length")
	g.setClock(f, "ingress_global_timestamp")
	t.f("parse(ctx, s);")
	t.f("if (s->failed)")
	t.f("\treturn VERDICT_DROP;")
	f.snapshot()
	if len(g.p.VerifyChecksum.Body.Body) > 0 {
		t.f("verify_checksum(ctx, s);")
	}
	t.f("ingress(ctx, s);")
	t.f("if (s->failed)")
	t.f("\treturn VERDICT_DROP;")
	if g.spec.Clones {
		f.cloneAtIngress()
	}
	if g.use.ops[ir.OpResubmit] {
		t.f("if (s->resubmit) {")
		if g.spec.Clones {
			f.runJobs(true)
		}
		t.f("return again(s, p, s->resubmit, %d);", resubmitted)
		t.f("}")
	}
	if g.copiesLast() {
		// There are two ways on from here, for each of which the verifier would tell sums of nothing from others.
		for _, s := range g.sums {
			t.f("FORGET(%s);", s.c())
		}
	}
	if g.spec.Multicast {
		t.f("if (%s)", g.std("mcast_grp"))
		t.f("\treturn replicate(ctx, s, flags);")
	}
	spec := g.std("egress_spec")
	if g.spec.Clones {
		t.f("if (%s == DROP_PORT) {", spec)
		f.runJobs(false)
		t.f("return VERDICT_DROP;")
		t.f("}")
	} else {
		t.f("if (%s == DROP_PORT)", spec)
		t.f("\treturn VERDICT_DROP;")
	}
	f.setStd("instance_type", fmt.Sprint(normal))
	t.f("u32 to = %s;", spec)
	if g.spec.Clones {
		f.finishAmongClones()
	} else {
		t.f("if (finish(ctx, s, to))")
		t.f("\treturn VERDICT_DROP;")
	}
	if g.use.ops[ir.OpRecirculate] && !g.spec.Clones {
		t.f("if (s->recirculate) {")
		if g.copiesRepeat() {
			f.waitTurn("take_turn()")
		}
		f.recirculate()
		t.f("}")
	}
	if g.copiesRepeat() {
		t.f("#ifdef TARGET_TC")
		t.f("if (turns_wait()) {")
		t.f("transmit(ctx, s, to, flags, 1);")
		t.f("return VERDICT_DROP;")
		t.f("}")
		t.f("#endif")
	}
	t.f("return transmit(ctx, s, to, flags, 0);")
	t.f("}")
	t.f("")
	if g.repeats() {
		t.f("static long one_pass(u32 i, struct passes *p)")
		t.f("{")
		t.f("p->verdict = pass(p->ctx, p->port, p->flags, p);")
		if g.copiesRepeat() {
			g.endPass(t)
		} else {
			t.f("return p->verdict != AGAIN;")
		}
		t.f("}")
		t.f("")
	}
}

// writeForget lets the verifier forget which way a packet took through the parser.
func (g *gen) writeForget(t *text) {
	for i := range (len(g.use.list) + 31) / 32 {
		t.f("FORGET(s->valid[%d]);", i)
	}
	moves := len(g.emitted) > 0
	for _, h := range g.use.list {
		used := moves || h.writes() || g.patched[h]
		for _, inc := range g.increments {
			for _, in := range inc.inputs {
				used = used || in.h == h
			}
		}
		if _, known := g.places[h]; known && g.stays {
			continue
		}
		if h.extracted && used {
			t.f("FORGET(%s.at);", h.path)
		}
	}
	if !g.stays || g.copies() || g.need["payload"] {
		t.f("FORGET(s->parsed);")
	}
}

// setClock sets a timestamp in microseconds if the program reads it.
func (g *gen) setClock(f *fn, field string) {
	if p := g.std(field); p != "" && g.use.read[p] {
		f.t.f("%s = bpf_ktime_get_ns() / 1000;", p)
	}
}

// writePrepare writes what makes a packet's headers accessible.
func (g *gen) writePrepare() {
	t := &g.funcs
	t.f("/* makes the headers lie in one piece, a VLAN tag among them */")
	t.f("static __always_inline int prepare(ctx_t *ctx)")
	t.f("{")
	t.f("#ifdef TARGET_TC")
	t.f("if (ctx->vlan_present && restore_vlan(ctx))")
	t.f("\treturn -1;")
	t.f("u64 want = ctx->len < %d ? ctx->len : %d;", g.pull, g.pull)
	t.f("if ((void *)(long)ctx->data + want > (void *)(long)ctx->data_end)")
	t.f("\treturn bpf_skb_pull_data(ctx, want);")
	t.f("#endif")
	t.f("return 0;")
	t.f("}")
	t.f("")
}

// writeFinish writes egress and all behind it, up to the finished packet. Where packets
// with clones are recirculated there are two functions, between which the clones are
// made: they need the packet as it came.
func (g *gen) writeFinish() {
	f := g.newFn()
	t := f.t
	begin := func(name, params string) {
		if g.shared { // by the packet and its copies
			f.beginGlobal("int", name, params)
			if params != "" {
				t.f(`asm volatile("" : "+r"(port));`)
			}
			return
		}
		t.f("static __always_inline int %s(ctx_t *ctx, struct state *s%s)", name, params)
		t.f("{")
	}
	if g.halves() {
		t.f("/* egress: 0, or -1 if the packet is dropped */")
		begin("leave", ", u32 port")
		g.writeEgress(f)
		t.f("return 0;")
		t.f("}")
		t.f("")
		t.f("/* checksums and deparser: 0, or -1 if the packet is dropped */")
		begin("build", "")
	} else {
		t.f("/* egress, checksums and deparser: 0, or -1 if the packet is dropped */")
		begin("finish", ", u32 port")
		g.writeEgress(f)
	}
	if g.stays {
		for i := range g.writtenWords() {
			t.f("FORGET(s->written[%d]);", i)
		}
	}
	t.f("if (compute_checksum(ctx, s) || deparse(ctx, s))")
	t.f("\treturn -1;")
	if g.patchesLate() {
		t.f("patch(ctx, s);")
	}
	t.f("return 0;")
	t.f("}")
	t.f("")
	if g.halves() {
		t.f("#define finish(ctx, s, port) (leave(ctx, s, port) || build(ctx, s))")
		t.f("")
	}
}

// halves tells whether egress and deparser are functions of their own.
func (g *gen) halves() bool { return g.spec.Clones && g.use.ops[ir.OpRecirculate] }

// writeEgress writes egress and what goes with it.
func (g *gen) writeEgress(f *fn) {
	t := f.t
	f.setStd("egress_port", "port")
	f.setStd("egress_spec", "0")
	f.setStd("packet_length", "s->length")
	g.setClock(f, "enq_timestamp")
	g.setClock(f, "egress_global_timestamp")
	if g.use.ops[ir.OpRecirculate] {
		t.f("s->recirculate = 0; /* what ingress asks for is not heard */")
	}
	if len(g.p.Egress.Body.Body) == 0 {
		return
	}
	t.f("egress(ctx, s);")
	if g.spec.Clones {
		t.f("#ifdef TARGET_TC")
		t.f("if (s->clone && !s->failed)")
		t.f("\tclone_egress(ctx, s);")
		t.f("#endif")
	}
	t.f("if (s->failed || %s == DROP_PORT)", g.std("egress_spec"))
	t.f("\treturn -1;")
}

// writeTransmit writes what sends the finished packet to a port.
func (g *gen) writeTransmit() {
	t := &g.funcs
	t.f("/* copy: the packet is still needed afterwards */")
	t.f("static __always_inline int transmit(ctx_t *ctx, struct state *s, u32 port, u32 flags, int copy)")
	t.f("{")
	t.f("struct port_out *out = bpf_map_lookup_elem(&ports_out, &port);")
	t.f("if (!out)")
	t.f("\treturn VERDICT_DROP;")
	t.f("if (out->flags & PORT_TO_RING) {")
	t.f("u32 len = wire_length(ctx);")
	t.f("#ifdef TEST_BUILD")
	t.f("len -= flags >> PORT_PAD_SHIFT;")
	t.f("#endif")
	cuts := g.use.ops[ir.OpTruncate] || g.spec.Clones
	if cuts {
		t.f("if (s->truncate && s->truncate - 1 < len)")
		t.f("\tlen = s->truncate - 1;")
	}
	t.f("return to_ring(ctx, port, len);")
	t.f("}")
	t.f("if (!out->ifindex)")
	t.f("\treturn VERDICT_DROP; /* no such port */")
	if cuts {
		t.f("if (s->truncate && s->truncate - 1 < wire_length(ctx)) {")
		if g.copies() {
			t.f("#ifdef TARGET_TC")
			t.f("if (copy)")
			t.f("\treturn send_cut(ctx, out->ifindex, s->truncate - 1);")
			t.f("#endif")
		}
		t.f("#ifdef TARGET_XDP")
		t.f("if (bpf_xdp_adjust_tail(ctx, (int)(s->truncate - 1) - (int)wire_length(ctx)))")
		t.f("#else")
		t.f("if (bpf_skb_change_tail(ctx, s->truncate - 1, 0))")
		t.f("#endif")
		t.f("\treturn VERDICT_DROP;")
		t.f("}")
	}
	t.f("#ifdef TARGET_TC")
	t.f("if (copy || flags & PORT_INJECT) {")
	t.f("bpf_clone_redirect(ctx, out->ifindex, 0);")
	t.f("return VERDICT_DROP;")
	t.f("}")
	t.f("if (out->flags & PORT_PEER)")
	t.f("\treturn bpf_redirect_peer(out->ifindex, 0);")
	t.f("#endif")
	t.f("return bpf_redirect(out->ifindex, 0);")
	t.f("}")
	t.f("")
}
