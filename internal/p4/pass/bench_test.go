package pass

import (
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/ir"
)

// eightyNodes is about the size of the merge of 128 chains: 80 nodes.
func eightyNodes(b *testing.B) *ir.Program {
	names := []string{"IDS", "Firewall", "NAT", "LB", "L3fwd", "L2fwd"}
	var nfs []string
	for i := range 80 {
		nfs = append(nfs, names[i%len(names)])
	}
	return composed(b, "vrouter", nfs...)
}

func statements(p *ir.Program) int {
	n := 0
	bodies(p, func(ss []ir.Stmt) []ir.Stmt {
		ir.Walk(ss, func(ir.Stmt) { n++ })
		return ss
	})
	return n
}

// BenchmarkRun is the time of all passes on a large program.
func BenchmarkRun(b *testing.B) {
	p := eightyNodes(b)
	for b.Loop() {
		b.StopTimer()
		q := ir.Copy(p)
		b.StartTimer()
		Run(q, Options{})
	}
	b.ReportMetric(float64(statements(p)), "statements")
}

// BenchmarkPasses is the time of each pass, on what those before it leave.
func BenchmarkPasses(b *testing.B) {
	p := eightyNodes(b)
	for i, q := range passes() {
		b.Run(q.name, func(b *testing.B) {
			before := ir.Copy(p)
			for _, earlier := range passes()[:i] {
				earlier.run(before)
			}
			for b.Loop() {
				b.StopTimer()
				c := ir.Copy(before)
				b.StartTimer()
				q.run(c)
			}
		})
	}
}

// BenchmarkCompile is the time from the text of a large program to the end of the
// passes.
func BenchmarkCompile(b *testing.B) {
	text, err := p4text.Print(eightyNodes(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p, fset, diags := compile.Source("eighty.p4", []byte(text), compile.Options{})
		if err := diags.Err(fset); err != nil {
			b.Fatal(err)
		}
		Run(p, Options{})
	}
	b.ReportMetric(float64(strings.Count(text, "\n")), "lines")
}
