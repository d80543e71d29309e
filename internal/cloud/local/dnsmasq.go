package local

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"

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
	config := dnsmasqConfig(inst.ports, spec, dir)
	inst.files = map[string]string{dnsmasqFile: config, hostsFile: dnsHosts(spec)}
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

// dnsmasqConfig names files by their full paths: dnsmasq leaves its working directory.
func dnsmasqConfig(ports []service.Port, spec service.DNSSpec, dir string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("user=root") // the instance's folder is for root alone
	line("pid-file=")
	line("log-facility=-")
	// Nothing of the host's own resolver gets in.
	line("no-resolv")
	line("no-poll")
	line("no-hosts")
	line("bind-interfaces")
	for _, p := range ports {
		line("listen-address=%s", p.IP.Addr())
	}
	line("addn-hosts=%s", filepath.Join(dir, hostsFile))
	line("local=/%s/", spec.Zone) // unknown names of the zone do not exist, whatever upstream says
	line("local-ttl=5")
	line("cache-size=1000")
	for _, up := range spec.Upstream {
		line("server=%s", up)
	}
	return b.String()
}

// dnsHosts is a hosts file; it gives both directions, names and addresses.
func dnsHosts(spec service.DNSSpec) string {
	var b strings.Builder
	for _, r := range spec.Records {
		fmt.Fprintf(&b, "%s %s.%s\n", r.IP, r.Name, spec.Zone)
	}
	return b.String()
}
