package nodeservice

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
)

// quota bounds what one port has open or asks at a time, so that no port uses up what
// the others need.
type quota struct {
	max int

	mu   sync.Mutex
	used map[uint32]int
}

func newQuota(limit int) *quota { return &quota{max: limit, used: map[uint32]int{}} }

// take returns false when the port of a client's alias has all that it may have.
func (q *quota) take(alias netip.Addr) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := portOf(alias)
	if q.used[p] >= q.max {
		return false
	}
	q.used[p]++
	return true
}

func (q *quota) give(alias netip.Addr) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := portOf(alias)
	if q.used[p]--; q.used[p] == 0 {
		delete(q.used, p)
	}
}

// portOf is the number of the port that an alias belongs to.
func portOf(alias netip.Addr) uint32 {
	a, base := alias.As4(), aliasNet.Addr().As4()
	return (binary.BigEndian.Uint32(a[:]) - binary.BigEndian.Uint32(base[:])) / aliasesOfPort
}

// remote is the address at the other end, zero if it is none.
func remote(a net.Addr) netip.Addr {
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return p.Addr().Unmap()
}

// fairListener closes the connections that a port opens beyond its quota.
type fairListener struct {
	net.Listener
	quota *quota
}

func (l fairListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if from := remote(c.RemoteAddr()); aliasNet.Contains(from) && l.quota.take(from) {
			return &fairConn{Conn: c, gone: sync.OnceFunc(func() { l.quota.give(from) })}, nil
		}
		c.Close()
	}
}

type fairConn struct {
	net.Conn
	gone func()
}

func (c *fairConn) Close() error {
	c.gone()
	return c.Conn.Close()
}
