package e2e

import (
	"errors"
	"testing"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
)

// TestChainLoads composes a chain of four NFs with each backbone and runs it on both
// hooks: as text over P4Runtime, as the controller does it.
func TestChainLoads(t *testing.T) {
	lib, err := nf.Open("")
	if err != nil {
		t.Fatal(err)
	}
	d, err := chain.Linear("dc", nil, "IDS", "Firewall", "NAT", "L3fwd")
	if err != nil {
		t.Fatal(err)
	}
	g, err := chain.Merge([]chain.DAG{d}, chain.MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var nfs []compose.NF
	for _, n := range lib.All() {
		nfs = append(nfs, compose.NF{Name: n.Name, Program: n.Program})
	}
	modes(t, func(t *testing.T, mode ebpf.Target) {
		b := newBed(t, mode, 0)
		c := b.client(client.Config{})
		for _, name := range nf.Backbones() {
			backbone, err := lib.Backbone(name)
			if err != nil {
				t.Fatal(err)
			}
			composed, diags := compose.Compose(backbone, nfs, g, compose.Options{})
			if err := diags.Err(lib.FileSet()); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			text, err := p4text.Print(composed.Program)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			err = c.SetPipeline(t.Context(), client.Reconcile, client.Pipeline{DeviceConfig: []byte(text)})
			if mode == ebpf.XDP && name != "wire" && errors.Is(err, target.ErrUnsupported) {
				t.Logf("%s: %v", name, err)
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
