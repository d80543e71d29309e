package ebpf

import (
	_ "embed"
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

//go:embed prelude_copies.h
var preludeCopies string

// maxJobs is how many clones a packet and its copies ask for at most; more are not
// made.
const maxJobs = 64

// copies tells whether the program makes copies of packets.
func (g *gen) copies() bool { return g.spec.Multicast || g.spec.Clones }

// copiesLast tells whether nothing is done to a packet behind its copies: they are made when the way of the packet
// itself has ended, so that the two do not need the stack together.
func (g *gen) copiesLast() bool { return g.spec.Multicast && !g.spec.Clones }

// declareCopies declares the maps of multicast groups and clone sessions.
func (g *gen) declareCopies() {
	mcast := g.std("mcast_grp")
	g.spec.Multicast = mcast != "" && g.use.dirty[mcast]
	g.spec.Clones = g.use.ops[ir.OpClone] || g.use.ops[ir.OpClonePreserving]
	if !g.copies() {
		return
	}
	t := &g.maps
	t.f("struct replicas {")
	t.f("u32 n;")
	t.f("struct {")
	t.f("u16 port;")
	t.f("u16 instance;")
	t.f("} r[MAX_REPLICAS];")
	t.f("};")
	if g.spec.Multicast {
		g.declareMap(MapMulticast, "HASH", 4096, "u32", "struct replicas", "BPF_F_NO_PREALLOC")
		g.spec.MapKeys[MapMulticast] = "multicast 1"
		g.spec.Targets[XDP] = "it multicasts packets, and XDP cannot copy a packet"
	}
	if g.spec.Clones {
		t.f("struct session {")
		t.f("u32 truncate; /* bytes, 0: whole */")
		t.f("struct replicas to;")
		t.f("};")
		g.declareMap(MapClones, "HASH", 4096, "u32", "struct session", "BPF_F_NO_PREALLOC")
		g.spec.MapKeys[MapClones] = "clones 1"
		g.spec.Targets[XDP] = "it clones packets, and XDP cannot copy a packet"
	}
	t.f("")
}

// clone notes that a block wants a clone. The last request of a block counts.
func (f *fn) clone(s *ir.Call) {
	list := "0"
	if s.Op == ir.OpClonePreserving {
		list = f.g.listIndex(s, s.Args[2]) + " + 1"
	}
	v := f.resize(f.expr(s.Args[1]), 32, false)
	f.t.f("s->clone = 1;")
	f.t.f("s->session = %s;", v.one())
	f.t.f("s->clone_list = %s;", list)
}

// writeQueue writes the queue of copies.
func (g *gen) writeQueue() {
	g.need["scratch"] = true
	t := &g.funcs
	jobs := 1
	if g.spec.Clones {
		jobs = maxJobs
	}
	t.f("#ifdef TARGET_TC")
	t.f("#define MAX_JOBS %d", jobs)
	if g.copiesLast() {
		t.f("#define COPIES (-101) /* no verdict: there are copies to make */")
	}
	t.f("")
	g.writeTurns()
	t.b.WriteString(preludeCopies)
	t.f("")
	if g.spec.Clones {
		g.writeForgetMetadata()
		g.writeCloneEgress()
	}
	t.f("#endif")
	t.f("")
}

// writeKept declares what clones and packets that start again keep of the metadata: a member for each field list in use.
func (g *gen) writeKept() {
	if !g.copies() && !g.repeats() {
		return
	}
	t := &g.funcs
	t.f("/* what clones and packets that start again keep of the metadata */")
	t.f("struct kept {")
	for _, n := range g.sortedLists() {
		list := g.fieldList(n)
		if len(list) == 0 {
			continue
		}
		t.f("struct {")
		for i, k := range list {
			t.f("%s; /* %s */", g.declare(k.typ, fmt.Sprintf("f%d", i)), k.path[len("s->"):])
		}
		t.f("} list%s;", n)
	}
	t.f("};")
	t.f("")
}

// copyLists copies what a list marks between the state and the struct with the lists
// that kept leads to; list is the C expression of its number, plus one.
func (f *fn) copyLists(list, kept string, save bool) {
	for _, n := range f.g.sortedLists() {
		fields := f.g.fieldList(n)
		if len(fields) == 0 {
			continue
		}
		f.t.f("if (%s == %s + 1) {", list, n)
		for i, k := range fields {
			from, to := k.path, fmt.Sprintf("%slist%s.f%d", kept, n, i)
			if !save {
				from, to = to, from
			}
			f.set(to, pathValue(from, width(k.typ)))
		}
		f.t.f("}")
	}
}

// writeForgetMetadata writes what makes the metadata of a clone zero.
func (g *gen) writeForgetMetadata() {
	f := g.newFn()
	t := f.t
	t.f("static __always_inline void forget_metadata(struct state *s)")
	t.f("{")
	f.clear(g.p.Meta.Type, g.vars[g.p.Meta])
	f.clear(g.p.Std.Type, g.vars[g.p.Std])
	t.f("s->clone = s->queued = 0;")
	if g.repeats() {
		t.f("s->resubmit = s->recirculate = 0;")
	}
	for i := range g.colours {
		t.f("s->colour%d = 0;", i)
	}
	t.f("}")
	t.f("")
}

// writeCloneEgress writes what queues a clone that egress asked for: the packet with
// the headers that it has then.
func (g *gen) writeCloneEgress() {
	f := g.newFn()
	t := f.t
	t.f("static __always_inline void clone_egress(ctx_t *ctx, struct state *s)")
	t.f("{")
	t.f("u32 id = s->session;")
	t.f("struct session *to = bpf_map_lookup_elem(&clones, &id);")
	t.f("if (!to || open_queue(ctx, !s->queued, s->parsed))")
	t.f("\treturn;")
	t.f("struct queue *q = the_queue();")
	t.f("if (!q)")
	t.f("\treturn;")
	t.f("struct job *j = add_job(q, 1, id, to->truncate ? to->truncate + 1 : 0);")
	t.f("if (!j)")
	t.f("\treturn;")
	t.f("s->queued = 1;")
	f.saveState()
	f.copyLists("s->clone_list", "q->kept.", true)
	t.f("u32 list = s->clone_list;")
	t.f("s = &j->before;")
	t.f("forget_metadata(s);")
	for _, v := range g.p.Egress.Locals { // egress begins anew
		f.clear(v.Type, g.vars[v])
	}
	f.copyLists("list", "q->kept.", false)
	f.setStd("instance_type", fmt.Sprint(egressClone))
	t.f("}")
	t.f("")
}

// saveState copies the state at hand to job j.
func (f *fn) saveState() {
	f.t.f("#ifdef STATE_IN_MAP")
	f.t.f("copy_words((u64 *)&j->before, (u64 *)s, sizeof(*s) / 8);")
	f.t.f("#else")
	f.t.f("copy_state(&j->before, s);")
	f.t.f("#endif")
}

// writeRunJobs writes the work on the queue, behind the functions for one copy.
func (g *gen) writeRunJobs() {
	f := g.newFn()
	t := f.t
	t.f("#ifdef TARGET_TC")
	if g.spec.Clones {
		t.f("struct pick {")
		t.f("struct queue *q;")
		t.f("u32 most;")
		t.f("u32 job;")
		t.f("};")
		t.f("")
		t.f("static long pick_job(u32 i, struct pick *p)")
		t.f("{")
		t.f("if (i >= MAX_JOBS)")
		t.f("\treturn 1;")
		t.f("if (p->q->cut[i] > p->most) {")
		t.f("p->most = p->q->cut[i];")
		t.f("p->job = i;")
		t.f("}")
		t.f("return 0;")
		t.f("}")
		t.f("")
	}
	t.f("struct work {")
	t.f("ctx_t *ctx;")
	t.f("struct queue *q;")
	t.f("u32 flags;")
	t.f("u32 all; /* the jobs that cut the packet, too */")
	t.f("};")
	t.f("")
	t.f("/* the next job: 0, or 1 if there is none */")
	t.f("static __always_inline int next_job(struct work *w)")
	t.f("{")
	t.f("struct queue *q = w->q;")
	t.f("if (q->at < q->n) {")
	t.f("u32 at = q->at++;")
	t.f("asm volatile(\"\" : \"+r\"(at));")
	t.f("if (at < MAX_JOBS && !q->cut[at])")
	t.f("\tq->job = at;")
	t.f("return 0;")
	t.f("}")
	if g.spec.Clones {
		t.f("if (!q->waiting || !w->all)")
		t.f("\treturn 1;")
		t.f("/* the longest first: what it leaves is enough for the others */")
		t.f("struct pick p = { .q = q };")
		t.f("u32 n = q->n;")
		t.f("bpf_loop(n, pick_job, &p, 0);")
		t.f("if (!p.most || p.job >= MAX_JOBS)")
		t.f("\treturn 1;")
		t.f("q->waiting--;")
		t.f("q->cut[p.job] = 0;")
		t.f("q->job = p.job;")
		t.f("return 0;")
	} else {
		t.f("return 1;")
	}
	t.f("}")
	t.f("")
	t.f("static long one_copy(u32 i, struct work *w)")
	t.f("{")
	t.f("ctx_t *ctx = w->ctx;")
	t.f("struct queue *q = w->q;")
	t.f("struct state *s = &q->now;")
	t.f("u32 number = q->job;")
	t.f("if (number == NO_JOB) {")
	t.f("q->next = 0;")
	t.f("return next_job(w);")
	t.f("}")
	t.f("struct job *j = bpf_map_lookup_elem(&jobs, &number);")
	t.f("if (!j)")
	t.f("\treturn 1;")
	t.f("struct replicas *to = 0;")
	t.f("u32 id = j->id;")
	if g.spec.Clones {
		t.f("if (j->clone) {")
		t.f("struct session *x = bpf_map_lookup_elem(&clones, &id);")
		t.f("if (x) {")
		t.f("asm volatile(\"\" : \"+r\"(x)); /* clang would add to it before the test, which the verifier refuses */")
		t.f("to = &x->to;")
		t.f("}")
		t.f("}")
	}
	if g.spec.Multicast {
		t.f("if (!j->clone)")
		t.f("\tto = bpf_map_lookup_elem(&multicast, &id);")
	}
	t.f("u32 k = q->next++;")
	t.f("if (!to || k >= to->n || k >= MAX_REPLICAS || (q->spoiled && !j->cut)) {")
	t.f("q->job = NO_JOB;")
	t.f("return 0;")
	t.f("}")
	t.f("u32 port = to->r[k].port;")
	t.f("u32 instance = to->r[k].instance;")
	t.f("copy_words((u64 *)s, (u64 *)&j->before, sizeof(*s) / 8);")
	f.setStd("egress_rid", "instance")
	if g.spec.Clones {
		t.f("s->queued = 1;")
		t.f("if (j->clone)")
		t.f("\ts->truncate = j->cut;")
	}
	t.f("u32 parsed = s->parsed;")
	t.f("if (!finish(ctx, s, port)) {")
	if g.copiesRepeat() {
		t.f("if (s->recirculate)")
		t.f("\tcome_again(ctx, s, take_turn(), w->flags);")
		t.f("else")
	}
	t.f("transmit(ctx, s, port, w->flags, 1);")
	t.f("}")
	t.f("return put_back(ctx, parsed) ? 1 : 0;")
	t.f("}")
	t.f("")
	t.f("/* makes the copies; without all, not those that cut the packet. How many jobs are left, or -1 */")
	how := "__noinline"
	if g.split {
		how = "static __always_inline" // the kernel counts frames, of which divided programs have many
	}
	t.f("%s int run_jobs(ctx_t *ctx, u32 flags, u32 all)", how)
	t.f("{")
	t.f("struct work w = { .ctx = ctx, .q = the_queue(), .flags = flags, .all = all };")
	t.f("u32 zero = 0;")
	t.f("struct scratch *x = bpf_map_lookup_elem(&scratch, &zero);")
	t.f("if (!w.q || !x)")
	t.f("\treturn -1;")
	t.f("bpf_loop(MAX_JOBS * (MAX_REPLICAS + 3), one_copy, &w, 0);")
	t.f("x->exact = w.q->waiting != 0;")
	t.f("return w.q->spoiled ? -1 : w.q->waiting;")
	t.f("}")
	t.f("")
	if g.spec.Multicast {
		g.writeReplicate()
	}
	if g.spec.Clones {
		g.writeCloneIngress()
	}
	t.f("#endif")
	t.f("")
}

// writeReplicate writes multicast.
func (g *gen) writeReplicate() {
	f := g.newFn()
	t := f.t
	first := "1"
	if g.spec.Clones {
		first = "!s->queued"
	}
	t.f("static __always_inline int replicate(ctx_t *ctx, struct state *s, u32 flags)")
	t.f("{")
	t.f("if (open_queue(ctx, %s, s->parsed))", first)
	t.f("\treturn VERDICT_DROP;")
	t.f("struct queue *q = the_queue();")
	t.f("if (!q)")
	t.f("\treturn VERDICT_DROP;")
	t.f("struct job *j = add_job(q, 0, %s, 0);", g.std("mcast_grp"))
	t.f("if (!j)")
	t.f("\treturn VERDICT_DROP;")
	f.setStd("instance_type", fmt.Sprint(replicated))
	f.saveState()
	if g.copiesLast() {
		t.f("return COPIES;")
	} else {
		t.f("run_jobs(ctx, flags, 1);")
		t.f("return VERDICT_DROP;")
	}
	t.f("}")
	t.f("")
}

// writeCloneIngress writes what queues a clone that ingress asked for: the packet as it
// came, parsed again.
func (g *gen) writeCloneIngress() {
	f := g.newFn()
	t := f.t
	t.f("__noinline int clone_ingress(ctx_t *ctx, u32 port, u32 length, u32 id, u32 list)")
	t.f("{")
	t.f("/* Of what nothing reads, clang would pass nothing, which the verifier refuses. */")
	t.f("asm volatile(\"\" : : \"r\"(port), \"r\"(length), \"r\"(list));")
	t.f("struct queue *q = the_queue();")
	t.f("struct session *to = bpf_map_lookup_elem(&clones, &id);")
	t.f("if (!to || !q)")
	t.f("\treturn 0;")
	t.f("struct job *j = add_job(q, 1, id, to->truncate ? to->truncate + 1 : 0);")
	t.f("if (!j)")
	t.f("\treturn 0;")
	t.f("struct state *s = &j->before;")
	t.f("clear_words((u64 *)s, sizeof(*s) / 8);")
	t.f("s->length = length;")
	f.nowhere()
	f.setStd("ingress_port", "port")
	f.setStd("packet_length", "s->length")
	f.setStd("instance_type", fmt.Sprint(ingressClone))
	t.f("parse(ctx, s);")
	t.f("if (s->failed || open_queue(ctx, 0, s->parsed)) {")
	t.f("q->n = q->waiting = 0; /* it was the first */")
	t.f("return 0;")
	t.f("}")
	f.snapshot()
	t.f("forget_metadata(s);")
	f.copyLists("list", "q->kept.", false)
	f.setStd("instance_type", fmt.Sprint(ingressClone))
	t.f("return 1;")
	t.f("}")
	t.f("")
}

// cloneAtIngress queues the clone that ingress asked for.
func (f *fn) cloneAtIngress() {
	t := f.t
	t.f("#ifdef TARGET_TC")
	t.f("if (s->clone) {")
	t.f("s->clone = 0;")
	t.f("u32 id = s->session;")
	t.f("if (bpf_map_lookup_elem(&clones, &id)) {")
	t.f("struct queue *q = the_queue();")
	t.f("if (!q || open_queue(ctx, 1, s->parsed))")
	t.f("\treturn VERDICT_DROP;")
	f.copyLists("s->clone_list", "q->kept.", true)
	t.f("s->queued = clone_ingress(ctx, port, s->length, s->session, s->clone_list);")
	t.f("}")
	t.f("}")
	t.f("#endif")
}

// runJobs makes the copies that were asked for before the packet itself goes on. A
// packet that has to be complete afterwards is dropped if it is not.
func (f *fn) runJobs(complete bool) {
	t := f.t
	t.f("#ifdef TARGET_TC")
	if complete {
		t.f("if (s->queued && run_jobs(ctx, flags, 1) < 0)")
		t.f("\treturn VERDICT_DROP;")
	} else {
		t.f("if (s->queued)")
		t.f("\trun_jobs(ctx, flags, 1);")
	}
	t.f("#endif")
}

// finishAmongClones finishes the packet itself: between the clones that do not cut it
// and those that do, which come last.
func (f *fn) finishAmongClones() {
	t := f.t
	t.f("#ifdef TARGET_TC")
	t.f("if (s->queued) {")
	t.f("int left = run_jobs(ctx, flags, 0);")
	t.f("if (left < 0)")
	t.f("\treturn VERDICT_DROP;")
	t.f("s->queued = left > 0;")
	t.f("}")
	t.f("#endif")
	if f.g.halves() {
		t.f("int dropped = leave(ctx, s, to);")
		t.f("if (!dropped && s->recirculate) {")
		f.recirculateAmongCopies()
		t.f("}")
		t.f("dropped = dropped || build(ctx, s);")
	} else {
		t.f("int dropped = finish(ctx, s, to);")
	}
	t.f("#ifdef TARGET_TC")
	t.f("if (s->queued) {")
	t.f("if (!dropped)")
	t.f("\ttransmit(ctx, s, to, flags, 1);")
	t.f("if (!put_back(ctx, s->parsed))")
	t.f("\trun_jobs(ctx, flags, 1);")
	t.f("return VERDICT_DROP;")
	t.f("}")
	t.f("#endif")
	t.f("if (dropped)")
	t.f("\treturn VERDICT_DROP;")
}

// nowhere notes that headers that may become valid were not in the packet.
func (f *fn) nowhere() {
	for _, h := range f.g.use.list {
		if h.fresh() {
			f.t.f("%s.at = NOWHERE;", h.path)
		}
	}
}

// snapshot is what follows the parser.
func (f *fn) snapshot() {
	f.g.writeForget(f.t)
	for i, in := range f.g.snapshots() {
		f.t.f("s->old%d = %s;", i, in.path)
	}
}
