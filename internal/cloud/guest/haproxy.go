package guest

import (
	"fmt"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// HAProxy writes the configuration of a load balancer that is called name. Members are checked by connecting, and
// with protocol http by a GET of the health path, twice a second; one that fails
// is asked more often, so that it is back soon after it works.
func HAProxy(name string, spec service.LoadBalancerSpec) string {
	protocol, algorithm := spec.Protocol, spec.Algorithm
	if protocol == "" {
		protocol = "tcp"
	}
	if algorithm == "" {
		algorithm = "roundrobin"
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("global")
	line("    log stdout format raw local0 notice")
	// The number of connections follows from the descriptors that we may have;
	// without a bound haproxy reserves memory for the million that some hosts allow.
	line("    fd-hard-limit 20000")
	line("    hard-stop-after 30s")
	// A relative path: socket paths are limited to 107 bytes.
	line("    stats socket unix@stats.sock mode 600 level admin expose-fd listeners")
	line("")
	line("defaults")
	line("    log global")
	line("    mode %s", protocol)
	line("    timeout connect 2s")
	line("    timeout client 60s")
	line("    timeout server 60s")
	line("    timeout check 300ms")
	line("    retries 2")
	line("    option redispatch")
	if protocol == "http" {
		line("    option forwardfor")
	}
	line("")
	line("frontend %s", name)
	line("    bind 0.0.0.0:%d", spec.Port)
	line("    default_backend members")
	line("")
	line("backend members")
	line("    balance %s", algorithm)
	if protocol == "http" {
		line("    option httpchk GET %s", HealthPath)
		// A member that runs another program may not know this path; it works all the same.
		line("    http-check expect status 200-499")
	}
	line("    default-server check inter 500ms fastinter 100ms downinter 200ms rise 1 fall 2")
	for _, m := range spec.Members {
		line("    server %s %s", m.Name, m.Addr)
	}
	return b.String()
}
