package tool

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/p4info"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// corpus is the folder of the public compiler's packet tests: CATENA_CORPUS, or
// beside the checkout.
func corpus(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CATENA_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpus: set CATENA_CORPUS to a folder of P4 programs with STF scripts (%v)", err)
	}
	return dir
}

func TestCorpus(t *testing.T) {
	all, err := Corpus(corpus(t), OpenInterpreter)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	WriteOutcomes(&b, all)
	t.Log("\n" + b.String())
	for _, o := range all {
		if o.Verdict != "pass" {
			t.Errorf("%s: %s %s", o.Program, o.Verdict, o.Detail)
		}
	}
}

// TestCorpusRandomPackets sends any bytes to all programs: none may break the
// interpreter.
func TestCorpusRandomPackets(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join(corpus(t), "*", "*.stf"))
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(3, 3))
	for _, script := range scripts {
		c, err := Compile(Source{Path: strings.TrimSuffix(script, ".stf") + ".p4"})
		if err != nil {
			t.Fatal(err)
		}
		d, err := OpenInterpreter(c)
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			data := make([]byte, rnd.IntN(80))
			for i := range data {
				data[i] = byte(rnd.Uint32())
			}
			if _, err := d.Inject(target.Packet{Port: rnd.Uint32() % 512, Data: data}); err != nil {
				t.Errorf("%s: %x: %v", script, data, err)
				break
			}
		}
	}
}

// TestCorpusPrinted prints each program, compiles the print, and demands that it does
// the same and is the same to the control plane.
func TestCorpusPrinted(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join(corpus(t), "*", "*.stf"))
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, script := range scripts {
		t.Run(BaseName(script), func(t *testing.T) {
			c, err := Compile(Source{Path: strings.TrimSuffix(script, ".stf") + ".p4"})
			if err != nil {
				t.Fatal(err)
			}
			text, err := p4text.Print(c.Program)
			if err != nil {
				t.Fatal(err)
			}
			again := &Compiled{}
			again.Program, again.Files, again.Diags = compile.Source("printed.p4", []byte(text), compile.Options{})
			if err := again.Diags.Err(again.Files); err != nil {
				t.Fatalf("%v\nof\n%s", err, text)
			}
			d, err := OpenInterpreter(again)
			if err != nil {
				t.Fatal(err)
			}
			r, err := RunSTF(again, script, d)
			if err != nil || !r.Passed {
				t.Errorf("%v %v\nof\n%s", err, r.Failures, text)
			}
			if a, b := objects(t, c.Program), objects(t, again.Program); a != b {
				t.Errorf("the control plane sees\n%s\nin place of\n%s", b, a)
			}
		})
	}
}

// objects lists the tables that are applied, with keys, actions and parameters. The
// front end keeps a table whose apply is folded away; its print does not apply it.
func objects(t *testing.T, p *ir.Program) string {
	t.Helper()
	info, err := p4info.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	applied := map[string]bool{}
	for _, c := range p.Controls() {
		ir.Walk(c.Body.Body, func(s ir.Stmt) {
			if a, ok := s.(*ir.Apply); ok {
				applied[a.Table.FullName] = true
			}
		})
	}
	actions := map[uint32]string{}
	for _, x := range info.Actions {
		text := x.Preamble.Name
		for _, k := range x.Params {
			text += " " + k.Name
		}
		actions[x.Preamble.Id] = text
	}
	var b strings.Builder
	for _, x := range info.Tables {
		if !applied[x.Preamble.Name] {
			continue
		}
		fmt.Fprintf(&b, "%d %s %d", x.Preamble.Id, x.Preamble.Name, x.Size)
		for _, k := range x.MatchFields {
			fmt.Fprintf(&b, " %s/%d", k.Name, k.Bitwidth)
		}
		for _, a := range x.ActionRefs {
			fmt.Fprintf(&b, " [%s %s]", actions[a.Id], a.Scope)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestCorpusOptimized runs the scripts on the programs as the passes leave them, and
// on their prints.
func TestCorpusOptimized(t *testing.T) {
	stages := Stages()
	last := stages[len(stages)-1]
	scripts, err := filepath.Glob(filepath.Join(corpus(t), "*", "*.stf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		t.Run(BaseName(script), func(t *testing.T) {
			c, err := Compile(Source{Path: strings.TrimSuffix(script, ".stf") + ".p4"})
			if err != nil {
				t.Fatal(err)
			}
			text, err := Dump(c, last)
			if err != nil {
				t.Fatal(err)
			}
			again := &Compiled{}
			again.Program, again.Files, again.Diags = compile.Source("printed.p4", []byte(text), compile.Options{})
			if err := again.Diags.Err(again.Files); err != nil {
				t.Fatalf("%v\nof\n%s", err, text)
			}
			d, err := OpenInterpreter(again)
			if err != nil {
				t.Fatal(err)
			}
			r, err := RunSTF(again, script, d)
			if err != nil || !r.Passed {
				t.Errorf("%v %v\nof\n%s", err, r.Failures, text)
			}
		})
	}
}
