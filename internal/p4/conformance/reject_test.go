package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/types"
)

// complaint is a comment /* ERROR "rx" */ in a program: an error is to be given at the
// token behind it.
var complaint = regexp.MustCompile(`/\* ERROR ("(?:[^"\\]|\\.)*") \*/\s*`)

// TestReject compiles the programs of testdata/reject: each is refused with just the
// errors that it announces. Those without a main are about the language alone.
func TestReject(t *testing.T) {
	files, err := filepath.Glob("testdata/reject/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	frame, err := os.ReadFile("testdata/frame.p4")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+f.Name, func(t *testing.T) {
				refused(t, string(f.Data), frame)
			})
		}
	}
}

func refused(t *testing.T, src string, frame []byte) {
	wanted := map[int32][]*regexp.Regexp{}
	comments := complaint.FindAllStringSubmatchIndex(src, -1)
	at := 0
	for i, m := range slices.Backward(comments) {
		if i == len(comments)-1 || m[1] != comments[i+1][0] {
			at = m[1] // else several stand before one token
		}
		text, err := strconv.Unquote(src[m[2]:m[3]])
		if err != nil {
			t.Fatalf("%s: %v", src[m[0]:m[1]], err)
		}
		wanted[int32(at)] = append(wanted[int32(at)], regexp.MustCompile(text))
	}
	if len(wanted) == 0 {
		t.Fatal("the program announces no error")
	}
	fsys := fstest.MapFS{"frame.p4": {Data: frame}}
	_, fset, diags := compile.Source("t.p4", []byte(src), compile.Options{FS: fsys})
	for _, d := range diags.Sorted() {
		if d.Severity != diag.Error || d.Code == types.CodeMain {
			continue
		}
		at := wanted[d.Span.Start]
		i := slices.IndexFunc(at, func(rx *regexp.Regexp) bool { return rx.MatchString(d.Message) })
		if i < 0 {
			t.Errorf("%s: unexpected: %s [%s]", fset.Position(d.Span), d.Message, d.Code)
			continue
		}
		wanted[d.Span.Start] = slices.Delete(at, i, i+1)
	}
	for _, at := range wanted {
		for _, rx := range at {
			t.Errorf("no error that matches %q", rx)
		}
	}
}
