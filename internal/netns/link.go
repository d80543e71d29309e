package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Veth describes a pair: Host in the caller's namespace, its peer in another.
type Veth struct {
	Host  string           // name of the end that the switch gets, at most 15 bytes
	MAC   net.HardwareAddr // of the peer
	MTU   int              // bytes of IP packet, of both ends; 0 means 1500
	Alias string           // ifalias of the host end, the owner's mark
	// FillChecksums turns transmit checksum offload of the peer off: needed when
	// the host end runs XDP, which would forward the stack's partial checksums
	// as they are. It costs TCP segmentation offload. It also turns generic receive
	// offload of the peer on, without which a veth takes no packets from XDP.
	FillChecksums bool
}

// AddVeth makes the pair, or completes and changes it when it is already there
// (only another MAC begins anew), and brings the host end up. The host end neither answers ARP nor speaks IPv6 on its own:
// its packets belong to the switch. The peer bears the host end's name and is
// down until Arrange. It returns the interface index of the host end.
func (n *NS) AddVeth(v Veth) (int, error) {
	index, err := n.addVeth(v)
	if err != nil {
		return 0, fmt.Errorf("link %s: %w", v.Host, err)
	}
	return index, nil
}

func (n *NS) addVeth(v Veth) (int, error) {
	if v.MTU == 0 {
		v.MTU = 1500
	}
	inside, err := n.netlink()
	if err != nil {
		return 0, err
	}
	defer inside.Close()

	host, peer, err := n.findPair(inside, v)
	if err != nil {
		return 0, err
	}
	if host == nil {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = v.Host, v.MTU
		pair := netlink.NewVeth(attrs)
		pair.PeerName, pair.PeerHardwareAddr, pair.PeerMTU = v.Host, v.MAC, uint32(v.MTU)
		err := n.withFD(func(fd int) error {
			pair.PeerNamespace = netlink.NsFd(fd)
			return netlink.LinkAdd(pair)
		})
		if err != nil {
			return 0, fmt.Errorf("create veth pair: %w", err)
		}
		if host, err = netlink.LinkByName(v.Host); err != nil {
			return 0, err
		}
		if peer, err = inside.LinkByName(v.Host); err != nil {
			return 0, err
		}
	}
	// The kernel takes an alias only from an existing link, not on creation.
	if host.Attrs().Alias != v.Alias {
		if err := netlink.LinkSetAlias(host, v.Alias); err != nil {
			return 0, fmt.Errorf("set alias: %w", err)
		}
	}
	// The peer first: the switch must not send what the peer would not take.
	if peer.Attrs().MTU != v.MTU {
		if err := inside.LinkSetMTU(peer, v.MTU); err != nil {
			return 0, fmt.Errorf("MTU %d: %w", v.MTU, err)
		}
	}
	if host.Attrs().MTU != v.MTU {
		if err := netlink.LinkSetMTU(host, v.MTU); err != nil {
			return 0, fmt.Errorf("MTU %d: %w", v.MTU, err)
		}
	}
	if err := disableIPv6(v.Host); err != nil {
		return 0, err
	}
	if err := netlink.LinkSetARPOff(host); err != nil {
		return 0, fmt.Errorf("arp off: %w", err)
	}
	if err := n.Do(func() error { return setTxChecksum(peer.Attrs().Name, !v.FillChecksums) }); err != nil {
		return 0, fmt.Errorf("checksum offload: %w", err)
	}
	if v.FillChecksums {
		if err := n.Do(func() error { return setReceiveOffload(peer.Attrs().Name, true) }); err != nil {
			return 0, fmt.Errorf("receive offload on: %w", err)
		}
	}
	if err := netlink.LinkSetUp(host); err != nil {
		return 0, fmt.Errorf("set up: %w", err)
	}
	return host.Attrs().Index, nil
}

// findPair returns both ends when they exist with the MAC asked for. A host end that
// is alone or connected elsewhere is removed, so that nil means that the name is free.
func (n *NS) findPair(inside *netlink.Handle, v Veth) (host, peer netlink.Link, err error) {
	host, err = linkByName(netlink.LinkByName, v.Host)
	if err != nil || host == nil {
		return nil, nil, err
	}
	if host.Type() != "veth" {
		return nil, nil, fmt.Errorf("the name is taken by a %s device that is not ours", host.Type())
	}
	links, err := inside.LinkList()
	if err != nil {
		return nil, nil, fmt.Errorf("list links: %w", err)
	}
	for _, l := range links {
		a := l.Attrs()
		if a.Index == host.Attrs().ParentIndex && a.ParentIndex == host.Attrs().Index &&
			a.HardwareAddr.String() == v.MAC.String() {
			return host, l, nil
		}
	}
	if err := netlink.LinkDel(host); err != nil {
		return nil, nil, fmt.Errorf("remove stale link: %w", err)
	}
	return nil, nil, nil
}

// Interface is what a link inside a namespace shall be: the link with this MAC
// gets the name and the address (with its subnet's length) and goes up.
type Interface struct {
	MAC  net.HardwareAddr
	Name string
	Addr netip.Prefix
}

// Route is one IPv4 route inside a namespace.
type Route struct {
	Dst netip.Prefix // 0.0.0.0/0 for the default route
	Via netip.Addr   // next hop, on a link's own subnet
}

// NoLinkError reports that a namespace has no link with the address.
type NoLinkError struct{ MAC net.HardwareAddr }

func (e *NoLinkError) Error() string { return fmt.Sprintf("no link with address %s", e.MAC) }

// routeProtocol marks the routes that Arrange made (rtm_protocol, rtnetlink(7)): one
// of the numbers that nobody has been assigned.
const routeProtocol = 202

// Arrange names, addresses and raises the links that AddVeth made, then sets the
// routes, and removes those that an earlier call has set. It may be repeated. A link that is not there is a *NoLinkError.
func (n *NS) Arrange(want []Interface, routes []Route) error {
	inside, err := n.netlink()
	if err != nil {
		return err
	}
	defer inside.Close()
	links, err := inside.LinkList()
	if err != nil {
		return fmt.Errorf("list links: %w", err)
	}
	byMAC, byName := map[string]netlink.Link{}, map[string]netlink.Link{}
	for _, l := range links {
		byMAC[l.Attrs().HardwareAddr.String()] = l
		byName[l.Attrs().Name] = l
	}
	// First move links that bear another's name out of the way: two links may
	// have to change places.
	for i, w := range want {
		if byMAC[w.MAC.String()] == nil {
			return &NoLinkError{MAC: w.MAC}
		}
		if taken := byName[w.Name]; taken != nil && taken.Attrs().HardwareAddr.String() != w.MAC.String() {
			if err := rename(inside, taken, fmt.Sprintf("moved%d", i)); err != nil {
				return fmt.Errorf("%s: %w", w.Name, err)
			}
		}
	}
	for _, w := range want {
		l := byMAC[w.MAC.String()]
		if l.Attrs().Name != w.Name {
			if err := rename(inside, l, w.Name); err != nil {
				return fmt.Errorf("%s: %w", w.Name, err)
			}
		}
		if w.Addr.IsValid() {
			if err := inside.AddrReplace(l, &netlink.Addr{IPNet: ipNet(w.Addr)}); err != nil {
				return fmt.Errorf("%s: address %s: %w", w.Name, w.Addr, err)
			}
		}
		if err := inside.LinkSetUp(l); err != nil {
			return fmt.Errorf("%s: set up: %w", w.Name, err)
		}
	}
	for _, r := range routes {
		if err := inside.RouteReplace(&netlink.Route{Dst: ipNet(r.Dst), Gw: r.Via.AsSlice(), Protocol: routeProtocol}); err != nil {
			return fmt.Errorf("route %s via %s: %w", r.Dst, r.Via, err)
		}
	}
	return removeRoutes(inside, routes)
}

// removeRoutes removes the routes of earlier calls that are not wanted any more.
func removeRoutes(inside *netlink.Handle, wanted []Route) error {
	have, err := inside.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Protocol: routeProtocol}, netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	for _, r := range have {
		keep := false
		for _, w := range wanted {
			dst := r.Dst
			if dst == nil { // how the default route may be told
				dst = ipNet(netip.PrefixFrom(netip.IPv4Unspecified(), 0))
			}
			keep = keep || dst.String() == ipNet(w.Dst).String() && r.Gw.Equal(w.Via.AsSlice())
		}
		if keep {
			continue
		}
		if err := inside.RouteDel(&r); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("remove the route via %s: %w", r.Gw, err)
		}
	}
	return nil
}

// rename takes the link down first: kernels before 6.2 refuse otherwise.
func rename(h *netlink.Handle, l netlink.Link, name string) error {
	if err := h.LinkSetDown(l); err != nil {
		return fmt.Errorf("set down: %w", err)
	}
	if err := h.LinkSetName(l, name); err != nil {
		return fmt.Errorf("rename %s: %w", l.Attrs().Name, err)
	}
	return nil
}

// Links returns what is inside, the loopback left out, in index order.
func (n *NS) Links() ([]netlink.Link, error) {
	inside, err := n.netlink()
	if err != nil {
		return nil, err
	}
	defer inside.Close()
	all, err := inside.LinkList()
	if err != nil {
		return nil, fmt.Errorf("namespace %q: list links: %w", n.name, err)
	}
	var links []netlink.Link
	for _, l := range all {
		if l.Attrs().Flags&net.FlagLoopback == 0 {
			links = append(links, l)
		}
	}
	return links, nil
}

// RemoveLinks deletes all links but the loopback, and with them their peers.
func (n *NS) RemoveLinks() error {
	links, err := n.Links()
	if err != nil {
		return err
	}
	inside, err := n.netlink()
	if err != nil {
		return err
	}
	defer inside.Close()
	for _, l := range links {
		if err := inside.LinkDel(l); err != nil && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("namespace %q: link %s: delete: %w", n.name, l.Attrs().Name, err)
		}
	}
	return nil
}

func (n *NS) netlink() (*netlink.Handle, error) {
	var h *netlink.Handle
	err := n.Do(func() error {
		var err error
		h, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("namespace %q: netlink: %w", n.name, err)
	}
	return h, nil
}

// DeleteLink removes a link of the caller's namespace and with it its peer. A
// link that is not there is no error.
func DeleteLink(name string) error {
	l, err := linkByName(netlink.LinkByName, name)
	if err != nil || l == nil {
		return err
	}
	if err := netlink.LinkDel(l); err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("link %s: delete: %w", name, err)
	}
	return nil
}

// linkByName turns "not found" into nil.
func linkByName(find func(string) (netlink.Link, error), name string) (netlink.Link, error) {
	l, err := find(name)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("link %s: %w", name, err)
	}
	return l, nil
}

func loopbackUp() error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	defer h.Close()
	lo, err := h.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	if err := h.LinkSetUp(lo); err != nil {
		return fmt.Errorf("loopback up: %w", err)
	}
	return nil
}

// DisableIPv6 stops autoconfiguration and the noise of router and listener
// discovery on every present and future link of the calling thread's namespace;
// meant for the setup function of Create.
func DisableIPv6() error {
	if err := disableIPv6("all"); err != nil {
		return err
	}
	return disableIPv6("default")
}

func disableIPv6(conf string) error {
	return Sysctl("net/ipv6/conf/"+conf+"/disable_ipv6", "1")
}

// Sysctl writes a file of /proc/sys in the calling thread's namespace. A
// net/ipv6 file that is absent belongs to a kernel without IPv6, which is fine.
func Sysctl(file, value string) error {
	err := os.WriteFile("/proc/sys/"+file, []byte(value), 0)
	if errors.Is(err, fs.ErrNotExist) && len(file) > 8 && file[:8] == "net/ipv6" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sysctl: %w", err)
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// Commands of linux/ethtool.h that carry one 32-bit value.
const (
	ethtoolGetTxChecksum = 0x16
	ethtoolSetTxChecksum = 0x17
	ethtoolSetGRO        = 0x2c
)

// setTxChecksum is `ethtool -K NAME tx on|off` for a link of the calling
// thread's namespace.
func setTxChecksum(name string, on bool) error {
	var value uint32
	if on {
		value = 1
	}
	_, err := ethtool(name, ethtoolSetTxChecksum, value)
	return err
}

// setReceiveOffload is `ethtool -K NAME gro on|off`.
func setReceiveOffload(name string, on bool) error {
	var value uint32
	if on {
		value = 1
	}
	_, err := ethtool(name, ethtoolSetGRO, value)
	return err
}

// ethtool does a one-value ioctl and returns the value that the kernel left.
func ethtool(name string, command, data uint32) (uint32, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	value := struct{ command, data uint32 }{command, data}
	var req struct { // struct ifreq of linux/if.h
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(req.name[:unix.IFNAMSIZ-1], name)
	req.data = unsafe.Pointer(&value)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req))); errno != 0 {
		return 0, errno
	}
	return value.data, nil
}
