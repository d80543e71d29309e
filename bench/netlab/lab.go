// Package netlab makes the small networks that benchmarks send traffic through: pairs of hosts, each a network
// namespace with one veth whose other end stays in the caller's namespace, where a bridge, a reference
// program or the switch connects them. Whatever it makes is named by the process, and goes away with
// Lab.Close; what a killed run left behind goes away with the next Open.
package netlab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/netns"
)

// Names of namespaces are nsPrefix, the process's id, the pair's number and c or s; links alike.
const (
	nsPrefix   = "ct-bench-"
	linkPrefix = "ctb-"
)

// Lab owns what it makes. Its methods must not be called at the same time.
type Lab struct {
	dir     netns.Dir
	pairs   []*Pair
	bridges []string
	servers []*server
}

// Open starts an empty lab. It first removes what earlier runs left behind that did not end in order.
func Open() (*Lab, error) {
	l := &Lab{}
	if err := l.sweep(); err != nil {
		return nil, fmt.Errorf("remove the rests of earlier runs: %w", err)
	}
	return l, nil
}

// Host is one end of the traffic.
type Host struct {
	NS   *netns.NS
	Link string // the end of its veth that is in the caller's namespace
	// Index is the interface index of Link.
	Index   int
	MAC     net.HardwareAddr
	Addr    netip.Prefix
	Gateway netip.Addr // on the host's subnet; where its default route leads to
}

// Pair is a client and a server on two subnets: 10.0.1.2/24 and 10.0.2.2/24, with the gateways .1. All pairs
// have the same addresses; they never meet.
type Pair struct{ Client, Server *Host }

// Hosts returns both.
func (p *Pair) Hosts() []*Host { return []*Host{p.Client, p.Server} }

// Pair makes a pair of hosts. Their links are up and lead nowhere.
func (l *Lab) Pair() (*Pair, error) {
	n := len(l.pairs)
	p := &Pair{}
	l.pairs = append(l.pairs, p) // so that Close finds what a failure leaves
	var err error
	if p.Client, err = l.host(n, "c", 1); err != nil {
		return nil, err
	}
	if p.Server, err = l.host(n, "s", 2); err != nil {
		return nil, err
	}
	return p, nil
}

func (l *Lab) host(n int, role string, subnet byte) (*Host, error) {
	name := fmt.Sprintf("%s%d-%d%s", nsPrefix, os.Getpid(), n, role)
	if err := l.dir.Delete(name); err != nil { // of a process that had our id
		return nil, err
	}
	ns, err := l.dir.Create(name, netns.DisableIPv6)
	if err != nil {
		return nil, err
	}
	h := &Host{
		NS: ns, Link: fmt.Sprintf("%s%s-%d%s", linkPrefix, strconv.FormatInt(int64(os.Getpid()), 36), n, role),
		MAC:     net.HardwareAddr{0x02, 0xbe, 0, 0, byte(n), subnet},
		Addr:    netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, subnet, 2}), 24),
		Gateway: netip.AddrFrom4([4]byte{10, 0, subnet, 1}),
	}
	h.Index, err = ns.AddVeth(netns.Veth{Host: h.Link, MAC: h.MAC, Alias: "catena bench"})
	if err == nil {
		everything := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
		err = ns.Arrange([]netns.Interface{{MAC: h.MAC, Name: "eth0", Addr: h.Addr}}, []netns.Route{{Dst: everything, Via: h.Gateway}})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("host %s: %w", name, err), ns.Close(), l.dir.Delete(name))
	}
	return h, nil
}

// Direct makes each host take the other for its gateway, without asking by ARP. What connects them then
// need not look at the packets.
func (p *Pair) Direct() error {
	if err := p.Client.neighbour(p.Server.MAC); err != nil {
		return err
	}
	return p.Server.neighbour(p.Client.MAC)
}

// neighbour says that the host's gateway has this MAC address.
func (h *Host) neighbour(mac net.HardwareAddr) error {
	err := h.NS.Do(func() error {
		link, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		return netlink.NeighSet(&netlink.Neigh{
			LinkIndex: link.Attrs().Index, IP: h.Gateway.AsSlice(), HardwareAddr: mac, State: netlink.NUD_PERMANENT,
		})
	})
	if err != nil {
		return fmt.Errorf("neighbour of %s: %w", h.Link, err)
	}
	return nil
}

// Bridge connects the pair by a Linux bridge.
func (l *Lab) Bridge(p *Pair) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = fmt.Sprintf("%s%s-br%d", linkPrefix, strconv.FormatInt(int64(os.Getpid()), 36), len(l.bridges))
	bridge := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("bridge %s: %w", attrs.Name, err)
	}
	l.bridges = append(l.bridges, attrs.Name)
	if err := netlink.LinkSetUp(bridge); err != nil {
		return fmt.Errorf("bridge %s: set up: %w", attrs.Name, err)
	}
	for _, h := range p.Hosts() {
		port, err := netlink.LinkByIndex(h.Index)
		if err == nil {
			err = netlink.LinkSetMaster(port, bridge)
		}
		if err != nil {
			return fmt.Errorf("bridge %s: port %s: %w", attrs.Name, h.Link, err)
		}
	}
	return p.Direct()
}

// Close ends the servers and removes all that the lab made.
func (l *Lab) Close() error {
	var errs []error
	for _, s := range l.servers {
		s.stop()
	}
	for _, p := range l.pairs {
		for _, h := range p.Hosts() {
			if h != nil {
				errs = append(errs, netns.DeleteLink(h.Link), h.NS.Close(), l.dir.Delete(h.NS.Name()))
			}
		}
	}
	for _, b := range l.bridges {
		errs = append(errs, netns.DeleteLink(b))
	}
	l.pairs, l.bridges, l.servers = nil, nil, nil
	return errors.Join(errs...)
}

// sweep removes namespaces and links whose process is gone.
func (l *Lab) sweep() error {
	names, err := l.dir.List(nsPrefix)
	if err != nil {
		return err
	}
	for _, n := range names {
		if dead(strings.TrimPrefix(n, nsPrefix), 10) {
			if err := l.dir.Delete(n); err != nil {
				return err
			}
		}
	}
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("list links: %w", err)
	}
	for _, link := range links {
		n := link.Attrs().Name
		if strings.HasPrefix(n, linkPrefix) && dead(strings.TrimPrefix(n, linkPrefix), 36) {
			if err := netns.DeleteLink(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// dead tells whether the process whose id begins a name is gone.
func dead(name string, base int) bool {
	id, _, _ := strings.Cut(name, "-")
	pid, err := strconv.ParseInt(id, base, 32)
	return err == nil && pid > 0 && errors.Is(unix.Kill(int(pid), 0), unix.ESRCH)
}

// Need tells whether the programs are installed, or which package has the first that is not. The keys are
// programs, the values Debian packages.
func Need(programs map[string]string) error {
	for program, pkg := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%s is not installed: apt-get install %s", program, pkg)
		}
	}
	return nil
}
