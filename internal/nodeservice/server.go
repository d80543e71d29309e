package nodeservice

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/miekg/dns"

	"github.com/catena-nfv/catena/internal/service"
)

// Config of a server. Send must be set.
type Config struct {
	// Send gives the switch a packet from its CPU port: the header packet_out of the
	// backbone vrouter, then an Ethernet frame.
	Send func(ctx context.Context, packet []byte) error
	// Nova is nova's metadata service, with the secret that it shares with Neutron. Without it
	// the node answers with what it knows of an instance itself.
	Nova   *url.URL
	Secret []byte
	// Upstream lists name servers as "HOST:PORT"; nil: those of /etc/resolv.conf.
	Upstream func() []string
	Log      *slog.Logger // slog.Default() by default
}

// Server is the node's services. Its methods may be called at the same time.
type Server struct {
	cfg        Config
	view       atomic.Pointer[view]
	translator *translator
	room       *room
	throttle   *throttle
	packets    chan packet
	http       *http.Server
	dns        []*dns.Server
	running    sync.WaitGroup
	stop       context.CancelFunc
}

type packet struct {
	port  uint32
	frame []byte
}

// maxConnections is how many TCP connections a port may have with the node.
const maxConnections = 64

// maxRate is how many packets a port may send to the node in a second, and at once.
const maxRate = 1000

// queued is how many packets may wait; more are dropped, as on any busy link.
const queued = 1024

// Start opens the namespace of the servers and answers from then on.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Send == nil {
		return nil, errors.New("node's services: a way to send packets is needed")
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Upstream == nil {
		cfg.Upstream = hostServers
	}
	room, err := openRoom(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, translator: newTranslator(), room: room, throttle: newThrottle(maxRate, maxRate), packets: make(chan packet, queued)}
	s.view.Store(newView(service.SwitchConfig{}))
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.http = &http.Server{
		Handler:     &metadataHandler{who: s.who, nova: cfg.Nova, secret: cfg.Secret, log: cfg.Log},
		ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 30 * time.Second, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	r := &resolver{who: s.who, upstream: cfg.Upstream, log: cfg.Log, asked: newQuota(maxQuestions)}
	connections := newQuota(maxConnections)
	s.dns = []*dns.Server{{Listener: fairListener{room.dnsTCP, connections}, Handler: r}, {PacketConn: room.dnsUDP, Handler: r}}

	s.running.Go(func() { s.fromSwitch(ctx) })
	s.running.Go(func() { s.fromServers(ctx) })
	s.running.Go(func() {
		s.serve(ctx, "metadata", func() error { return s.http.Serve(fairListener{room.metadata, connections}) })
	})
	for _, d := range s.dns {
		s.running.Go(func() { s.serve(ctx, "DNS", d.ActivateAndServe) })
	}
	return s, nil
}

// serve runs a server until it is closed.
func (s *Server) serve(ctx context.Context, name string, run func() error) {
	if err := run(); err != nil && ctx.Err() == nil {
		s.cfg.Log.Error("a service of the node ended", "service", name, "error", err)
	}
}

// Close ends all services.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	s.room.close() // ends the DNS servers and the reader, too
	s.running.Wait()
	return err
}

// Configure tells what the switch is configured with.
func (s *Server) Configure(cfg service.SwitchConfig) {
	old, next := s.view.Load(), newView(cfg)
	s.view.Store(next)
	s.translator.forget(func(number uint32) bool {
		was, is := old.ports[number], next.ports[number]
		return is == nil || was == nil || was.Port.MAC != is.Port.MAC || was.Network != is.Network || was.Owner != is.Owner
	})
}

// who finds the port of a client's address in the namespace.
func (s *Server) who(alias netip.Addr) (*port, *view) {
	v := s.view.Load()
	c := s.translator.byAlias(alias)
	if c == nil {
		return nil, v
	}
	return v.ports[c.port], v
}

// nodeMAC begins the destination of packets to the node, as in the backbone vrouter.
const nodeMAC = 0x02ca7e00

// PacketIn takes a packet that the switch has sent to its CPU port. It returns false
// when the packet is not for the node's services.
func (s *Server) PacketIn(frame []byte) bool {
	if len(frame) < 34 || binary.BigEndian.Uint32(frame) != nodeMAC {
		return false
	}
	number := uint32(binary.BigEndian.Uint16(frame[4:]))
	if !s.throttle.allow(number) {
		return true
	}
	p := packet{number, append([]byte(nil), frame...)}
	select {
	case s.packets <- p:
	default:
	}
	return true
}

// fromSwitch handles what clients send.
func (s *Server) fromSwitch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case x := <-s.packets:
			p := s.view.Load().ports[x.port]
			if p == nil {
				continue
			}
			if err := s.handle(ctx, p, x.frame); err != nil && ctx.Err() == nil {
				s.cfg.Log.Debug("packet to the node", "port", p.Port.Name, "error", err)
			}
		}
	}
}

// handle answers DHCP and hands other packets to the servers.
func (s *Server) handle(ctx context.Context, p *port, frame []byte) error {
	t, ok := parseTransport(frame[14:])
	switch {
	case !ok:
		return nil
	case t.udp() && t.dstPort() == dhcpv4.ServerPort:
		m, err := dhcpv4.FromBytes(t.b[28:])
		if err != nil {
			return err
		}
		out := answerDHCP(p, m)
		if out == nil {
			return nil
		}
		answer, err := dhcpFrame(p, out)
		if err != nil {
			return err
		}
		return s.send(ctx, p.Number, answer)
	}
	to := dnsAddr
	if t.dst() == metadataAddr {
		to = metadataAddr
	}
	c := s.translator.client(p.Number, t.src(), service.MAC(frame[6:12]))
	t.readdress(c.alias, to)
	_, err := s.room.tun.Write(t.b)
	return err
}

// fromServers takes the servers' packets to their clients.
func (s *Server) fromServers(ctx context.Context) {
	buf := make([]byte, 64<<10)
	for {
		n, err := s.room.tun.Read(buf)
		if err != nil {
			if ctx.Err() == nil {
				s.cfg.Log.Error("the node's services end", "error", err)
			}
			return
		}
		t, ok := parseTransport(buf[:n])
		if !ok {
			continue
		}
		c := s.translator.byAlias(t.dst())
		if c == nil {
			continue
		}
		p := s.view.Load().ports[c.port]
		if p == nil {
			continue
		}
		from := t.src()
		if from == dnsAddr {
			from = p.network.Server
		}
		if !from.Is4() {
			continue
		}
		t.readdress(from, c.ip)
		mac := p.serverMAC()
		frame := append(append(append([]byte(nil), c.mac[:]...), mac[:]...), 0x08, 0x00)
		if err := s.send(ctx, c.port, append(frame, t.b...)); err != nil && ctx.Err() == nil {
			s.cfg.Log.Debug("packet of the node", "port", p.Port.Name, "error", err)
		}
	}
}

// send gives the switch a frame for a port: the number is in the first nine bits.
func (s *Server) send(ctx context.Context, port uint32, frame []byte) error {
	return s.cfg.Send(ctx, append([]byte{byte(port >> 1), byte(port << 7)}, frame...))
}
