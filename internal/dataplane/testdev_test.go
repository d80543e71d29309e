package dataplane

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// open compiles and loads a program for a hook. Without the rights to load programs
// the test is skipped.
func open(t *testing.T, p *ir.Program, hook ebpf.Target) *TestDevice {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("loading programs into the kernel needs root")
	}
	spec, diags := ebpf.Generate(p, nil)
	if diags.HasErrors() {
		t.Fatalf("%v", diags.Err(nil))
	}
	o, err := Build(context.Background(), spec, BuildOptions{Targets: []ebpf.Target{hook}, Test: true})
	if err != nil {
		t.Fatalf("%v", err)
	}
	prog, err := Load(t.Context(), o, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := OpenTestDevice(prog, hook)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

func TestRouter(t *testing.T) {
	for _, hook := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
		t.Run(string(hook), func(t *testing.T) {
			d := open(t, router(), hook)
			err := d.WriteEntry(target.Insert, target.Entry{
				Table: "I.routes", Match: []target.Match{{Value: []byte{10, 0, 1, 0}, PrefixLen: 24}},
				Action: &target.Action{Name: "I.forward", Params: [][]byte{{7}, {2, 0, 0, 0, 0, 9}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			in := unhex("020000000002 020000000001 0800 4500001c0001000040112 5cf0a0000010a000105 00010002 0008 0000")
			out, err := d.Inject(target.Packet{Port: 3, Data: in})
			if err != nil {
				t.Fatal(err)
			}
			want := unhex("020000000009 020000000001 0800 4500001c000100003f112 6cf0a0000010a000105 00010002 0008 0000")
			if len(out) != 1 || out[0].Port != 7 || !bytes.Equal(out[0].Data, want) {
				t.Fatalf("got %x\nwant port 7 %x", out, want)
			}
			in[33] = 0
			in[32] = 9 // another network
			if out, err := d.Inject(target.Packet{Port: 3, Data: in}); err != nil || len(out) != 0 {
				t.Errorf("no route: got %x, %v", out, err)
			}
			es, def, err := d.ReadEntries("I.routes")
			if err != nil || len(es) != 1 || es[0].Counter == nil || es[0].Counter.Packets != 1 || es[0].Counter.Bytes != 42 || def.Name != "I.drop" {
				t.Errorf("entries %+v, default %+v, %v", es, def, err)
			}
		})
	}
}
