package types_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/syntax"
	"github.com/catena-nfv/catena/internal/p4/types"
)

// expectation is a comment /* ERROR "rx" */ or /* WARNING "rx" */: a complaint is to be
// made about the token behind it.
type expectation struct {
	severity diag.Severity
	at       int32
	rx       *regexp.Regexp
	met      bool
}

var comment = regexp.MustCompile(`/\* (ERROR|WARNING) ("(?:[^"\\]|\\.)*") \*/\s*`)

func expectations(t *testing.T, src []byte) []*expectation {
	t.Helper()
	var out []*expectation
	for _, m := range comment.FindAllSubmatchIndex(src, -1) {
		text, err := strconv.Unquote(string(src[m[4]:m[5]]))
		if err != nil {
			t.Fatalf("%s: %v", src[m[0]:m[1]], err)
		}
		e := &expectation{at: int32(m[1]), rx: regexp.MustCompile(text)}
		if bytes.HasPrefix(src[m[2]:], []byte("WARNING")) {
			e.severity = diag.Warning
		}
		out = append(out, e)
	}
	// Several comments may stand before one token.
	for i := len(out) - 2; i >= 0; i-- {
		if comment.Match(src[out[i].at:]) && comment.FindIndex(src[out[i].at:])[0] == 0 {
			out[i].at = out[i+1].at
		}
	}
	return out
}

// TestErrors checks the programs of testdata/errors: each complaint is expected by a
// comment before the token it is about, and each comment is met.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.p4")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".p4"), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := expectations(t, src)
			fset := diag.NewFileSet()
			prog, diags := syntax.ParseBytes(fset, file, src, syntax.Options{})
			if !diags.HasErrors() {
				info, more := types.Check(prog)
				diags.Append(more)
				if !diags.HasErrors() && bytes.Contains(src, []byte(" main;")) {
					_, more := types.Lower(info)
					diags.Append(more)
				}
			}
			for _, d := range diags.Sorted() {
				if d.Severity == diag.Warning && d.Code == types.CodeMain {
					continue
				}
				if !meet(want, d) {
					t.Errorf("%s: unexpected %s: %s [%s]", fset.Position(d.Span), d.Severity, d.Message, d.Code)
				}
			}
			for _, e := range want {
				if !e.met {
					p := fset.Position(diag.Span{File: 1, Start: e.at, End: e.at})
					t.Errorf("%s: no %s that matches %q", p, e.severity, e.rx)
				}
			}
		})
	}
}

// TestValid checks programs of which nothing is to be said but warnings.
func TestValid(t *testing.T) {
	files, err := filepath.Glob("testdata/valid/*.p4")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	for _, file := range files {
		fset := diag.NewFileSet()
		prog, diags := syntax.ParseFile(fset, file, syntax.Options{})
		if !diags.HasErrors() {
			_, more := types.Check(prog)
			diags.Append(more)
		}
		if err := diags.Err(fset); err != nil {
			t.Error(err)
		}
	}
}

func meet(want []*expectation, d *diag.Diagnostic) bool {
	for _, e := range want {
		if e.severity == d.Severity && e.at == d.Span.Start && e.rx.MatchString(d.Message) {
			e.met = true
			return true
		}
	}
	return false
}
