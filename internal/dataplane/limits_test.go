package dataplane

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	p4 "github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// manyTables is a program with n tables.
func manyTables(n int) extreme {
	return extreme{ingress: "action to(bit<9> port) { s.egress_spec = port; }\n" +
		each(n, "table t# { key = { hdr.h.x: exact; } actions = { to; NoAction; } default_action = NoAction(); size = 4; }\n") +
		"apply {\n" + each(n, "t#.apply();\n") + "}"}
}

// TestManyTables loads a program that uses nearly as many maps as it may.
func TestManyTables(t *testing.T) {
	p, fset, diags := p4.Source("many.p4", []byte(manyTables(58).String()), p4.Options{})
	if diags.HasErrors() {
		t.Fatal(diags.Err(fset))
	}
	open(t, p, ebpf.TC)
}

// TestLimits checks what is said of programs that the kernel can run in no way: the limit, and the line that it is
// about.
func TestLimits(t *testing.T) {
	for name, x := range map[string]struct {
		program extreme
		limit   ebpf.Limit
		line    string // of the program
	}{
		"maps":     {manyTables(70), ebpf.LimitMaps, `^table t(58|59|60) `},
		"map size": {extreme{ingress: "action a() { }\ntable t {\nkey = { hdr.h.x: exact; } actions = { a; } size = 4000000000; }\napply { t.apply(); }"}, ebpf.LimitMapSize, `^table t {`},
		"stack": {extreme{headers: "header h_t { bit<768> x; bit<768> y; }\nstruct headers { h_t h; }",
			ingress: "apply {\nhdr.h.y = hdr.h.y + 1;\nhdr.h.x = hdr.h.x * hdr.h.y;\ns.egress_spec = 1; }"}, ebpf.LimitStack, `^hdr.h.[xy] = `},
		"calls": {extreme{ingress: "apply {\n" + each(9, "for (bit<32> i# in 0..hdr.h.x) {\n") + "hdr.h.y = hdr.h.y + i0 + i8; if (hdr.h.y == 9) { break; }" + each(9, " }") + " s.egress_spec = 1; }"},
			ebpf.LimitCalls, `^for .*i8`},
		"functions": {extreme{ingress: "action a(bit<32> v) { hdr.h.y = hdr.h.y + v; }\n" +
			each(260, "table t# { key = { hdr.h.x: exact; } actions = { a; } const entries = { #: a(#); } }\n") +
			"apply {\n" + each(260, "t#.apply();\n") + each(260, "t#.apply();\n") + "}"}, ebpf.LimitFunctions, `^control I`},
		"masks": {extreme{ingress: "action a(bit<32> v) { hdr.h.y = hdr.h.y + v; }\n" +
			"table other { key = { hdr.h.y: exact; } actions = { a; } }\n" +
			"table t { key = { hdr.h.x: range; hdr.h.y: range; } actions = { a; } size = 4096; const entries = {\n" +
			each(20, "(#..99, 1..4000000001): a(#);\n") + "} }\napply { other.apply(); t.apply(); }"}, ebpf.LimitMasks, `^table t `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := x.program.String()
			p, files, diags := p4.Source("limits.p4", []byte(text), p4.Options{})
			if diags.HasErrors() {
				t.Fatal(diags.Err(files))
			}
			spec, diags := ebpf.Generate(p, files)
			if diags.HasErrors() {
				t.Fatal(diags.Err(files))
			}
			o, err := Build(t.Context(), spec, BuildOptions{Targets: []ebpf.Target{ebpf.TC}})
			if err == nil {
				if os.Geteuid() != 0 {
					t.Skip("only the kernel knows this limit, and loading programs needs root")
				}
				var loaded *Program
				if loaded, err = Load(t.Context(), o, LoadOptions{}); err == nil {
					loaded.Close()
					t.Fatal("it loads, in", o.Way(ebpf.TC))
				}
			}
			var r *Refusal
			if !errors.As(err, &r) || !errors.Is(err, target.ErrUnsupported) {
				t.Fatalf("no refusal: %v", err)
			}
			d := r.Diagnostic(files)
			line := ""
			if at := files.Position(d.Span).Line; at > 0 {
				line = strings.Split(text, "\n")[at-1]
			}
			if d.Code != x.limit.Code || !ebpf.IsUnsupported(d) || !regexp.MustCompile(x.line).MatchString(line) {
				t.Errorf("said of %q:\n%v", line, diag.List{d}.Err(files))
			}
		})
	}
}

// TestRefusals checks what becomes of the words of clang and the verifier.
func TestRefusals(t *testing.T) {
	const text = "#line 3 \"a.p4\"\nint parse(ctx_t *ctx, struct state *s)\n{\n#line 5 \"a.p4\"\nx;\n}\n#line 9 \"a.p4\"\n" +
		"__noinline int ingress(ctx_t *ctx, struct state *s)\n{\n#line 12 \"a.p4\"\ny;\nz;\n}\n#line 1 \"<generated>\"\nint catena(ctx_t *ctx)\n{\nparse(ctx, s);\n}\n"
	for name, x := range map[string]struct {
		r    *Refusal
		code diag.Code
		line int
	}{
		"clang, stack": {refusedByClang("<stdin>:12:3: error: Looks like the BPF stack limit is exceeded. Please move"), ebpf.LimitStack.Code, 12},
		"clang, jump":  {refusedByClang("error: <unknown>:0:0: in function ingress i32: Branch target out of insn range"), ebpf.LimitJump.Code, 9},
		"clang, other": {refusedByClang("<stdin>:5:1: error: use of undeclared identifier 'x'"), ebpf.Refused, 5},
		"verifier, instructions": {refusedByVerifier([]string{"Validating parse() func#1...", "; x; @ <stdin>:11", "BPF program is too large. Processed 1000001 insn", "processed 1000001 insns"}),
			ebpf.LimitInstructions.Code, 3},
		"verifier, jumps": {refusedByVerifier([]string{"The sequence of 8193 jumps is too complex.", "processed 66194 insns"}), ebpf.LimitInstructions.Code, 9},
		"verifier, stack": {refusedByVerifier([]string{"combined stack size of 3 calls is 544. Too large"}), ebpf.LimitStack.Code, 9},
		"verifier, other": {refusedByVerifier([]string{"Validating parse() func#1...", "; y; @ <stdin>:11", "R1 invalid mem access 'scalar'"}), ebpf.Refused, 12},
	} {
		x.r.place(text)
		if d := x.r.Diagnostic(nil); d.Code != x.code || x.r.File != "a.p4" || x.r.Line != x.line {
			t.Errorf("%s: %s:%d: %s [%s]", name, x.r.File, x.r.Line, d.Message, d.Code)
		}
	}
}

// TestWayIsRemembered checks that a program that the kernel takes only in a later way is built in that at once the
// second time.
func TestWayIsRemembered(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loading programs into the kernel needs root")
	}
	loops := extreme{metadata: "bit<32> a;", ingress: "apply { for (bit<32> i in 0..9) { for (bit<32> j in 0..9) { for (bit<32> k in 0..9) { m.a = m.a + i * j + k; " +
		"if (m.a == hdr.h.x) { hdr.h.y = hdr.h.y + 1; } } } } s.egress_spec = 1; }"}
	p, files, diags := p4.Source("loops.p4", []byte(loops.String()), p4.Options{})
	if diags.HasErrors() {
		t.Fatal(diags.Err(files))
	}
	spec, _ := ebpf.Generate(p, files)
	opts := BuildOptions{Targets: []ebpf.Target{ebpf.TC}, CacheDir: t.TempDir()}
	for i, begin := range []string{"registers", "functions"} {
		o, err := Build(t.Context(), spec, opts)
		must(t, err)
		if way := o.Way(ebpf.TC); way != begin {
			t.Errorf("built for the %d. time in %s, want %s", i+1, way, begin)
		}
		p, err := Load(t.Context(), o, LoadOptions{})
		must(t, err)
		must(t, p.Close())
		if way := o.Way(ebpf.TC); way != "functions" {
			t.Errorf("loaded in %s", way)
		}
	}
}
