package dataplane

import (
	"errors"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// TestWholeChecksums attaches veths whose peers leave checksums to a NIC.
func TestWholeChecksums(t *testing.T) {
	w := newWireBed(t, ebpf.TC)
	s := w.open()
	spec := wireSpec(1)
	spec.WholeChecksums = true
	o, err := Build(t.Context(), spec, BuildOptions{CacheDir: w.cache, Targets: s.Hooks()})
	must(t, err)
	load := func() *Program {
		p, err := Load(t.Context(), o, LoadOptions{})
		must(t, err)
		return p
	}
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, target.ErrUnsupported) || !strings.Contains(err.Error(), "port 1 ("+w.links[0]+")") {
			t.Errorf("got %v", err)
		}
	}
	// The program meets a port, and a port the program.
	must(t, s.AddPort(t.Context(), 1, w.links[0]))
	p := load()
	refused(s.Run(p))
	must(t, p.Close())
	if s.Running() != nil {
		t.Error("it runs")
	}
	must(t, s.RemovePort(t.Context(), 1))
	must(t, s.Run(load()))
	refused(s.AddPort(t.Context(), 1, w.links[0]))
	if n := len(s.Ports()); n != 0 {
		t.Errorf("%d ports", n)
	}
	must(t, s.AttachPort(t.Context(), PortSpec{Number: 1, Link: w.links[0], WholeChecksums: true}))
}
