package nodeservice

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/netns"
)

// tunMTU bounds the packets to clients: below that of every network that matters, and
// of what fits a packet-out.
const tunMTU = 1400

// receiveBuffer keeps a client's window so small that its kernel never hands the
// switch a segment that is too large for the CPU port (9 KB).
const receiveBuffer = 4096

// room is the namespace in which the servers listen. It has no name: it goes with the
// process.
type room struct {
	tun      *os.File // IPv4 packets from and to clients
	metadata net.Listener
	dnsTCP   net.Listener
	dnsUDP   net.PacketConn
}

func openRoom(ctx context.Context) (*room, error) {
	r := &room{}
	ns, err := netns.Anonymous(func() error {
		if err := r.makeTUN(); err != nil {
			return err
		}
		return r.listen(ctx)
	})
	if err != nil {
		r.close()
		return nil, fmt.Errorf("namespace of the node's services: %w", err)
	}
	return r, ns.Close()
}

// makeTUN runs inside the namespace.
func (r *room) makeTUN() error {
	const name = "clients"
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("/dev/net/tun: %w", err)
	}
	ifr, err := unix.NewIfreq(name)
	if err == nil {
		ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
	}
	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("TUN device: %w", err)
	}
	r.tun = os.NewFile(uintptr(fd), name)
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetMTU(link, tunMTU); err != nil {
		return err
	}
	for _, a := range []netip.Addr{metadataAddr, dnsAddr} {
		err := netlink.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(32, 32)}})
		if err != nil {
			return fmt.Errorf("address %s: %w", a, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return err
	}
	return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Scope: netlink.SCOPE_LINK,
		Dst: &net.IPNet{IP: aliasNet.Addr().AsSlice(), Mask: net.CIDRMask(aliasNet.Bits(), 32)}})
}

// listen runs inside the namespace.
func (r *room) listen(ctx context.Context) error {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var inner error
		err := c.Control(func(fd uintptr) {
			inner = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer)
		})
		if err != nil {
			return err
		}
		return inner
	}}
	at := func(a netip.Addr, port uint16) string { return netip.AddrPortFrom(a, port).String() }
	var err error
	if r.metadata, err = lc.Listen(ctx, "tcp4", at(metadataAddr, 80)); err != nil {
		return err
	}
	if r.dnsTCP, err = lc.Listen(ctx, "tcp4", at(dnsAddr, 53)); err != nil {
		return err
	}
	r.dnsUDP, err = net.ListenPacket("udp4", at(dnsAddr, 53))
	return err
}

// close ends all that reads and listens.
func (r *room) close() {
	if r.tun != nil {
		r.tun.Close()
	}
	for _, l := range []net.Listener{r.metadata, r.dnsTCP} {
		if l != nil {
			l.Close()
		}
	}
	if r.dnsUDP != nil {
		r.dnsUDP.Close()
	}
}
