package dataplane

import (
	"bytes"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTags sends tagged frames over real interfaces. On TC the kernel has taken the
// outer tag off before the program sees the packet; the program must see it all the
// same.
func TestTags(t *testing.T) {
	testModes(t, func(t *testing.T, w *wireBed) {
		s := w.open()
		w.runs(s, program(t, "vlan"))
		w.addPorts(s)
		from, to := w.raw(w.a)
		rx, _ := w.raw(w.b)
		for _, x := range []struct{ tags, src string }{
			{"", "020000000000"},
			{"8100 0123", "020001230000"},
			{"8100 0123 8100 0456", "020001230456"},
			{"88a8 0abc 8100 0456", "02000abc0456"},
		} {
			body := append(unhex("88b5"), bytes.Repeat([]byte{0x5a}, 50)...)
			in := append(append(unhex("020000000002 020909090909"), unhex(x.tags)...), body...)
			must(t, unix.Sendto(from, in, 0, to))
			buf := make([]byte, 200)
			n, _, err := unix.Recvfrom(rx, buf, 0)
			if want := append(unhex(fmt.Sprintf("02000000%04x", len(in))+x.src), body...); err != nil || !bytes.Equal(buf[:max(n, 0)], want) {
				t.Errorf("tags %q:\ngot  %x, %v\nwant %x", x.tags, buf[:max(n, 0)], err, want)
			}
		}
	})
}
