package e2e

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/netns"
)

// flow sends numbered datagrams from one namespace to another, where they are sent
// back, and counts those that come back. Nothing is repeated: what is lost is lost.
type flow struct {
	t    *testing.T
	from net.Conn
	back net.PacketConn
	stop chan struct{}
	done sync.WaitGroup

	mu       sync.Mutex
	sent     int
	received map[uint64]bool
	slowest  time.Duration // from a datagram to its echo
}

// every is the pause between two datagrams.
const every = 5 * time.Millisecond

func newFlow(t *testing.T, from, to *netns.NS, addr netip.AddrPort) *flow {
	t.Helper()
	f := &flow{t: t, stop: make(chan struct{}), received: map[uint64]bool{}}
	err := to.Do(func() error {
		var err error
		f.back, err = net.ListenPacket("udp4", addr.String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if f.from, err = from.DialContext(context.Background(), "udp4", addr.String()); err != nil {
		t.Fatal(err)
	}
	f.done.Go(func() {
		buf := make([]byte, 100)
		for {
			n, peer, err := f.back.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = f.back.WriteTo(buf[:n], peer)
		}
	})
	f.done.Go(func() {
		buf := make([]byte, 100)
		for {
			n, err := f.from.Read(buf)
			if err != nil {
				return
			}
			if n < 16 {
				continue
			}
			took := time.Since(time.Unix(0, int64(binary.BigEndian.Uint64(buf[8:]))))
			f.mu.Lock()
			f.received[binary.BigEndian.Uint64(buf)] = true
			f.slowest = max(f.slowest, took)
			f.mu.Unlock()
		}
	})
	f.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for i := uint64(0); ; i++ {
			select {
			case <-f.stop:
				return
			case <-tick.C:
			}
			var b [32]byte
			binary.BigEndian.PutUint64(b[:], i)
			binary.BigEndian.PutUint64(b[8:], uint64(time.Now().UnixNano()))
			if _, err := f.from.Write(b[:]); err != nil {
				continue // counts as lost
			}
			f.mu.Lock()
			f.sent++
			f.mu.Unlock()
		}
	})
	// The first datagrams make ARP work; the test begins with what works.
	for deadline := time.Now().Add(5 * time.Second); f.count() == 0; time.Sleep(every) {
		if time.Now().After(deadline) {
			f.end()
			t.Fatalf("no datagram comes back from %s", addr)
		}
	}
	f.mu.Lock()
	f.sent, f.received = 0, map[uint64]bool{}
	f.mu.Unlock()
	return f
}

func (f *flow) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.received)
}

// end stops the flow and returns how many datagrams were sent and came back. One
// that was on its way when counting began may be one too many.
func (f *flow) end() (sent, received int) {
	close(f.stop)
	time.Sleep(200 * time.Millisecond) // the last are on their way
	f.from.Close()
	f.back.Close()
	f.done.Wait()
	return f.sent, len(f.received)
}

// endLossless stops the flow, which must have lost nothing.
func (f *flow) endLossless(during string) {
	f.t.Helper()
	sent, received := f.end()
	f.t.Logf("%s: %d datagrams sent, %d came back, the slowest after %v", during, sent, received, f.slowest)
	if received < sent {
		f.t.Errorf("%s: %d of %d datagrams were lost", during, sent-received, sent)
	}
	if sent < 10 {
		f.t.Errorf("%s: only %d datagrams were sent", during, sent)
	}
}

// connection is one TCP connection that is used all the time, echo for echo.
type connection struct {
	t       *testing.T
	conn    net.Conn
	l       net.Listener
	done    sync.WaitGroup
	stop    chan struct{}
	err     error
	rounds  int
	slowest time.Duration
}

func newConnection(t *testing.T, from, to *netns.NS, addr netip.AddrPort) *connection {
	t.Helper()
	c := &connection{t: t, stop: make(chan struct{})}
	err := to.Do(func() error {
		var err error
		c.l, err = net.Listen("tcp4", addr.String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	c.done.Go(func() {
		conn, err := c.l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.Copy(conn, conn)
	})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if c.conn, err = from.DialContext(ctx, "tcp4", addr.String()); err != nil {
		c.l.Close()
		t.Fatal(err)
	}
	c.done.Go(func() {
		buf := make([]byte, 20_000) // several segments
		for {
			select {
			case <-c.stop:
				return
			default:
			}
			start := time.Now()
			if err := c.conn.SetDeadline(start.Add(3 * time.Second)); err != nil {
				c.err = err
				return
			}
			if _, c.err = c.conn.Write(buf); c.err != nil {
				return
			}
			if _, c.err = io.ReadFull(c.conn, buf); c.err != nil {
				return
			}
			c.rounds++
			c.slowest = max(c.slowest, time.Since(start))
			time.Sleep(time.Millisecond)
		}
	})
	return c
}

// endUnbroken stops the connection, which must have lived to the end.
func (c *connection) endUnbroken(during string) {
	c.t.Helper()
	close(c.stop)
	time.Sleep(20 * time.Millisecond)
	c.conn.Close()
	c.l.Close()
	c.done.Wait()
	c.t.Logf("%s: %d rounds on one connection, the slowest %v", during, c.rounds, c.slowest)
	if c.err != nil || c.rounds < 5 {
		c.t.Errorf("%s: the connection broke after %d rounds: %v", during, c.rounds, c.err)
	}
}
