package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/conformance"
)

// TestConformancePage compares docs/p4-conformance.md with what `catena p4 conformance`
// prints: the part about the project's own programs always, that about the public
// compiler's where they are, in CATENA_CORPUS or beside the checkout.
func TestConformancePage(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can load programs into the kernel")
	}
	root := filepath.Join("..", "..")
	corpus := os.Getenv("CATENA_CORPUS")
	if corpus == "" {
		corpus = filepath.Join(root, "..", "shared", "corpus")
	}
	if _, err := os.Stat(corpus); err != nil {
		t.Logf("no corpus: %v", err)
		corpus = ""
	}
	var b bytes.Buffer
	own := filepath.Join(root, "internal", "p4", "conformance", "testdata")
	if err := conformance.Write(&b, own, corpus, conformance.Targets(kernel{})); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(root, "docs", "p4-conformance.md")
	if *update && corpus != "" {
		if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want, got := string(data), b.String()
	if !conformance.SameSet(want, got) {
		// The page is about another set, or there is none here.
		var theirs string
		want, _, _ = strings.Cut(want, conformance.CorpusHeading)
		got, theirs, _ = strings.Cut(got, conformance.CorpusHeading)
		t.Logf("not the page's set of programs:\n%s", theirs)
		if strings.Contains(theirs, "| fail |") {
			t.Error("a wrong answer")
		}
	}
	wants := strings.Split(want, "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(wants) || line != wants[i] {
			t.Fatalf("%s:%d: the command prints\n%s\nrun this test with -update", page, i+1, line)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s has more than the command prints; run this test with -update", page)
	}
}
