package openstack

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/catena-nfv/catena/internal/cloud/guest"
	"github.com/catena-nfv/catena/internal/service"
)

// guestWord begins what a script says on the console:
//
//	catena-guest: ready DIGEST
//	catena-guest: failed DIGEST: why, in one line
const guestWord = "catena-guest: "

// script is an instance's user data: a POSIX shell script that an image runs as root at
// every boot, from the config drive. It sets addresses, routes and name servers, starts
// the instance's program, and says on the console when that works. The image needs ip,
// sysctl, nc, and the programs: haproxy, dnsmasq, nft, catena-http.
type script struct {
	text string
	// digest tells one from another. Gateway, name servers and MTU of ports do not
	// count: they change under a running instance, which DHCP tells.
	digest string
}

// scriptHead defines what the rest is made of. @DIGEST@ is replaced.
const scriptHead = `#!/bin/sh
# catena-guest 1 @DIGEST@
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
say() { if [ -w /dev/console ]; then echo "catena-guest: $*" >/dev/console; else echo "catena-guest: $*"; fi; }
fail() { say "failed @DIGEST@: $*"; exit 1; }
last() { tail -n 3 "$dir/log" 2>/dev/null | tr '\r\n' '  '; }
try() { "$@" >>"$dir/log" 2>&1 || fail "$*: $(last)"; }
link() { for l in /sys/class/net/*; do if [ "$(cat "$l/address")" = "$1" ]; then echo "${l##*/}"; return; fi; done; return 1; }
# address MAC ADDRESS MTU: gives the interface with that MAC address its address.
address() {
	n=0
	until l=$(link "$1"); do
		n=$((n + 1))
		[ $n -lt 50 ] || fail "no interface has the MAC address $1"
		sleep 0.1
	done
	try ip link set "$l" mtu "$3" up
	try ip address replace "$2" dev "$l"
	sysctl -qw "net.ipv4.conf.$l.send_redirects=0" "net.ipv4.conf.$l.rp_filter=0" "net.ipv4.neigh.$l.retrans_time_ms=100" >/dev/null 2>&1
}
# keep PROGRAM…: runs it again when it ends.
keep() { (while :; do "$@" >>"$dir/log" 2>&1 </dev/null; echo "ended with $?" >>"$dir/log"; : >"$dir/ended"; sleep 1; done) & }
# once PROGRAM…: runs it, and remembers when it ends.
once() { ("$@" >>"$dir/log" 2>&1 </dev/null; echo "it ended with $?" >>"$dir/log"; : >"$dir/ended") & }
# answers ADDRESS PORT: waits until something listens there.
answers() {
	n=0
	until nc -z -w 1 "$1" "$2" 2>/dev/null; do
		[ ! -e "$dir/ended" ] || fail "$(last)"
		n=$((n + 1))
		[ $n -lt 300 ] || fail "nothing answers at $1 port $2: $(last)"
		sleep 0.1
	done
}
dir=/run/catena
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir" || fail "there is no $dir"
: >"$dir/log"
sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 >/dev/null 2>&1
ip link set lo up 2>/dev/null
`

// writer builds a script.
type writer struct{ b strings.Builder }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

// file writes a file into the instance's folder, from a text that may hold anything.
func (w *writer) file(name, text string) {
	end := "CATENA_END"
	for strings.Contains(text, end) {
		end += "_"
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	w.line("cat >%s <<'%s'\n%s%s", quote(guestDir+"/"+name), end, text, end)
}

const guestDir = "/run/catena"

// quote makes a text one word of the shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// begin writes what every instance needs.
func begin(name string, ports []service.Port) *writer {
	w := &writer{}
	w.b.WriteString(scriptHead)
	w.line("hostname %s 2>/dev/null", quote(name))
	var dns []netip.Addr
	gateway := netip.Addr{}
	for _, p := range ports {
		mtu := p.MTU
		if mtu == 0 {
			mtu = 1500
		}
		w.line("address %s %s %d", p.MAC, p.IP, mtu)
		if !gateway.IsValid() {
			gateway = p.Gateway
		}
		if dns == nil {
			dns = p.DNS
		}
	}
	if gateway.IsValid() {
		w.line("try ip route replace default via %s", gateway)
	}
	if len(dns) > 0 {
		w.line("{")
		for _, a := range dns {
			w.line("\techo nameserver %s", a)
		}
		w.line("} >/etc/resolv.conf")
	}
	return w
}

// finish says that all is well, and gives the script its digest: that of the one that
// write makes with ports of which only the place counts.
func finish(ports []service.Port, write func([]service.Port) *writer) script {
	var places []service.Port
	for _, p := range ports {
		p.Gateway, p.DNS, p.MTU = netip.Addr{}, nil, 0
		places = append(places, p)
	}
	sum := sha256.Sum256([]byte(write(places).b.String()))
	id := hex.EncodeToString(sum[:8])
	w := write(ports)
	w.line("say \"ready @DIGEST@\"")
	return script{text: strings.ReplaceAll(w.b.String(), "@DIGEST@", id), digest: id}
}

// settles is how long a command of the user, of which nothing is known, must run to
// count as started.
const settles = "0.2"

// serverScript runs the command that the user gave, or the small HTTP server.
func serverScript(spec service.ServerSpec) script {
	return finish(spec.Ports, func(ports []service.Port) *writer {
		w := begin(spec.Name, ports)
		if len(spec.Command) > 0 {
			var words []string
			for _, word := range spec.Command {
				words = append(words, quote(word))
			}
			w.line("once %s", strings.Join(words, " "))
			w.line("sleep %s", settles)
			w.line("[ ! -e \"$dir/ended\" ] || fail \"$(last)\"")
			return w
		}
		w.line("keep catena-http --name %s --listen 0.0.0.0:%d", quote(spec.Name), spec.Port)
		if len(ports) > 0 {
			w.line("answers %s %d", ports[0].IP.Addr(), spec.Port)
		}
		return w
	})
}

// functionScript runs the program of a function.
func functionScript(spec service.FunctionSpec) (script, error) {
	if len(spec.Ports) == 0 {
		return script{}, errors.New("it has no ports")
	}
	address := spec.Ports[0].IP.Addr()
	var program func(*writer)
	switch {
	case spec.Kind == service.LoadBalancerKind && spec.LoadBalancer != nil:
		program = func(w *writer) {
			w.file("haproxy.cfg", guest.HAProxy(spec.Name, *spec.LoadBalancer))
			w.line("keep haproxy -db -f haproxy.cfg")
			w.line("answers %s %d", address, spec.LoadBalancer.Port)
		}
	case spec.Kind == service.DNSKind && spec.DNS != nil:
		program = func(w *writer) {
			w.file("hosts", guest.Hosts(*spec.DNS))
			w.file("dnsmasq.conf", guest.Dnsmasq(spec.Ports, *spec.DNS, guestDir+"/hosts"))
			w.line("keep dnsmasq --keep-in-foreground --conf-file=dnsmasq.conf")
			w.line("answers %s 53", address)
		}
	case spec.Kind == service.FirewallKind && spec.Firewall != nil:
		program = func(w *writer) {
			// A one-armed router must not tell its neighbours to go around it.
			w.line("try sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.default.send_redirects=0")
			w.file("firewall.nft", guest.Ruleset(*spec.Firewall))
			w.line("try nft -f firewall.nft")
		}
	default:
		return script{}, fmt.Errorf("a function of kind %q with no such configuration", spec.Kind)
	}
	return finish(spec.Ports, func(ports []service.Port) *writer {
		w := begin(spec.Name, ports)
		program(w)
		return w
	}), nil
}
