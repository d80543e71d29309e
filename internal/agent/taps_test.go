package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/service"
)

var _ orch.Node = (*Taps)(nil)

// bridge makes a bridge, as nova does for a network.
func bridge(t *testing.T, name string) netlink.Link {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	b := &netlink.Bridge{LinkAttrs: attrs}
	err := netlink.LinkAdd(b)
	if errors.Is(err, unix.EPERM) {
		t.Skipf("needs root with CAP_NET_ADMIN: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(name) })
	return b
}

// plug makes a tap in the bridge, as libvirt does.
func plug(t *testing.T, name string, bridge netlink.Link) {
	t.Helper()
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex = name, bridge.Attrs().Index
	if err := netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: attrs, Mode: netlink.TUNTAP_MODE_TAP}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(name) })
	up(t, name)
}

func inventoryPorts(links ...string) []service.SwitchPort {
	var out []service.SwitchPort
	for i, l := range links {
		p := service.SwitchPort{Owner: service.InventoryOwner, Number: uint32(20 + i), Port: port("id-"+l, l)}
		p.Port.ID = "id-" + l
		out = append(out, p)
	}
	return out
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 3 s", what)
		}
	}
}

func runTaps(t *testing.T, taps *Taps) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- taps.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestTaps(t *testing.T) {
	ctx := context.Background()
	br := bridge(t, "brqcttap")
	sw := &fakeSwitch{}
	file := filepath.Join(t.TempDir(), "agent.json")
	a := start(t, sw, file)
	run(t, a)
	taps := NewTaps(a)
	runTaps(t, taps)
	attached := func() string {
		ids, _ := taps.Attached()
		return fmt.Sprint(slices.Sorted(maps.Keys(ids)))
	}
	is := func(want string) func() bool { return func() bool { return attached() == want } }
	master := func(link string) int {
		l, err := netlink.LinkByName(link)
		if err != nil {
			t.Fatal(err)
		}
		return l.Attrs().MasterIndex
	}

	// One link is there before the port is known, one comes later.
	plug(t, "tapct0", br)
	if err := taps.SetInventory(ctx, inventoryPorts("tapct0", "tapct1")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first tap", is("[id-tapct0]"))
	_, changed := taps.Attached()
	plug(t, "tapct1", br)
	select {
	case <-changed:
	case <-time.After(3 * time.Second):
		t.Error("nobody was told")
	}
	eventually(t, "the second tap", is("[id-tapct0 id-tapct1]"))
	// A tap comes into its bridge a moment after it was made.
	eventually(t, "out of the bridge", func() bool { return master("tapct0") == 0 && master("tapct1") == 0 })
	if sw.index(20) != index(t, "tapct0") || sw.index(21) != index(t, "tapct1") {
		t.Errorf("the switch has %v", sw.ports)
	}

	// Who puts it back does not win.
	l, _ := netlink.LinkByName("tapct0")
	if err := netlink.LinkSetMaster(l, br); err != nil {
		t.Fatal(err)
	}
	eventually(t, "out of the bridge again", func() bool { return master("tapct0") == 0 })

	// A server that stops takes its tap along, and brings another one.
	remove("tapct1")
	eventually(t, "the tap that vanished", is("[id-tapct0]"))
	eventually(t, "its number", func() bool { return sw.index(21) == 0 })
	plug(t, "tapct1", br)
	eventually(t, "the tap that is new", is("[id-tapct0 id-tapct1]"))
	if sw.index(21) != index(t, "tapct1") {
		t.Errorf("the switch has %v", sw.ports)
	}

	// A service's port on the same node: Attach waits for its link.
	done := make(chan error, 1)
	go func() { done <- taps.Attach(ctx, shop, 7, port("web.front", "tapct2")) }()
	select {
	case err := <-done:
		t.Errorf("attached without a link: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	plug(t, "tapct2", br)
	if err := <-done; err != nil || sw.index(7) != index(t, "tapct2") {
		t.Errorf("%v; the switch has %v", err, sw.ports)
	}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if err := taps.Attach(short, shop, 8, port("db.front", "tapct9")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a link that does not come: %v", err)
	}
	eventually(t, "the service's tap", is("[id-tapct0 id-tapct1 tapct2]"))

	// After a restart nothing is lost, whoever comes first.
	again := NewTaps(start(t, sw, file))
	for range 2 { // before and after it has looked
		if ids, _ := again.Attached(); fmt.Sprint(slices.Sorted(maps.Keys(ids))) != "[id-tapct0 id-tapct1 tapct2]" {
			t.Errorf("after a restart: %v", ids)
		}
		again.look(ctx)
	}

	if err := taps.SetInventory(ctx, inventoryPorts("tapct0")); err != nil {
		t.Fatal(err)
	}
	if err := taps.Detach(ctx, shop, "web.front"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what is left", is("[id-tapct0]"))
	if sw.index(7) != 0 || sw.index(21) != 0 {
		t.Errorf("the switch has %v", sw.ports)
	}
}

// TestConsistent: the kernel says when its list is not of one moment.
func TestConsistent(t *testing.T) {
	calls := 0
	list := func() ([]netlink.Link, error) {
		if calls++; calls < 3 {
			return nil, netlink.ErrDumpInterrupted
		}
		return []netlink.Link{&netlink.Dummy{}}, nil
	}
	if all, err := consistent(list); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := consistent(func() ([]netlink.Link, error) { return nil, netlink.ErrDumpInterrupted }); !errors.Is(err, netlink.ErrDumpInterrupted) {
		t.Errorf("a list that is never of one moment: %v", err)
	}
}

// TestRemoveBridge removes an empty bridge, and neither one with a link in it nor
// another link of that name.
func TestRemoveBridge(t *testing.T) {
	taps := NewTaps(start(t, &fakeSwitch{}, filepath.Join(t.TempDir(), "agent.json")))
	br := bridge(t, "brqctrm")
	plug(t, "tapctrm", br)
	exists := func(name string) bool {
		_, err := netlink.LinkByName(name)
		return err == nil
	}
	if err := taps.RemoveBridge("brqctrm"); err == nil || !exists("brqctrm") {
		t.Errorf("with a link in it: %v", err)
	}
	remove("tapctrm")
	for range 2 { // the second time there is none
		if err := taps.RemoveBridge("brqctrm"); err != nil || exists("brqctrm") {
			t.Errorf("empty: %v", err)
		}
	}
	plug(t, "tapctrm", bridge(t, "brqctrm"))
	if err := taps.RemoveBridge("tapctrm"); err == nil || !exists("tapctrm") {
		t.Errorf("a tap: %v", err)
	}
}
