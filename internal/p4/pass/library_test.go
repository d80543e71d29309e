package pass

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/p4info"
	"github.com/catena-nfv/catena/internal/p4/stf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// TestLibrary compares the NF programs and the backbones with what the passes make of
// them, on the packets of their scripts and many like these.
func TestLibrary(t *testing.T) {
	files, err := filepath.Glob("../../nf/*/*.stf")
	if err != nil || len(files) < 9 {
		t.Fatalf("only %d programs: %v", len(files), err)
	}
	for _, f := range files {
		comparePrograms(t, f)
		compareAtRandom(t, strings.TrimSuffix(f, ".stf")+".p4")
	}
}

// TestCorpus does the same with the public compiler's test programs, where they are
// at hand: in CATENA_CORPUS, or beside the checkout.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("CATENA_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpus: set CATENA_CORPUS to a folder of P4 programs with STF scripts (%v)", err)
	}
	if testing.Short() {
		t.Skip("the corpus takes a while")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.p4"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if filepath.Base(filepath.Dir(f)) == "reject" {
			continue
		}
		if script := strings.TrimSuffix(f, ".p4") + ".stf"; exists(script) {
			if comparePrograms(t, script) {
				n++
			}
		}
		if compareAtRandom(t, f) {
			n++
		}
	}
	t.Logf("%d comparisons of %d programs", n, len(files))
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// compareAtRandom compares a program with entries and packets made at random. It is
// false if it does not compile.
func compareAtRandom(t *testing.T, file string) (compiled bool) {
	t.Helper()
	p, _, diags := compile.File(file, compile.Options{IncludeDirs: []string{"../../nf/include"}})
	if diags.HasErrors() {
		return false
	}
	name := filepath.Base(file)
	if err := ir.Verify(p); err != nil {
		t.Errorf("%s: the front end's program is malformed: %v", name, err)
		return true
	}
	packets := append(traffic(1, 40), noise(2, 60)...)
	compareOn(t, name, p, func(sw *interp.Switch) error { return populate(sw, p, 1) }, packets)
	compareText(t, name, p, packets)
	return true
}

// compareText prints what the passes leave of a program as P4 and compares that.
func compareText(t *testing.T, name string, p *ir.Program, packets []target.Packet) {
	t.Helper()
	p = ir.Copy(p)
	Run(p, Options{})
	text, err := p4text.Print(p)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	q, fset, diags := compile.Source(name, []byte(text), compile.Options{})
	if err := diags.Err(fset); err != nil {
		t.Errorf("%s: the text behind the passes is rejected: %v", name, err)
		return
	}
	a := behaviour(t, p, func(sw *interp.Switch) error { return populate(sw, p, 1) }, packets)
	b := behaviour(t, q, func(sw *interp.Switch) error { return populate(sw, q, 1) }, packets)
	if a != b {
		t.Errorf("%s: the text behind the passes is another program:\n%s", name, firstDifference(a, b))
	}
}

// noise makes packets of small numbers.
func noise(seed uint64, n int) []target.Packet {
	r := newRand(seed)
	var out []target.Packet
	for range n {
		data := make([]byte, r.IntN(80))
		for i := range data {
			data[i] = byte(r.IntN(3))
		}
		out = append(out, target.Packet{Port: uint32(r.IntN(4)), Data: data})
	}
	return out
}

// comparePrograms compiles the program that a script is for and compares it before
// and after the passes. It is false if the program does not compile, which is not for
// this test to judge.
func comparePrograms(t *testing.T, script string) (compiled bool) {
	t.Helper()
	name := strings.TrimSuffix(filepath.Base(script), ".stf")
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	s, err := stf.Parse(script, string(text))
	if err != nil {
		return false
	}
	p, _, diags := compile.File(strings.TrimSuffix(script, ".stf")+".p4", compile.Options{IncludeDirs: []string{"../../nf/include"}})
	if diags.HasErrors() {
		return false
	}
	if err := ir.Verify(p); err != nil {
		t.Errorf("%s: the front end's program is malformed: %v", name, err)
		return true
	}
	q := ir.Copy(p)
	for _, d := range Run(q, Options{Verify: true}) {
		t.Errorf("%s: %s", name, d.Message)
	}
	if a, b := info(t, p), info(t, q); a != b {
		t.Errorf("%s: the P4Info is another behind the passes:\n%s", name, firstDifference(a, b))
	}
	if a, b := failures(t, s, p), failures(t, s, q); a != b {
		t.Errorf("%s: the script says before the passes:\n%s\nand behind them:\n%s", name, a, b)
		return true
	}
	compareOn(t, name, p, func(sw *interp.Switch) error { return stf.Configure(s, p, sw) }, mutate(s))
	return true
}

func info(t *testing.T, p *ir.Program) string {
	t.Helper()
	i, err := p4info.Build(p)
	if err != nil {
		return err.Error()
	}
	text, err := p4info.Text(i)
	if err != nil {
		return err.Error()
	}
	return text
}

func failures(t *testing.T, s *stf.Script, p *ir.Program) string {
	t.Helper()
	sw, err := interp.New(p, interp.Options{MaxSteps: 20000, MaxPasses: 50})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range stf.Run(s, p, sw).Failures {
		out = append(out, f.Error())
	}
	return strings.Join(out, "\n")
}

// mutate makes packets like those of a script: with changed bytes, shorter, longer,
// on other ports.
func mutate(s *stf.Script) []target.Packet {
	var out []target.Packet
	r := rand.New(rand.NewPCG(7, 7))
	for _, st := range s.Stmts {
		k, ok := st.Cmd.(*stf.Packet)
		if !ok || len(out) > 300 {
			continue
		}
		out = append(out, target.Packet{Port: k.Port, Data: k.Data})
		for range 12 {
			data := append([]byte(nil), k.Data...)
			for range r.IntN(3) {
				if len(data) > 0 {
					data[r.IntN(len(data))] ^= byte(1 << r.IntN(8))
				}
			}
			switch r.IntN(4) {
			case 0:
				data = data[:r.IntN(len(data)+1)]
			case 1:
				data = append(data, byte(r.IntN(256)), byte(r.IntN(256)))
			}
			port := k.Port
			if r.IntN(4) == 0 {
				port = uint32(r.IntN(8))
			}
			out = append(out, target.Packet{Port: port, Data: data})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Port < out[j].Port })
	return out
}
