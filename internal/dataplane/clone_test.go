package dataplane

import (
	"bytes"
	"fmt"
	"os"
	"slices"
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
	s := w.open()
	p := w.runs(s, program(t, "clone"))
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

// TestCopiesAgainOverLinks has clones and replicas of large packets start again, cut and whole ones together, and
// compares what arrives with what the interpreter sends.
func TestCopiesAgainOverLinks(t *testing.T) {
	w := newWireBed(t, ebpf.TC)
	prog := program(t, "copiesagain")
	reference, err := interp.New(prog, interp.Options{})
	must(t, err)
	s := w.open()
	p := w.runs(s, prog)
	must(t, s.AttachPort(t.Context(), PortSpec{Number: 8, Link: w.links[0]}))
	must(t, s.AttachPort(t.Context(), PortSpec{Number: 9, Link: w.links[1]}))
	for _, d := range []interface {
		WriteMulticast(target.Op, uint32, []target.Replica) error
		WriteClone(target.Op, target.CloneSession) error
	}{p, reference} {
		two := []target.Replica{{Port: 9}, {Port: 9, Instance: 1}}
		must(t, d.WriteMulticast(target.Insert, 5, two))
		must(t, d.WriteClone(target.Insert, target.CloneSession{ID: 1, Replicas: two}))
		must(t, d.WriteClone(target.Insert, target.CloneSession{ID: 2, Replicas: two[:1], Truncate: 700}))
	}
	from, to := w.raw(w.a)
	rx, _ := w.raw(w.b)
	body := unhex("88b5")
	for i := range 8000 {
		body = append(body, byte(i), byte(i>>8))
	}
	for _, x := range []struct {
		name   string
		last   byte
		length int
	}{
		{"replicas", 0x11, 1300},
		{"ingress clones", 0x12, 1300},
		{"ingress clones, short", 0x12, 60},
		{"clones of clones", 0x36, 1300},
		{"egress clones, cut", 0x24, 1300},
		{"the packet cut, its clones not", 0x1a, 1300},
		{"all", 0x3e, 1300},
		{"several times", 0x92, 1300},
	} {
		in := append(append(unhex("0200000000"), x.last, 2, 0, 0, 0, 0, 2), body[:x.length]...)
		out, err := reference.Inject(target.Packet{Port: 8, Data: in})
		must(t, err)
		want, got := []string{}, []string{}
		for _, o := range out {
			want = append(want, fmt.Sprintf("%x", o.Data))
		}
		must(t, unix.Sendto(from, in, 0, to))
		for range want {
			buf := make([]byte, 4000)
			n, _, err := unix.Recvfrom(rx, buf, 0)
			must(t, err)
			got = append(got, fmt.Sprintf("%x", buf[:n]))
		}
		slices.Sort(want)
		slices.Sort(got)
		if len(want) < 2 || !slices.Equal(want, got) {
			t.Errorf("%s:\ngot  %.80q\nwant %.80q", x.name, got, want)
		}
	}
	if n, _, err := unix.Recvfrom(rx, make([]byte, 100), unix.MSG_DONTWAIT); err == nil {
		t.Errorf("one more packet, of %d bytes", n)
	}
}
