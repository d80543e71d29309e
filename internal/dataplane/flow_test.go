package dataplane

import (
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// TestFlowsAge writes values with a second to live: they are there as long as they are
// read, and gone after they were not.
func TestFlowsAge(t *testing.T) {
	p := program(t, "flows")
	send := func(d target.Device, op byte) byte {
		t.Helper()
		data := append(unhex("000000000000 020000000001 0800"), op, 0, 0, 0, 0, 7)
		out, err := d.Inject(target.Packet{Port: 1, Data: append(data, make([]byte, 40)...)})
		must(t, err)
		if len(out) != 1 {
			t.Fatalf("%d packets", len(out))
		}
		return out[0].Data[14+6+4] // the last byte of what ingress read
	}
	try := func(t *testing.T, d target.Device, sleep func(time.Duration)) {
		send(d, 3)
		for range 3 {
			sleep(700 * time.Millisecond)
			if send(d, 0) != 7 {
				t.Fatal("a value that is read every 0.7 s is gone")
			}
		}
		sleep(2100 * time.Millisecond)
		if v := send(d, 0); v != 0 {
			t.Errorf("after two idle seconds the value is %d", v)
		}
	}
	t.Run("interp", func(t *testing.T) {
		var now time.Duration
		d, err := interp.New(p, interp.Options{Now: func() time.Duration { return now }})
		must(t, err)
		try(t, d, func(d time.Duration) { now += d })
	})
	for _, hook := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
		t.Run(string(hook), func(t *testing.T) {
			t.Parallel()
			try(t, open(t, p, hook), time.Sleep)
		})
	}
}
