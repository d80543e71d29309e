package syntax

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

var errorComment = regexp.MustCompile(`/\* ERROR "([^"]*)" \*/`)

// TestErrors parses testdata/errors. A comment /* ERROR "rx" */ stands before the token at which a
// diagnostic matching rx is expected, on the same line; each comment wants one, and no others may be.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.p4")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fset := diag.NewFileSet()
			_, list := ParseBytes(fset, file, src, Options{})
			want := map[string]string{} // line:column of the token behind the comment → rx
			for i, line := range strings.Split(string(src), "\n") {
				for _, m := range errorComment.FindAllStringSubmatchIndex(line, -1) {
					rest := line[m[1]:]
					col := m[1] + len(rest) - len(strings.TrimLeft(rest, " ")) + 1
					want[fmt.Sprintf("%d:%d", i+1, col)] = line[m[2]:m[3]]
				}
			}
			for _, d := range list.Sorted() {
				pos := fset.Position(d.Span)
				key := fmt.Sprintf("%d:%d", pos.Line, pos.Column)
				rx, ok := want[key]
				if !ok {
					t.Errorf("%s: unexpected: %s", pos, d.Message)
					continue
				}
				if !regexp.MustCompile(rx).MatchString(d.Message) {
					t.Errorf("%s: got %q, want a match for %q", pos, d.Message, rx)
				}
				delete(want, key)
			}
			var missing []string
			for key, rx := range want {
				missing = append(missing, key+": "+rx)
			}
			sort.Strings(missing)
			for _, m := range missing {
				t.Errorf("no diagnostic at %s", m)
			}
		})
	}
}

func TestErrorMessages(t *testing.T) {
	for _, c := range [][2]string{
		{"bit<8> x;", "t.p4:1:8: x is a variable, which the top level cannot have: make it const or move it into a parser or control"},
		{"const bit x = 1", "t.p4:1:16: expected \";\" behind the constant, found end of file"},
		{"struct S { bit a }", "t.p4:1:18: expected \";\" behind the field, found \"}\""},
		{"struct S {\n bit a\n bit b;\n}", "t.p4:2:7: expected \";\" behind the field, found keyword \"bit\""},
		{"table t {}", "t.p4:1:1: a table belongs into a control"},
		{"value_set<bit>(1) x;", "t.p4:1:1: a value_set belongs into a parser"},
		{"state s { }", "t.p4:1:1: a state belongs into a parser"},
		{"}", "t.p4:1:1: } closes nothing"},
		{"control C() { action a() {} }", "t.p4:1:9: control C has no apply block"},
		{"parser P() { }", "t.p4:1:8: parser P has no states"},
		{"control C() { apply {} bit x; }", "t.p4:1:24: the apply block must be the last element of a control"},
		{"parser P() { state s {} bit x; }", "t.p4:1:25: the parser's local declarations stand before its states"},
		{"parser P() { state s { transition accept; x = 1; } }", "t.p4:1:43: transition must be the last statement of a state"},
		{"parser P() { state s { if (a) { switch (x) {} } else exit; } }",
			"t.p4:1:33: a parser state cannot have the statement switch\nt.p4:1:54: a parser state cannot have the statement exit"},
		{"control C() { apply { if (a) bit x; } }", "t.p4:1:30: a declaration cannot be the only statement of if: put braces around it"},
		{"control C() { apply { x; } }", "t.p4:1:24: expected an assignment or a call, found \";\""},
		{"control C() { apply { 1 = x; } }", "t.p4:1:23: expected a statement, found integer \"1\""},
		{"control C() { apply { switch (x) { {1}: {} } } }", "t.p4:1:36: a label cannot begin with {: put parentheses around it"},
		{"enum bit<8> E { A }", "t.p4:1:19: expected \"=\" behind the member: each member of an enum with a type has a value, found \"}\""},
		{"type struct S {} t;", "t.p4:1:6: type wants the name of a type: declare it first"},
		{"const bit x = 8w256x;", "t.p4:1:15: 'x' is not a digit in base 10 in literal 8w256x"},
		{"const bit x = 0b12;", "t.p4:1:15: '2' is not a digit in base 2 in literal 0b12"},
		{"const bit x = 0x;", "t.p4:1:15: literal 0x has no digits"},
		{"const bit x = 8w_;", "t.p4:1:15: literal 8w_ has no digits"},
		{"const bit x = 99999999w1;", "t.p4:1:15: width of literal is over the limit of 65536 bits"},
		{"const bit x = 0x" + strings.Repeat("f", maxLiteralDigits+1) + ";", "t.p4:1:15: literal has 10001 digits, the limit is 10000"},
		{"const string x = \"abc;\nconst bit y = 1;", "t.p4:1:18: string is not closed: \" is missing\nt.p4:1:23: expected \";\" behind the constant, found keyword \"const\""},
		{"const bit x = 1; /* abc", "t.p4:1:18: comment is not closed: */ is missing"},
		{"const bit x = 1 $;", "t.p4:1:17: expected \";\" behind the constant, found character \"$\""},
		{"@a(1 const bit x = 1;", "t.p4:1:3: the annotation is not closed: ) is missing"},
		{"list<bit, bit> f() {}", "t.p4:1:1: list wants one type argument"},
		{"const varbit x = 1;", "t.p4:1:14: expected \"<\" behind varbit, found identifier \"x\""},
		{"const bit<W> x = 1;", "t.p4:1:11: expected a number or an expression in parentheses as the width, found identifier \"W\""},
	} {
		expectError(t, c[0], c[1])
	}
}

// One run reports the independent mistakes of several declarations and statements, each once.
func TestRecovery(t *testing.T) {
	expectError(t, `struct A { bit<8> ; bit<8> ok; bit }
header B { bit<8> x; }
control C(inout B b) {
    action a( { b.x = 1; }
    table t {
        key = { b.x exact; }
        actions = { a; }
        size = ;
    }
    apply {
        b.x = = 1;
        if (b.x == ) { b.x = 2; } else { b.x = 3; }
        b.x = { 1, 2 3 };
        b.x = 4;
    }
}
const bit z 5;
`, `t.p4:1:19: expected a field name, found ";"
t.p4:1:36: expected a field name, found "}"
t.p4:4:15: expected a type, found "{"
t.p4:6:21: expected ":" behind the expression of the key, found identifier "exact"
t.p4:8:16: expected an expression, found ";"
t.p4:11:15: expected an expression, found "="
t.p4:12:20: expected an expression, found ")"
t.p4:13:22: expected "}" to close the list, found integer "3"
t.p4:17:13: expected "=" behind the constant's name, found integer "5"`)
	// A missing brace ends at the next declaration of the top level.
	expectError(t, "control C() {\n  apply {\n    x = 1;\n\nheader H { bit<8> x; }\nconst bit y 1;",
		"t.p4:3:11: block is not closed: } is missing\nt.p4:6:13: expected \"=\" behind the constant's name, found integer \"1\"")
}

func TestTooManyErrors(t *testing.T) {
	_, got := parseText(t, strings.Repeat("const bit x;\n", 200))
	if n := strings.Count(got, "\n") + 1; n != maxErrors+1 || !strings.Contains(got, "too many syntax errors") {
		t.Errorf("got %d diagnostics:\n%s", n, got)
	}
}

// Deep nesting is an error, not a stack overflow, and speculation does not make it exponential.
func TestNesting(t *testing.T) {
	deep := func(open, inner, closing string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(closing, n)
	}
	const n = 20000
	for name, src := range map[string]string{
		"parentheses": "const int c = " + deep("(", "1", ")", n) + ";",
		"casts":       "header T {} const int c = " + deep("(T)", "1", "", n) + ";",
		"stack casts": "header T {} const int c = " + deep("(T[", "1", "])x", n) + ";",
		"generics":    "header T {} const int c = " + deep("f<T[", "1", "]>(1)", n) + ";",
		"lists":       "const int c = " + deep("{", "1", "}", n) + ";",
		"unary":       "const int c = " + deep("-", "1", "", n) + ";",
		"ternary":     "const int c = " + deep("a?1:", "1", "", n) + ";",
		"types":       "const " + deep("tuple<", "bit", ">", n) + " c = 1;",
		"blocks":      "control C() { apply " + deep("{", "", "}", n) + "}",
		"ifs":         "control C() { apply {" + deep("if (a) ", ";", "", n) + "} }",
		"calls":       "const int c = " + deep("f(", "1", ")", n) + ";",
		"sum":         "const int c = 1" + strings.Repeat("+1", n) + ";",
		"members":     "const int c = a" + strings.Repeat(".a", n) + ";",
		"stack types": "const T" + strings.Repeat("[1]", n) + " c = 1;",
		"else-ifs":    "control C() { apply {" + strings.Repeat("if (a) ; else ", n) + "; } }",
	} {
		_, got := parseText(t, src)
		if !strings.Contains(got, "nested deeper") && !strings.Contains(got, "in one row") {
			t.Errorf("%s: got %.300q", name, got)
		}
	}
	// A long row of else-ifs, as generators write it, is not deep.
	_, got := parseText(t, "control C() { apply {"+strings.Repeat("if (a) ; else ", maxChain-1)+"; } }")
	if got != "" {
		t.Errorf("else-ifs: %s", got)
	}
}
