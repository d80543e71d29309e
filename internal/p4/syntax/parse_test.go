package syntax

import (
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// parseText parses a program and returns it printed, and its diagnostics one per line without the
// source excerpts.
func parseText(t *testing.T, src string) (printed, diags string) {
	t.Helper()
	fset := diag.NewFileSet()
	prog, list := ParseBytes(fset, "t.p4", []byte(src), Options{})
	var b strings.Builder
	for _, d := range list.Sorted() {
		p := fset.Position(d.Span)
		b.WriteString(p.String() + ": " + d.Message + "\n")
	}
	return Print(prog), strings.TrimRight(b.String(), "\n")
}

// expectPrinted checks that src parses, prints as want, and that the printed text does so, too.
func expectPrinted(t *testing.T, src, want string) {
	t.Helper()
	got, diags := parseText(t, src)
	if diags != "" {
		t.Errorf("%s\nunexpected diagnostics:\n%s", src, diags)
		return
	}
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("%s\ngot:\n%s\nwant:\n%s", src, got, want)
	}
	if again, diags := parseText(t, got); again != got || diags != "" {
		t.Errorf("%s\nprinted text changes when printed again:\n%s\n%s\n%s", src, got, again, diags)
	}
}

// expectSame checks that src is already in canonical form.
func expectSame(t *testing.T, src string) {
	t.Helper()
	expectPrinted(t, src, src)
}

func expectError(t *testing.T, src, want string) {
	t.Helper()
	if _, got := parseText(t, src); got != want {
		t.Errorf("%s\ngot diagnostics:\n%s\nwant:\n%s", src, got, want)
	}
}

// expectExpr checks one expression, with a type T, a generic function and some names in scope.
func expectExpr(t *testing.T, src, want string) {
	t.Helper()
	pre := "header T {}\n\nextern G f<G>(in G x);\n\n"
	expectPrinted(t, pre+"const int c = "+src+";", pre+"const int c = "+want+";")
}

// expectStmts checks statements in a control with a type T in scope; lines of want are not indented.
func expectStmts(t *testing.T, src, want string) {
	t.Helper()
	pre := "header T {}\n\ncontrol C() {\n    apply {\n"
	want = "        " + strings.ReplaceAll(want, "\n", "\n        ") + "\n    }\n}"
	expectPrinted(t, pre+src+"}}", pre+want)
}

func TestPrecedence(t *testing.T) {
	for _, c := range [][2]string{
		{"1+2*3", "1 + 2 * 3"},
		{"(1+2)*3", "(1 + 2) * 3"},
		{"1-2-3", "1 - 2 - 3"},
		{"1-(2-3)", "1 - (2 - 3)"},
		{"a||b&&c==d", "a || b && c == d"},
		{"(a||b)&&c", "(a || b) && c"},
		{"a==b<c", "a == b < c"},
		{"a<b|c^d&e<<1", "a < b | c ^ d & e << 1"},
		{"(((((a)<b)|c)^d)&e)<<1", "((((a < b) | c) ^ d) & e) << 1"},
		{"a|+|b|-|c++d", "a |+| b |-| c ++ d"},
		{"a>>1>>2", "a >> 1 >> 2"},
		{"a>>(1>>2)", "a >> (1 >> 2)"},
		{"a>b", "a > b"},
		{"a>=b", "a >= b"},
		{"a&b&&c&&&d", ""}, // &&& is no operator of expressions
		{"a?b:c?d:e", "a ? b : c ? d : e"},
		{"(a?b:c)?d:e", "(a ? b : c) ? d : e"},
		{"-a.b[1]", "-a.b[1]"},
		{"(-a)[3:0]", "(-a)[3:0]"},
		{"!~-+a", "!~-+a"},
		{"+ +a", "+ +a"},
		{"- -a", "--a"},
		{"(T)a+b", "(T)a + b"},
		{"(T)(a+b)", "(T)(a + b)"},
		{"(bit<8>)-1", "(bit<8>)-1"},
		{"(bit<(W+1)>)a", "(bit<(W + 1)>)a"},
		{"(a)-1", "a - 1"},
		{"(T)-1", "(T)-1"},
		{"(T[3])x", "(T[3])x"},
		{"((T)x).y", "((T)x).y"},
		{"(tuple<bit,T>){1,{}}", "(tuple<bit, T>){1, {}}"},
		{"(list<T>){}", "(list<T>){}"},
		{"(error)e", "(error)e"},
	} {
		if c[1] == "" {
			expectErrorContains(t, "const int c = "+c[0]+";", `expected ";" behind the constant, found "&&&"`)
			continue
		}
		expectExpr(t, c[0], c[1])
	}
}

func expectErrorContains(t *testing.T, src, want string) {
	t.Helper()
	if _, got := parseText(t, src); !strings.Contains(got, want) {
		t.Errorf("%s\ngot diagnostics:\n%s\nwant one with:\n%s", src, got, want)
	}
}

func TestPrimaries(t *testing.T) {
	for _, c := range [][2]string{
		{"8w0xFF_0", "8w0xFF_0"},
		{"4s7", "4s7"},
		{"0b1_0+0o17+0d9", "0b1_0 + 0o17 + 0d9"},
		{`"a\"b\\c"`, `"a\"b\\c"`},
		{"\"two\nlines\"", `"two\nlines"`},
		{`"a"++"b"`, `"a" ++ "b"`},
		{"true?this:false", "true ? this : false"},
		{"...", "..."},
		{"{#}", "{#}"},
		{"{1,2,}", "{1, 2}"},
		{"{1,...}", "{1, ...}"},
		{"{a=1,b={c=2}}", "{a = 1, b = {c = 2}}"},
		{"{a=1,...,}", "{a = 1, ...}"},
		{".a.b", ".a.b"},
		{"error.NoError", "error.NoError"},
		{"T.field", "T.field"},
		{".T.field", ".T.field"},
		{"T(1,_,x=_,y=2)", "T(1, _, x = _, y = 2)"},
		{"T<bit<8>>(1)", "T<bit<8>>(1)"},
		{"h.s[i].f[7:0]", "h.s[i].f[7:0]"},
		{"h.s[a?b:c:0]", "h.s[a ? b : c:0]"},
		{"s.next.apply", "s.next.apply"},
		{"x.key.actions.type.priority.list", "x.key.actions.type.priority.list"},
	} {
		expectExpr(t, c[0], c[1])
	}
}

// A `<` opens type arguments only when a type stands behind it and a parenthesis behind them.
func TestGenericOrComparison(t *testing.T) {
	for _, c := range [][2]string{
		{"f<T>(x)", "f<T>(x)"},
		{"f<bit<8>>(x)", "f<bit<8>>(x)"},
		{"f<tuple<bit<8>,list<T>>>(x)", "f<tuple<bit<8>, list<T>>>(x)"},
		{"p.lookahead<T>()", "p.lookahead<T>()"},
		{"p.lookahead<_,T,other>().x", "p.lookahead<_, T, other>().x"},
		{"f<void>()", "f<void>()"},
		{"a<b", "a < b"},
		{"a<b>(c)", "a < b > c"},
		{"a<(b)>c", "a < b > c"},
		{"f(a<b,c>(d))", "f(a < b, c > d)"},
		{"a<T.x", "a < T.x"},
		{"a<(T)b", "a < (T)b"},
		{"a<T(1)", "a < T(1)"},
		{"a[1]<b", "a[1] < b"},
	} {
		expectExpr(t, c[0], c[1])
	}
	// A value may hide a type, and comes out of its scope again.
	expectSame(t, `header T {}

control C(in bit<8> T) {
    bool y = T + 1 < T;
    apply {}
}

control D() {
    apply {
        T x;
        y = (T)-1;
    }
}`)
	expectPrinted(t, "control C(in bit<8> T) { apply { y = (T)-1; } }", "control C(in bit<8> T) {\n    apply {\n        y = T - 1;\n    }\n}")
}

func TestStatements(t *testing.T) {
	for _, c := range [][2]string{
		{";", ";"},
		{"x=1; x.y[1]=2; x[3:0]=3; (x)=4;", "x = 1;\nx.y[1] = 2;\nx[3:0] = 3;\nx = 4;"},
		{"x+=1;x-=1;x|+|=1;x|-|=1;x*=1;x/=1;x%=1;x<<=1;x>>=1;x&=1;x|=1;x^=1;",
			"x += 1;\nx -= 1;\nx |+|= 1;\nx |-|= 1;\nx *= 1;\nx /= 1;\nx %= 1;\nx <<= 1;\nx >>= 1;\nx &= 1;\nx |= 1;\nx ^= 1;"},
		{"f(); x.f<T>(1); this.f(); .g();", "f();\nx.f<T>(1);\nthis.f();\n.g();"},
		{"T.apply(h); T<bit>.apply();", "T.apply(h);\nT<bit>.apply();"},
		{"T x; T<bit> y; T[2] z; .T w; Unknown u;", "T x;\nT<bit> y;\nT[2] z;\n.T w;\nUnknown u;"},
		{"bit<8> a=1; int b; tuple<T> c={1}; list<T> d; string e; error g;",
			"bit<8> a = 1;\nint b;\ntuple<T> c = {1};\nlist<T> d;\nstring e;\nerror g;"},
		{"const bit a=1; @hidden bit b; @x T(1) c;", "const bit a = 1;\n@hidden bit b;\n@x T(1) c;"},
		{"@atomic{x=1;}", "@atomic {\n    x = 1;\n}"},
		{"if(a)b=1;", "if (a)\n    b = 1;"},
		{"if(a){b=1;}else if(c){}else d=1;", "if (a) {\n    b = 1;\n} else if (c) {} else\n    d = 1;"},
		{"if(a)b=1;else c=1;", "if (a)\n    b = 1;\nelse\n    c = 1;"},
		{"if(a)if(b)c();else d();", "if (a)\n    if (b)\n        c();\n    else\n        d();"},
		{"return; return 1; exit;", "return;\nreturn 1;\nexit;"},
		{"switch(t.apply().action_run){a:b:{x();} default:{}}",
			"switch (t.apply().action_run) {\n    a:\n    b: {\n        x();\n    }\n    default: {}\n}"},
		{"switch(x){8w1:E.A:T(1).x:(a?b:c):{}}", "switch (x) {\n    8w1:\n    E.A:\n    T(1).x:\n    a ? b : c: {}\n}"},
		{"switch(x){({1}):{}}", "switch (x) {\n    ({1}): {}\n}"},
		{"for(bit<8> i=0,j=1;i<10;i=i+1,f()){break;continue;}",
			"for (bit<8> i = 0, j = 1; i < 10; i = i + 1, f()) {\n    break;\n    continue;\n}"},
		{"for(;true;)f();", "for (; true;)\n    f();"},
		{"for(int<8> i in 0..7)f();", "for (int<8> i in 0 .. 7)\n    f();"},
		{"@unroll for(@x T h in hs){}", "@unroll for (@x T h in hs) {}"},
		{"apply=1; key=2; actions(3); state.x=4; type=5; priority=6; entries=7;",
			"apply = 1;\nkey = 2;\nactions(3);\nstate.x = 4;\ntype = 5;\npriority = 6;\nentries = 7;"},
	} {
		expectStmts(t, c[0], c[1])
	}
}

func TestDeclarations(t *testing.T) {
	for _, src := range []string{
		"const bit<8> c = 1;",
		"bit<8> f<T, U>(in T a, out U b, inout bit c, int d = 3) {\n    return a;\n}",
		"void f() {}",
		"T f<T>(in T x) {\n    return x;\n}",
		"action a(in bit<8> x, bit<8> y) {}",
		"extern void f<T>(in T x);",
		"extern E<bit<8>> make();",
		"extern E<T> {\n    E(bit<32> size);\n    E();\n    abstract T f(in T x);\n    @pure T g<U>(in U x);\n    void apply();\n}",
		"struct S {}",
		"@x struct S<T> {\n    @y bit<8> a;\n    T b;\n    varbit<(8 * 4)> c;\n    bit<8> apply;\n}",
		"header H {\n    bit<8> x;\n}",
		"header_union U {\n    H h;\n}",
		"enum E {}",
		"enum E {\n    A,\n    B\n}",
		"enum bit<8> E {\n    A = 1,\n    B = A + 1\n}",
		"error {\n    A,\n    B\n}",
		"match_kind {\n    exact\n}",
		"typedef bit<8> t;",
		"type bit<8> t;",
		"@p4runtime_translation(\"x\", 32) type bit<9> port_t;",
		"typedef H[4] hs;",
		"typedef struct S {\n    bit a;\n} t;",
		"parser P<H>(packet_in p, out H h);",
		"control C<H>(inout H h);",
		"package W<H>(P<H> p, C<H> c = C());",
		"W(P(), C()) main;",
		"W<H, _>(P()) main;",
		"E<bit>(1) e = {\n    bit f(in bit x) {\n        return this.g(x);\n    }\n    E() inner;\n};",
		"@name(\"x\") @hidden W() main;",
	} {
		expectSame(t, src)
	}
	expectPrinted(t, ";;const bit a=1;;", "const bit a = 1;")
	expectPrinted(t, "enum E{A,B,} error{A,} match_kind{x,}", "enum E {\n    A,\n    B\n}\n\nerror {\n    A\n}\n\nmatch_kind {\n    x\n}")
}

func TestParserDeclaration(t *testing.T) {
	expectSame(t, `parser P(packet_in p, out H h)(bit<8> n) {
    const bit<8> c = 1;
    value_set<bit<16>>(4) vs;
    value_set<tuple<bit<8>, S>>(n) us;
    bit<8> x = 0;
    Sub() sub;
    @name("first") state start {
        p.extract(h);
        if (x == 1) {
            x = 2;
        }
        Sub.apply(p);
        transition select(x, h.y) {
            (1, 2): a;
            (3 &&& 7, 1 .. 2): a;
            (default, _): b;
            default: reject;
        }
    }
    state a {
        transition select(x) {
            1: a;
            1 + 2: a;
            3 &&& 4: a;
            5 .. 6: a;
            vs: a;
            _: accept;
        }
    }
    state b {
        transition accept;
    }
    state end {}
}`)
	expectPrinted(t, "parser P() { state start { transition select(x) { (1): a; (2 &&& 3): a; (_): b; (1+2)*3: c; (x).y &&& 1: d; (bit<8>)1 .. 2: e; } } }",
		`parser P() {
    state start {
        transition select(x) {
            1: a;
            2 &&& 3: a;
            _: b;
            (1 + 2) * 3: c;
            x.y &&& 1: d;
            (bit<8>)1 .. 2: e;
        }
    }
}`)
}

func TestTable(t *testing.T) {
	expectSame(t, `control C(inout H h)(bit<8> n) {
    action a(bit<8> x) {}
    @hidden table t {
        key = {
            h.x: exact @name("x");
            h.y & 3: ternary;
        }
        actions = {
            @tableonly a;
            .NoAction();
            a(1, x = 2);
        }
        default_action = a(1);
        const default_action = NoAction;
        @k const entries = {
            1: a(1);
            const (2, _): a(1) @priority(3);
            priority = 10: 3 &&& 4: a(1);
            priority = (n + 1): (5 .. 6, default): a(2);
        }
        size = 1024;
        priority_delta = 10;
        largest_priority_wins = false;
        implementation = action_profile(32);
        counters = c;
    }
    apply @atomic {
        t.apply();
    }
}`)
}

func TestAnnotations(t *testing.T) {
	for _, src := range []string{
		"@a @b() @c(\"x\") const bit x = 1;",
		"@a(1 + (2), foo; {] $ bit<8> @x(y)) const bit x = 1;",
		"@a[] const bit x = 1;",
		"@a[1, \"x\" ++ \"y\", a.b] const bit x = 1;",
		"@a[k = 1, v = \"x\"] const bit x = 1;",
		"@pragma stage 1 foo.bar\nconst bit x = 1;",
	} {
		expectSame(t, src)
	}
	expectPrinted(t, "@a[1,] @b[k=1,] const bit x=1;", "@a[1] @b[k = 1] const bit x = 1;")

	fset := diag.NewFileSet()
	prog, _ := ParseBytes(fset, "t.p4", []byte(`@name("n") @list(1, a.b) @none @odd(a b) @empty() const bit x = 1;`), Options{})
	as := prog.Decls[0].DeclAnnotations()
	if s, ok := as.Get("name").StringArg(); !ok || s != "n" {
		t.Errorf("@name: got %q, %v", s, ok)
	}
	if n := len(as.Get("list").Exprs); n != 2 {
		t.Errorf("@list: got %d expressions, want 2", n)
	}
	if as.Get("odd").Exprs != nil || len(as.Get("odd").Tokens) != 2 {
		t.Errorf("@odd: want two tokens and no expressions")
	}
	if as.Get("absent") != nil {
		t.Errorf("@absent is found")
	}
}
