package local

import (
	"context"
	"net/netip"
	"strconv"

	"github.com/catena-nfv/catena/internal/cloud/guest"
	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

const haproxyFile = "haproxy.cfg"

// loadBalancer fills in an instance that spreads connections with haproxy over
// the members that pass their health check. A changed configuration starts a new
// haproxy that takes the listening port over; the old one serves its open
// connections to their end.
func loadBalancer(inst *instance, spec service.LoadBalancerSpec) {
	config := guest.HAProxy(inst.name, spec)
	inst.files = map[string]string{haproxyFile: config}
	inst.restart = []any{config}
	inst.args = []string{"haproxy", "-db", "-f", haproxyFile}
	inst.takeOver = func(old int) []string { return []string{"-sf", strconv.Itoa(old)} }
	listen := netip.AddrPortFrom(inst.ports[0].IP.Addr(), uint16(spec.Port))
	inst.ready = func(ctx context.Context, ns *netns.NS) error {
		return DialTCP(ctx, ns, listen)
	}
}
