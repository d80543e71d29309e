package verify_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/compose/verify"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/compile"
)

// TestArchives compares the chains of the composer's goldens, whose NFs have what the
// library's lack: headers, parsers, registers and types of their own. What changes a
// header that others have parsed already is found.
func TestArchives(t *testing.T) {
	l := library(t)
	for _, tt := range []struct {
		file, chains string
		equal        bool
		kernel       bool // too
	}{
		{file: "copies", equal: true, kernel: true},
		{file: "externs", equal: true, kernel: true},
		{"externs", "Mark before NAT\nEnd_of_Request\nFirewall before Mark before LB\nEnd_of_Request\nLB before Mark before L3fwd", true, false},
		{file: "headers", equal: true, kernel: true},
		{"headers", "NAT before Tag before LB\nEnd_of_Request\nFirewall before Tag", false, false},
		{"headers", "Firewall before NAT before Tag\nEnd_of_Request\nNAT before Tag before L2fwd", true, false},
	} {
		t.Run(tt.file, func(t *testing.T) {
			a, err := txtar.ParseFile(filepath.Join("..", "testdata", tt.file+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			var more []compose.NF
			text := tt.chains
			for _, f := range a.Files {
				name, isP4 := strings.CutSuffix(f.Name, ".p4")
				switch {
				case f.Name == "chains.sfc" && text == "":
					text = string(f.Data)
				case isP4 && name != "out":
					o := nf.Options()
					o.FileSet = l.FileSet()
					p, _, diags := compile.Source(f.Name, f.Data, o)
					if err := diags.Err(l.FileSet()); err != nil {
						t.Fatal(err)
					}
					more = append(more, compose.NF{Name: name, Program: p})
				}
			}
			cfg := configOf(t, l, requests(t, l, text), chain.StrategyBeam, compose.Options{CopyTables: tt.file == "copies"}, more...)
			cfg.Packets = 150
			if tt.equal {
				check(t, cfg)
			}
			if tt.kernel && os.Geteuid() == 0 {
				cfg.Program = printed(t, l, cfg.Composed.Program)
				cfg.Open = kernel(t, ebpf.TC)
				check(t, cfg)
			}
			if tt.equal {
				return
			}
			r, err := verify.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if r.Counterexample == nil {
				t.Error("equal")
			}
			t.Log(fmt.Sprint(r.Counterexample))
		})
	}
}
