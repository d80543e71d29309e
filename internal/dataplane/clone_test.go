package dataplane

import (
	"bytes"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/stf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// TestCloneScript runs one script on the interpreter and in the kernel.
func TestCloneScript(t *testing.T) {
	const file = "testdata/p4/clone.stf"
	text, err := os.ReadFile(file)
	must(t, err)
	script, err := stf.Parse(file, string(text))
	must(t, err)
	p := program(t, "clone")
	reference, err := interp.New(p, interp.Options{})
	must(t, err)
	for name, d := range map[string]target.Device{"interp": reference, "tc": open(t, p, ebpf.TC)} {
		t.Run(name, func(t *testing.T) {
			for _, f := range stf.Run(script, p, d).Failures {
				t.Error(f)
			}
		})
	}
}

// TestClonesOverLinks sends clones over real interfaces, where those that are cut leave
// the packet without its end for a moment.
func TestClonesOverLinks(t *testing.T) {
	w := newWireBed(t, ebpf.TC)
	spec, diags := ebpf.Generate(program(t, "clone"), nil)
	if diags.HasErrors() {
		t.Fatal(diags.Err(nil))
	}
	s := w.open()
	o, err := Build(t.Context(), spec, BuildOptions{CacheDir: w.cache, Targets: s.Hooks()})
	must(t, err)
	p, err := Load(o, LoadOptions{})
	must(t, err)
	must(t, s.Run(p))
	must(t, s.AttachPort(t.Context(), PortSpec{Number: 8, Link: w.links[0]}))
	must(t, s.AttachPort(t.Context(), PortSpec{Number: 9, Link: w.links[1]}))
	to9 := func(n int) []target.Replica { return make([]target.Replica, n) }
	short, long := to9(2), to9(3)
	for _, rs := range [][]target.Replica{short, long} {
		for i := range rs {
			rs[i].Port = 9
		}
	}
	must(t, p.WriteClone(target.Insert, target.CloneSession{ID: 100, Replicas: short, Truncate: 40}))
	must(t, p.WriteClone(target.Insert, target.CloneSession{ID: 2, Replicas: long, Truncate: 700}))
	must(t, p.WriteClone(target.Insert, target.CloneSession{ID: 3, Replicas: short}))
	from, to := w.raw(w.a)
	rx, _ := w.raw(w.b)
	body := append(unhex("88b5"), bytes.Repeat([]byte{0x5a}, 1300)...)
	for _, x := range []struct {
		name, dst string
		lengths   []int
	}{
		{"neither", "020000000000", []int{1314}},
		{"cut at ingress", "020000000001", []int{40, 40, 1314}},
		{"cut at egress", "020000220000", []int{700, 700, 700, 1314}},
		{"both, the longer one first", "020000220001", []int{40, 40, 700, 700, 700, 700, 700, 700, 700, 700, 700, 1314}},
		{"cut and whole", "020000320001", []int{40, 40, 1314, 1314, 1314, 1314, 1314, 1314, 1314}},
	} {
		in := append(append(unhex(x.dst), unhex("020000000002")...), body...)
		must(t, unix.Sendto(from, in, 0, to))
		left := map[int]int{}
		for _, n := range x.lengths {
			left[n]++
		}
		for range x.lengths {
			buf := make([]byte, 2000)
			n, _, err := unix.Recvfrom(rx, buf, 0)
			if err != nil || !bytes.Equal(buf[:max(n, 0)], in[:max(n, 0)]) {
				t.Fatalf("%s:\ngot  %x, %v\nwant %x", x.name, buf[:max(n, 0)], err, in)
			}
			left[n]--
		}
		for n, k := range left {
			if k != 0 {
				t.Errorf("%s: %d packets of %d bytes are missing (less than 0: too many)", x.name, k, n)
			}
		}
	}
}
