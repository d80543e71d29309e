package local

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/cloud/guest"
	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

const (
	dnsmasqFile = "dnsmasq.conf"
	hostsFile   = "hosts"
	dnsPort     = 53
)

// dnsServer fills in an instance that answers for the zone with dnsmasq. Changed
// records are read again by the running program.
func dnsServer(inst *instance, spec service.DNSSpec, dir string) {
	config := guest.Dnsmasq(inst.ports, spec, filepath.Join(dir, hostsFile))
	inst.files = map[string]string{dnsmasqFile: config, hostsFile: guest.Hosts(spec)}
	inst.restart = []any{config}
	inst.args = []string{"dnsmasq", "--keep-in-foreground", "--conf-file=" + dnsmasqFile}
	inst.reload = unix.SIGHUP
	server := netip.AddrPortFrom(inst.ports[0].IP.Addr(), dnsPort)
	inst.ready = func(ctx context.Context, ns *netns.NS) error { return answersAll(ctx, ns, server, spec) }
}

// answersAll asks for every name of the zone and compares; without any it asks
// for a name that must be unknown.
func answersAll(ctx context.Context, ns *netns.NS, server netip.AddrPort, spec service.DNSSpec) error {
	want := map[string][]netip.Addr{}
	var names []string
	for _, r := range spec.Records {
		if want[r.Name] == nil {
			names = append(names, r.Name)
		}
		want[r.Name] = append(want[r.Name], r.IP)
	}
	for _, name := range names {
		got, err := LookupA(ctx, ns, server, name+"."+spec.Zone)
		if err != nil {
			return err
		}
		for _, ip := range want[name] {
			if !slices.Contains(got, ip) {
				return fmt.Errorf("name %q at %s: %v, not %s", name+"."+spec.Zone, server, got, ip)
			}
		}
	}
	if len(names) > 0 {
		return nil
	}
	_, err := LookupA(ctx, ns, server, "none."+spec.Zone)
	if errors.Is(err, RcodeError(dns.RcodeNameError)) {
		return nil
	}
	if err == nil {
		return errors.New("it knows a name that nobody has")
	}
	return err
}
