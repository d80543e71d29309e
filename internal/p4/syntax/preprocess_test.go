package syntax

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// preprocessText preprocesses src with the given other files at hand, and returns the tokens with one
// space where there was white space, and the diagnostics rendered without source lines.
func preprocessText(src string, files map[string]string, opts Options) (text, diags string) {
	opts.Open = func(path string) ([]byte, error) {
		if s, ok := files[path]; ok {
			return []byte(s), nil
		}
		return nil, fmt.Errorf("open %s: %w", path, fs.ErrNotExist)
	}
	fset := diag.NewFileSet()
	toks, list := Preprocess(fset, "dir/t.p4", []byte(src), opts)
	toks = toks[:len(toks)-1]
	var b strings.Builder
	for _, d := range list.Sorted() {
		fmt.Fprintf(&b, "%s: %s: %s\n", fset.Position(d.Span), d.Severity, d.Message)
	}
	return joinText(toks), strings.TrimRight(b.String(), "\n")
}

func TestPreprocess(t *testing.T) {
	files := map[string]string{
		"dir/near.p4":     "near",
		"inc/far.p4":      "far",
		"inc/near.p4":     "not this",
		"inc/core.p4":     "mycore",
		"dir/guard.p4":    "#ifndef G\n#define G\nonce\n#endif",
		"dir/sub/a.p4":    "#include \"b.p4\"",
		"dir/sub/b.p4":    "deep",
		"dir/loop.p4":     "#include \"loop.p4\"",
		"dir/unclosed.p4": "#if 1\nx",
	}
	for _, c := range []struct{ name, src, want, diags string }{
		{"comments", "a/*x\ny*/b//z\nc /**/ d", "a b c d", ""},
		{"continued comment", "a // b\\\nc\nd", "a d", ""},
		{"continued line", "#define X 1 + \\\n 2\nX", "1 + 2", ""},
		{"continued line, CRLF", "#define X 1 + \\\r\n 2\r\nX\r\n", "1 + 2", ""},
		{"object", "#define X 1\nX Y X", "1 Y 1", ""},
		{"keyword", "#define apply foo\napply", "foo", ""},
		{"nested", "#define A B\n#define B C\nA B C", "C C C", ""},
		{"self", "#define A A + B\n#define B A\nA", "A + A", ""},
		{"mutual", "#define f(x) g(x)\n#define g(x) f(x)\nf(1)", "f(1)", ""},
		{"undef", "#define A 1\nA\n#undef A\nA", "1 A", ""},
		{"function", "#define ADD(a,b) (a+b)\nADD(1,2) ADD (x , (y,z))", "(1+2) (x+(y,z))", ""},
		{"function without arguments", "#define F() x\nF() F", "x F", ""},
		{"not function-like", "#define F (a)\nF(1)", "(a)(1)", ""},
		{"empty argument", "#define F(a) [a]\nF()", "[]", ""},
		{"arguments over lines", "#define F(a,b) a b\nF(1,\n 2)", "1 2", ""},
		{"argument expands first", "#define X 1\n#define F(a) a a\nF(X)", "1 1", ""},
		{"rescan takes following", "#define f(x) x\n#define g f\ng(1)", "1", ""},
		{"name in argument", "#define f(x) [x]\n#define g(y) y(1)\ng(f)", "[1]", ""},
		{"stringize", "#define S(x) #x\nS(a + b  c) S(\"q\")", `"a + b c" "\"q\""`, ""},
		{"paste", "#define P(a,b) a##b\nP(x,1) P(8w,3) P(,y) P(z,) P(<,<)", "x1 8w3 y z <<", ""},
		{"paste unexpanded", "#define X 1\n#define P(a) a##2\nP(X)", "X2", ""},
		{"paste object", "#define P a ## b ## c\nP", "abc", ""},
		{"bad paste", "#define P(a,b) a##b\nP(+,x)", "+", `dir/t.p4:2:3: error: ## makes "+x", which is not one token`},
		{"variadic", "#define V(a,...) a(__VA_ARGS__)\nV(f,1,2) V(f)", "f(1,2) f()", ""},
		{"LINE and FILE", "__LINE__\n__FILE__ __LINE__", `1 "dir/t.p4" 2`, ""},
		{"line directive", "#line 40 \"x.p4\"\n__LINE__ __FILE__\n__LINE__", `40 "x.p4" 41`, ""},
		{"line marker", "# 7 \"y.p4\"\n__LINE__", "7", ""},

		{"if", "#if 1\na\n#else\nb\n#endif\nc", "a c", ""},
		{"else", "#if 0\na\n#else\nb\n#endif\nc", "b c", ""},
		{"elif", "#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif", "b", ""},
		{"elif not evaluated", "#if 1\na\n#elif 1/0\nb\n#endif", "a", ""},
		{"nested skip", "#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif", "c", ""},
		{"skip ignores text", "#if 0\n\"/*\" don't\n/*\n#endif\n*/ #bad\n#endif // end\nx", "x", ""},
		{"text behind endif", "#if 0\n#endif A\nx", "x", "dir/t.p4:2:8: warning: text behind #endif is ignored"},
		{"ifdef", "#define A\n#ifdef A\na\n#endif\n#ifndef A\nb\n#endif\n#ifdef B\nc\n#endif", "a", ""},
		{"defined", "#define A\n#if defined(A) && !defined B && defined A\na\n#endif", "a", ""},
		{"if macros", "#define V 20200408\n#if V >= 20200408 && UNKNOWN == 0\na\n#endif", "a", ""},
		{"if operators", "#if (1+2*3==7) && (1<<4>>2==4) && (7&3|8^1)==11 && -1<0 && ~0==-1 && (1?2:3)==2 && 7%4==3 && 9/2==4 && 1!=2 && 2>=2 && 2<=2 && !0\na\n#endif", "a", ""},
		{"if lazy", "#if 0 && 1/0 || 1 || 1/0 || (1 ? 1 : 1/0)\na\n#endif", "a", ""},
		{"if bases", "#if 0x10==16 && 0b11==3 && 0o17==15\na\n#endif", "a", ""},
		{"hash in the middle", "{#} a", "{#} a", ""},
		{"pragma", "#pragma once\na", "a", ""},
		{"null directive", "#\na", "a", ""},
		{"indented", "  #  define X 1\n  X", "1", ""},
		{"p4 pragma", "@pragma stage 1\nx", "@pragma stage 1  x", ""},

		{"include", "#include \"near.p4\"\n#include <far.p4>\n#include \"far.p4\"", "near far far", ""},
		{"include by macro", "#define N \"near.p4\"\n#define F <far.p4>\n#include N\n#include F", "near far", ""},
		{"include guard", "#include \"guard.p4\"\n#include \"guard.p4\"", "once", ""},
		{"include beside", "#include \"sub/a.p4\"", "deep", ""},
		{"include directory first", "#include <core.p4>", "mycore", ""},

		{"defines option", "FOO BAR", "1 2 + 3", ""},

		{"warning", "#warning look out\na", "a", "dir/t.p4:1:1: warning: #warning look out"},
		{"error", "#error no \"good\" // comment\na", "a", `dir/t.p4:1:1: error: #error no "good" // comment`},
		{"missing include", "#include <none.p4>\na", "a", `dir/t.p4:1:1: error: included file "none.p4" is not found; looked in inc/none.p4, the compiler's own headers (core.p4, flow_state.p4, v1model.p4)`},
		{"bad include", "#include none.p4\na", "a", `dir/t.p4:1:1: error: #include wants <name> or "name"`},
		{"include loop", "#include \"loop.p4\"", "", `dir/loop.p4:1:1: error: #include is nested deeper than 64: does "loop.p4" include itself`},
		{"unclosed if", "#ifdef A\nx", "", "dir/t.p4:1:1: error: #ifdef is not closed: #endif is missing"},
		{"unclosed if in include", "#include \"unclosed.p4\"\ny", "x y", "dir/unclosed.p4:1:1: error: #if is not closed: #endif is missing"},
		{"endif alone", "#endif\nx", "x", "dir/t.p4:1:1: error: #endif without #if"},
		{"else twice", "#if 0\n#else\na\n#else\nb\n#endif", "a", "dir/t.p4:4:1: error: #else behind #else"},
		{"bad directive", "#foo bar\nx", "x", "dir/t.p4:1:1: error: unknown directive #foo"},
		{"bad define", "#define 1\nx", "x", "dir/t.p4:1:1: error: #define wants a name"},
		{"bad parameters", "#define F(a,a) x\n#define G(a\nx", "x", "dir/t.p4:1:13: error: \"a\" is not a new parameter of macro F\ndir/t.p4:2:9: error: parameter list of macro G is not closed: ) is missing"},
		{"paste at the edge", "#define A ## b\nA", "A", "dir/t.p4:1:9: error: ## stands at the edge of macro A"},
		{"wrong arity", "#define F(a,b) a\nF(1)", "", "dir/t.p4:2:1: error: macro F takes 2 arguments, not 1"},
		{"unclosed arguments", "#define F(a) a\nF(1", "", "dir/t.p4:2:1: error: arguments of macro F are not closed: ) is missing"},
		{"redefined", "#define A 1\n#define A 1\n#define A 2\nA", "2", "dir/t.p4:3:9: warning: macro A is defined again with another meaning"},
		{"bad condition", "#if 1 +\na\n#endif", "", "dir/t.p4:1:1: error: #if ends too early"},
		{"empty condition", "#if\na\n#endif", "", "dir/t.p4:1:1: error: #if wants an expression"},
		{"division by zero", "#if 1/0\na\n#endif", "", "dir/t.p4:1:6: error: division by zero in #if"},
		{"trailing condition", "#if 1 2\na\n#endif", "", `dir/t.p4:1:7: error: unexpected "2" in #if`},
		{"bad line", "#line foo\na", "a", "dir/t.p4:1:1: error: #line wants a number and perhaps a file name in quotes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := Options{IncludeDirs: []string{"inc"}}
			if c.name == "defines option" {
				opts.Defines = []string{"FOO", "BAR=2 + 3"}
			}
			got, diags := preprocessText(c.src, files, opts)
			if got != c.want || diags != c.diags {
				t.Errorf("%s\ngot  %s\nwant %s\ngot diagnostics:\n%s\nwant:\n%s", c.src, got, c.want, diags, c.diags)
			}
		})
	}
}

// Programs that would expand for ever, or to more than the machine can hold, end in one error.
func TestPreprocessLimits(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("#define A0 x x x x\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&bomb, "#define A%d A%d A%d A%d A%d\n", i, i-1, i-1, i-1, i-1)
	}
	bomb.WriteString("A39\n")
	nested := "#define F(x) x x\n" + strings.Repeat("F(", 5000) + "1" + strings.Repeat(")", 5000)
	grow := "#define F(x) x x\n" + strings.Repeat("F(", 60) + "1" + strings.Repeat(")", 60)
	for name, c := range map[string][2]string{
		"bomb":              {bomb.String(), "macros expand to more than"},
		"nested arguments":  {nested, "macro arguments are nested deeper than"},
		"growing arguments": {grow, "macros expand to more than"},
		"nested condition":  {"#if " + strings.Repeat("(", 100000) + "\n#endif", "#if is nested too deep"},
	} {
		_, diags := preprocessText(c[0], nil, Options{})
		if !strings.Contains(diags, c[1]) || strings.Count(diags, "\n") > 1 {
			t.Errorf("%s: got %.300s", name, diags)
		}
	}
}

// A diagnostic in a macro's expansion stands at the use and names the definition.
func TestExpansionNote(t *testing.T) {
	fset := diag.NewFileSet()
	_, list := ParseBytes(fset, "t.p4", []byte("#define EMPTY ;\n#define INIT = EMPTY\nconst bit x INIT\n"), Options{})
	var b strings.Builder
	if err := diag.Render(&b, fset, list); err != nil {
		t.Fatal(err)
	}
	want := `t.p4:3:13: error: expected an expression, found ";" [syntax/unexpected-token]
    const bit x INIT
                ^~~~
t.p4:2:9: note: in the expansion of macro INIT, defined here
    #define INIT = EMPTY
            ^~~~
`
	if b.String() != want {
		t.Errorf("got:\n%swant:\n%s", b.String(), want)
	}
}

func TestLineDirectiveInDiagnostics(t *testing.T) {
	expectError(t, "#line 100 \"orig.p4\"\nconst bit x 1;\n\nconst bit y 2;",
		"orig.p4:100:13: expected \"=\" behind the constant's name, found integer \"1\"\n"+
			"orig.p4:102:13: expected \"=\" behind the constant's name, found integer \"2\"")
}

func TestParseFileMissing(t *testing.T) {
	prog, list := ParseFile(diag.NewFileSet(), "no/such/file.p4", Options{})
	if prog == nil || len(list) != 1 || !strings.Contains(list[0].Message, "no/such/file.p4") {
		t.Errorf("got %v, %v", prog, list)
	}
}
