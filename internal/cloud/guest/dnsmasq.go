package guest

import (
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// Dnsmasq writes the configuration of a name server whose hosts file (see Hosts) is
// hosts. It names files by their full paths: dnsmasq leaves its working directory.
func Dnsmasq(ports []service.Port, spec service.DNSSpec, hosts string) string {
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
	line("addn-hosts=%s", hosts)
	line("local=/%s/", spec.Zone) // unknown names of the zone do not exist, whatever upstream says
	line("local-ttl=5")
	line("cache-size=1000")
	for _, up := range spec.Upstream {
		line("server=%s", up)
	}
	return b.String()
}

// Hosts is a hosts file; it gives both directions, names and addresses.
func Hosts(spec service.DNSSpec) string {
	var b strings.Builder
	for _, r := range spec.Records {
		fmt.Fprintf(&b, "%s %s.%s\n", r.IP, r.Name, spec.Zone)
	}
	return b.String()
}
