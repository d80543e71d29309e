package e2e

import (
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/netns"
)

// etherType is IEEE's number for local experiments, in network byte order.
const etherType = 0xb588

// rawSocket sends and receives frames of the experimental type on eth0.
type rawSocket struct {
	t  *testing.T
	fd int
	to unix.Sockaddr
}

func openRaw(t *testing.T, ns *netns.NS) *rawSocket {
	t.Helper()
	r := &rawSocket{t: t}
	err := ns.Do(func() error {
		l, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		if r.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, etherType); err != nil {
			return err
		}
		sll := &unix.SockaddrLinklayer{Protocol: etherType, Ifindex: l.Attrs().Index}
		r.to = sll
		if err := unix.Bind(r.fd, sll); err != nil {
			return err
		}
		return unix.SetsockoptTimeval(r.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 3})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(r.fd) })
	return r
}

func (r *rawSocket) send(frame []byte) {
	r.t.Helper()
	if err := unix.Sendto(r.fd, frame, 0, r.to); err != nil {
		r.t.Fatal(err)
	}
}

// receive returns the next frame that came in, nil after three seconds.
func (r *rawSocket) receive() []byte {
	r.t.Helper()
	buf := make([]byte, 2000)
	for {
		n, from, err := unix.Recvfrom(r.fd, buf, 0)
		if err != nil {
			return nil
		}
		if sll, ok := from.(*unix.SockaddrLinklayer); ok && sll.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		return buf[:n]
	}
}
