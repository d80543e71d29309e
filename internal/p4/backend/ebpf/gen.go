package ebpf

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// Unsupported is the code of diagnostics for what this target cannot do.
const Unsupported diag.Code = "ebpf/unsupported"

//go:embed prelude.h
var prelude string

//go:embed prelude_meter.h
var preludeMeter string

//go:embed prelude_scratch.h
var preludeScratch string

//go:embed prelude_payload.h
var preludePayload string

//go:embed prelude_patch.h
var preludePatch string

//go:embed prelude_vlan.h
var preludeVLAN string

// gen is the generation of one program.
type gen struct {
	p     *ir.Program
	fs    *diag.FileSet
	diags diag.List
	spec  *Spec

	types   *scope // of C structs
	globals *scope // of maps and functions
	fields  map[*ir.Field]string
	vars    map[*ir.Var]string // C paths
	labels  int                // at the ends of blocks, so far

	structs, maps, funcs text
	tableStates          text
	stateOffsets         []string // checks where each table's state lies
	indexWords           int      // of all tuple spaces

	use         usage
	stacks      []string // C paths of all stacks
	states      []*parserState
	leaves      text // where the parser ends if a condition holds
	leaveCount  int
	emitted     []emitted
	tables      map[*ir.Table]*tableInfo
	actions     map[*ir.Action]string
	profiles    map[*ir.Instance]*profileInfo
	instances   map[*ir.Instance]string
	colours     []*ir.Instance
	digests     map[*ir.Instance]int
	lists       map[string]bool // field lists in use
	valueSets   map[*ir.ValueSet]*valueSetInfo
	shared      bool // some code is in functions that several places call
	countShared map[*ir.Instance]bool
	incremental bool // the checksum control is @incremental
	increments  map[*ir.Call]*incremental
	patched     map[*instance]bool
	terms       map[string][]term // by the C path of the field
	sums        []*sum
	site        site // of the assignments that are looked at
	writeSets   []*writeSet
	places      map[*instance]int // headers that lie at the same place in every packet as it came
	stays       bool              // the deparser leaves every header where it was
	need        map[string]bool   // parts of the prelude
	pull        int               // bytes that have to lie in one piece
	lastUnsup   diag.Span

	// Of a program that is divided into functions: see split.go.
	split     bool
	most      int          // the weight of a part
	parts     int          // so far
	loops     bool         // struct loop is written
	keyRoom   int          // words of the state for a table's key
	foundRoom int          // and for what is found
	keeping   []*ir.Action // whose parameters are in the state
}

// Generate compiles a program. fs is for the positions in the text and may be nil. The
// Spec is of use only if the list has no errors.
func Generate(p *ir.Program, fs *diag.FileSet) (*Spec, diag.List) {
	spec, diags := generateText(p, fs, false)
	if !diags.HasErrors() {
		divided, _ := generateText(p, fs, true)
		spec.Split = divided.Source
	}
	return spec, diags
}

// generateText writes one of a program's texts.
func generateText(p *ir.Program, fs *diag.FileSet, split bool) (*Spec, diag.List) {
	g := &gen{
		p: p, fs: fs, split: split,
		spec:  &Spec{Name: p.Name, Targets: map[Target]string{TC: "", XDP: ""}, InMap: map[Target]bool{}, MapKeys: map[string]string{}, Room: map[string]int{}},
		types: newScope(), globals: newScope(),
		fields: map[*ir.Field]string{}, vars: map[*ir.Var]string{},
		tables: map[*ir.Table]*tableInfo{}, actions: map[*ir.Action]string{},
		profiles: map[*ir.Instance]*profileInfo{}, instances: map[*ir.Instance]string{},
		digests: map[*ir.Instance]int{}, countShared: map[*ir.Instance]bool{}, valueSets: map[*ir.ValueSet]*valueSetInfo{},
		increments: map[*ir.Call]*incremental{}, terms: map[string][]term{}, patched: map[*instance]bool{}, places: map[*instance]int{},
		need: map[string]bool{}, lists: map[string]bool{},
	}
	g.use = usage{byPath: map[string]*instance{}, bits: newScope(), read: map[string]bool{}, dirty: map[string]bool{}, kept: map[*ir.Field]bool{}, ops: map[ir.Op]bool{}}
	g.structs.fs, g.funcs.fs = fs, fs
	if split {
		g.maps.fs = fs // where the kernel refuses a map, this says what it is for
	}
	for _, n := range strings.Fields("catena tables tuples parse ingress egress compute_checksum verify_checksum deparse finish transmit replicate run_jobs one_copy next_job pick_job pick work job jobs queue copy_state the_queue open_queue add_job put_back send_cut kept session replicas forget_metadata clone_egress clone_ingress patch prepare pass passes one_pass again fold state event counter meter scratch copies events ports_in ports_out multicast clones license to_ring turn turns line search the_line turns_wait alone open_line cut_end look_at_turn take_turn leave_turn save_front next_turn come_again loop") {
		g.globals.fresh(n)
		g.types.fresh(n)
	}
	g.nameFields()
	g.place()
	g.incremental = p.ComputeChecksum.Annotations.Has("incremental")
	g.analyze()
	g.keepOthers()
	g.findWriteSets()
	g.declareAll()
	g.writeAll()
	g.spec.Source = g.assemble()
	return g.spec, g.diags
}

// unsupported notes something that this target cannot do.
func (g *gen) unsupported(s diag.Span, format string, args ...any) {
	if s == g.lastUnsup && s.IsValid() && g.diags.HasErrors() {
		return // told already, for another copy of the same statement
	}
	g.lastUnsup = s
	g.diags.Errorf(s, Unsupported, "%s is unsupported on the ebpf target", fmt.Sprintf(format, args...))
}

// nameFields gives the fields of each named type C names that differ.
func (g *gen) nameFields() {
	name := func(fs []*ir.Field) {
		names := newScope()
		for _, f := range fs {
			g.fields[f] = names.fresh(f.Name)
			if _, ok := f.Type.(*ir.Varbit); ok {
				names.fresh(g.fields[f] + "_bits") // its length
			}
		}
	}
	for _, h := range g.p.Headers {
		name(h.Fields)
	}
	for _, u := range g.p.Unions {
		name(u.Fields)
	}
	for _, s := range g.p.Structs {
		name(s.Fields)
	}
}

func (g *gen) newFn() *fn {
	return &fn{g: g, t: &g.funcs, picked: map[*ir.Index]int{}, blocks: map[*ir.Block]string{}}
}

// place gives every variable its C path.
func (g *gen) place() {
	p := g.p
	g.vars[p.Hdr], g.vars[p.Meta], g.vars[p.Std] = "s->hdr", "s->meta", "s->std"
	add := func(v *ir.Var) {
		g.use.addInstances(g, v.Type, g.vars[v], v.Name, "")
		g.addStacks(v.Type, g.vars[v])
	}
	add(p.Hdr)
	add(p.Meta)
	locals := func(prefix string, vs []*ir.Var) {
		names := newScope()
		for _, v := range vs {
			g.vars[v] = "s->" + prefix + "." + names.fresh(v.Name)
			add(v)
		}
	}
	locals("parser", p.Parser.Locals)
	for i, c := range p.Controls() {
		locals(controlNames[i], c.Locals)
		for _, a := range c.Actions {
			names := newScope()
			for _, v := range a.Params {
				g.vars[v] = names.fresh(v.Name) // of the action's function
			}
		}
	}
}

// controlNames are the members of the state that hold the controls' locals.
var controlNames = []string{"verify", "ingress", "egress", "compute", "deparser"}

func (g *gen) addStacks(t ir.Type, path string) {
	switch t := t.(type) {
	case *ir.Stack:
		g.stacks = append(g.stacks, path)
	case *ir.Struct:
		for _, f := range t.Fields {
			g.addStacks(f.Type, path+"."+g.field(f))
		}
	}
}

func (g *gen) varPath(v *ir.Var) string {
	if p, ok := g.vars[v]; ok {
		return p
	}
	g.unsupported(v.Span, "variable %q, which belongs to no block,", v.Name)
	g.vars[v] = "s->nowhere"
	return g.vars[v]
}

// std is the C path of a field of the standard metadata, or "".
func (g *gen) std(name string) string {
	for _, f := range ir.FieldsOf(g.p.Std.Type) {
		if f.Name == name && g.declared(f) {
			return "s->std." + g.field(f)
		}
	}
	return ""
}

// colour is the member of the state with a direct meter's result.
func (g *gen) colour(m *ir.Instance) string {
	for i, x := range g.colours {
		if x == m {
			return fmt.Sprintf("colour%d", i)
		}
	}
	g.colours = append(g.colours, m)
	return fmt.Sprintf("colour%d", len(g.colours)-1)
}

// declareAll describes tables and other objects and writes their maps.
func (g *gen) declareAll() {
	for _, c := range g.p.Controls() {
		for _, a := range c.Actions {
			g.actions[a] = g.globals.fresh("action_" + a.FullName)
		}
	}
	var tables []*tableInfo
	for _, c := range g.p.Controls() {
		for _, t := range c.Tables {
			ti := g.describeTable(t, g.globals.fresh(t.FullName))
			g.tables[t] = ti
			tables = append(tables, ti)
			g.spec.Tables = append(g.spec.Tables, ti.spec)
		}
	}
	g.declareInstances()
	for _, ti := range tables {
		if c := ti.t.Counter; c != nil && g.instances[c] != "" {
			ti.spec.Counter = c.FullName
		}
		if m := ti.t.Meter; m != nil && g.instances[m] != "" {
			ti.spec.Meter = m.FullName
		}
		g.declareTable(ti)
	}
	for _, v := range g.p.Parser.ValueSets {
		g.declareValueSet(v)
	}
	g.declareIndex()
	g.share()
	g.writeSharedCounters()
	g.declareCopies()
	g.spec.MapKeys[MapPortsIn] = "ports 1"
	g.spec.MapKeys[MapPortsOut] = "ports 1"
	g.spec.MapKeys[MapEvents] = "events 1"
	g.controllerHeaders()
}

// controllerHeaders finds the layouts of packet-in and packet-out.
func (g *gen) controllerHeaders() {
	for _, h := range g.p.Headers {
		a, ok := h.Annotations.Get("controller_header")
		if !ok || len(a.Args) == 0 {
			continue
		}
		c := &ControllerHeader{Name: a.Args[0]}
		bits := 0
		for _, f := range h.Fields {
			c.Fields = append(c.Fields, Field{Name: f.Name, Width: width(f.Type)})
			bits += width(f.Type)
		}
		c.Bytes = bits / 8
		switch a.Args[0] {
		case "packet_in":
			g.spec.PacketIn = c
		case "packet_out":
			g.spec.PacketOut = c
		}
	}
}

// writeAll writes the functions.
func (g *gen) writeAll() {
	for _, v := range g.p.Parser.ValueSets {
		g.writeValueSet(g.valueSets[v])
	}
	g.layOut()
	g.findTerms()
	g.writeParser()
	g.pull = max(g.depth(), 14)
	g.writeControls()
	g.writeDeparser()
	for _, inc := range g.sortedIncrements() {
		g.need["patch"] = g.need["patch"] || inc.s.Op == ir.OpUpdateChecksumPay && len(inc.inputs) > 0
	}
	if g.patchesLate() {
		g.writePatches()
	}
	g.writePrepare()
	g.writeMain()
}

// validBits writes the numbers of the headers' bits.
func (g *gen) validBits() {
	if len(g.use.list) == 0 {
		return
	}
	t := &g.structs
	t.f("/* the bit of each header in state.valid */")
	t.f("enum {")
	for _, h := range g.use.list {
		t.f("V_%s,", h.bit)
	}
	t.f("};")
	t.f("")
}

// assemble puts the text together.
func (g *gen) assemble() string {
	g.validBits()
	g.writeBits()
	g.stateStruct()
	var b strings.Builder
	fmt.Fprintf(&b, "/* %s: generated from P4 */\n", strings.ReplaceAll(g.p.Name, "*/", ""))
	if hooks := g.stateInMap(); hooks != "" {
		g.spec.InMap[TC], g.spec.InMap[XDP] = true, hooks == "1"
		fmt.Fprintf(&b, "#if %s && !defined(STATE_IN_MAP)\n#define STATE_IN_MAP\n#endif\n", hooks)
	}
	fmt.Fprintf(&b, "#define COUNTER_GROUP %d\n", CounterGroup)
	b.WriteString(prelude)
	fmt.Fprintf(&b, "\n#define MAX_DEPTH %d /* bytes of headers */\n#define MAX_MASKS %d\n#define FIRST_MASKS %d\n#define MAX_CHAIN %d\n#define NO_SLOT %du\n#define MAX_REPLICAS %d\n#define KEEP_FRONT %d\n\n", maxDepth, MaxMasks, firstMasks, MaxChain, uint32(NoSlot), MaxReplicas, btoi(g.repeats()))
	g.need["scratch"] = g.need["scratch"] || g.need["payload"]
	for _, part := range []struct{ need, text string }{
		{"meter", preludeMeter}, {"flow", preludeFlow}, {"crc16", crc16Text()}, {"crc32", crc32Text()},
		{"scratch", preludeScratch}, {"payload", preludePayload}, {"patch", preludePatch},
	} {
		if g.need[part.need] {
			b.WriteString(part.text)
			b.WriteByte('\n')
		}
	}
	b.WriteString(preludeVLAN)
	b.WriteByte('\n')
	b.WriteString(g.structs.b.String())
	b.WriteString(stateMap)
	b.WriteString(g.maps.b.String())
	g.writeStates(&b)
	b.WriteString(g.funcs.b.String())
	return b.String()
}

const stateMap = `#ifdef STATE_IN_MAP
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct state);
} packet_state SEC(".maps");
#endif

static __always_inline void clear_words(u64 *to, u32 n)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < n; i++)
		*(volatile u64 *)&to[i] = 0; /* volatile: clang would call memset */
}

static __always_inline void copy_words(u64 *to, const u64 *from, u32 n)
{
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < n; i++)
		*(volatile u64 *)&to[i] = from[i];
}

`
