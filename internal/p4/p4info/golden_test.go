package p4info_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/p4info"
)

var update = flag.Bool("update", false, "write the P4Info into the archives")

// TestGolden compares the P4Info of each archive's in.p4 with its p4info.txtpb, and
// checks that text and binary mean the same and that ids lead to objects and back.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no archives", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil || len(a.Files) != 2 || a.Files[0].Name != "in.p4" || a.Files[1].Name != "p4info.txtpb" {
				t.Fatal("the archive must have in.p4 and p4info.txtpb", err)
			}
			p, fset, diags := compile.Source("in.p4", a.Files[0].Data, compile.Options{})
			if err := diags.Err(fset); err != nil {
				t.Fatal(err)
			}
			info, err := p4info.Build(p)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p4info.Text(info)
			if err != nil {
				t.Fatal(err)
			}
			checkForms(t, info, got)
			x := p4info.NewIndex(p, info)
			for _, tab := range info.Tables {
				id := tab.Preamble.Id
				if o := x.Object(id); o == nil || x.ID(o) != id {
					t.Errorf("table %s: id %d leads to %v", tab.Preamble.Name, id, o)
				}
			}
			if *update {
				a.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(a.Files[1].Data); got != want {
				t.Errorf("P4Info is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func checkForms(t *testing.T, info *configv1.P4Info, text string) {
	t.Helper()
	var fromText, fromBinary configv1.P4Info
	if err := prototext.Unmarshal([]byte(text), &fromText); err != nil || !proto.Equal(&fromText, info) {
		t.Errorf("the text means something else: %v", err)
	}
	b, err := p4info.Binary(info)
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(b, &fromBinary); err != nil || !proto.Equal(&fromBinary, info) {
		t.Errorf("the binary means something else: %v", err)
	}
}
