package nodeservice

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/miekg/dns"

	"github.com/catena-nfv/catena/internal/service"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// config is a routed network with two ports, and an isolated one with the same subnet.
func config() service.SwitchConfig {
	subnet := netip.MustParsePrefix("10.0.1.0/24")
	port := func(number, network uint32, name, ip string) service.SwitchPort {
		return service.SwitchPort{
			Number: number, Network: network, HostName: name, InstanceID: "id-" + name, ProjectID: "p",
			Port: service.Port{PortSpec: service.PortSpec{Name: name + ".n", MAC: service.MAC{2, 0, 0, 0, 0, byte(number)}, IP: netip.MustParsePrefix(ip)}},
		}
	}
	return service.SwitchConfig{
		Networks: []service.SwitchNetwork{
			{Number: 1, Subnet: subnet, Gateway: addr("10.0.1.1"), GatewayMAC: service.MAC{2, 1}, Router: 1, Server: addr("10.0.1.2"), ServerMAC: service.MAC{2, 2},
				Domain: "cloud.example", MTU: 1450, Metadata: true, Routes: []service.HostRoute{{Destination: netip.MustParsePrefix("10.9.0.0/16"), Via: addr("10.0.1.7")}}},
			{Number: 2, Subnet: subnet, Server: addr("10.0.1.1"), ServerMAC: service.MAC{2, 3}, DNS: []netip.Addr{addr("9.9.9.9")}},
		},
		Ports: []service.SwitchPort{port(1, 1, "web", "10.0.1.10/24"), port(2, 1, "db", "10.0.1.11/24"), port(300, 2, "", "10.0.1.10/24")},
	}
}

func request(t *testing.T, kind dhcpv4.MessageType, mac service.MAC, more ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	t.Helper()
	m, err := dhcpv4.New(append([]dhcpv4.Modifier{dhcpv4.WithMessageType(kind), dhcpv4.WithHwAddr(mac[:])}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDHCP(t *testing.T) {
	v := newView(config())
	web := v.ports[1]
	wants := func(ip string) dhcpv4.Modifier {
		return dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.ParseIP(ip)))
	}
	for _, tt := range []struct {
		name string
		port *port
		m    *dhcpv4.DHCPv4
		want dhcpv4.MessageType // 0: no answer
	}{
		{"discover", web, request(t, dhcpv4.MessageTypeDiscover, web.Port.MAC), dhcpv4.MessageTypeOffer},
		{"request", web, request(t, dhcpv4.MessageTypeRequest, web.Port.MAC, wants("10.0.1.10")), dhcpv4.MessageTypeAck},
		{"renewal", web, request(t, dhcpv4.MessageTypeRequest, web.Port.MAC, dhcpv4.WithClientIP(net.IPv4(10, 0, 1, 10))), dhcpv4.MessageTypeAck},
		{"another's address", web, request(t, dhcpv4.MessageTypeRequest, web.Port.MAC, wants("10.0.1.11")), dhcpv4.MessageTypeNak},
		{"inform", web, request(t, dhcpv4.MessageTypeInform, web.Port.MAC, dhcpv4.WithClientIP(net.IPv4(10, 0, 1, 10))), dhcpv4.MessageTypeAck},
		{"release", web, request(t, dhcpv4.MessageTypeRelease, web.Port.MAC), 0},
		{"another's MAC", web, request(t, dhcpv4.MessageTypeDiscover, v.ports[2].Port.MAC), 0},
		{"another server", web, request(t, dhcpv4.MessageTypeRequest, web.Port.MAC, dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.IPv4(10, 0, 1, 99)))), 0},
	} {
		out := answerDHCP(tt.port, tt.m)
		if tt.want == 0 {
			if out != nil {
				t.Errorf("%s: %s", tt.name, out.Summary())
			}
			continue
		}
		if out == nil || out.MessageType() != tt.want || out.TransactionID != tt.m.TransactionID || !out.ServerIdentifier().Equal(net.IPv4(10, 0, 1, 2)) {
			t.Fatalf("%s: %v", tt.name, out)
		}
		named := tt.want != dhcpv4.MessageTypeNak && tt.m.MessageType() != dhcpv4.MessageTypeInform
		if out.YourIPAddr.Equal(net.IPv4(10, 0, 1, 10)) != named {
			t.Errorf("%s: address %s", tt.name, out.YourIPAddr)
		}
	}

	out := answerDHCP(web, request(t, dhcpv4.MessageTypeDiscover, web.Port.MAC))
	mtu, _ := dhcpv4.GetUint16(dhcpv4.OptionInterfaceMTU, out.Options)
	routes := ""
	for _, r := range out.ClasslessStaticRoute() {
		routes += r.String() + "; "
	}
	if out.HostName() != "web" || out.DomainName() != "cloud.example" || mtu != 1450 || !out.DNS()[0].Equal(net.IPv4(10, 0, 1, 2)) ||
		!out.Router()[0].Equal(net.IPv4(10, 0, 1, 1)) || out.SubnetMask().String() != "ffffff00" || out.IPAddressLeaseTime(0) != leaseTime {
		t.Errorf("options: %s", out.Summary())
	}
	for _, want := range []string{"169.254.169.254/32 via 10.0.1.1", "10.9.0.0/16 via 10.0.1.7", "0.0.0.0/0 via 10.0.1.1"} {
		if !strings.Contains(strings.ReplaceAll(routes, "router ", "via "), want) && !strings.Contains(routes, want) {
			t.Errorf("routes %q lack %q", routes, want)
		}
	}
	// The other network has no router, no metadata, a name server and no names.
	lone := v.ports[300]
	out = answerDHCP(lone, request(t, dhcpv4.MessageTypeDiscover, lone.Port.MAC))
	if out.HostName() != "host-10-0-1-10" || len(out.Router()) != 0 || len(out.ClasslessStaticRoute()) != 0 || !out.DNS()[0].Equal(net.IPv4(9, 9, 9, 9)) {
		t.Errorf("isolated: %s", out.Summary())
	}
}

func TestDHCPFrame(t *testing.T) {
	web := newView(config()).ports[1]
	for _, tt := range []struct {
		m       *dhcpv4.DHCPv4
		mac, ip string
	}{
		{request(t, dhcpv4.MessageTypeDiscover, web.Port.MAC), "02:00:00:00:00:01", "10.0.1.10"},
		{request(t, dhcpv4.MessageTypeDiscover, web.Port.MAC, dhcpv4.WithBroadcast(true)), "ff:ff:ff:ff:ff:ff", "255.255.255.255"},
		{request(t, dhcpv4.MessageTypeRequest, web.Port.MAC, dhcpv4.WithClientIP(net.IPv4(10, 0, 1, 10))), "02:00:00:00:00:01", "10.0.1.10"},
		{request(t, dhcpv4.MessageTypeRequest, web.Port.MAC, dhcpv4.WithClientIP(net.IPv4(10, 0, 1, 99))), "ff:ff:ff:ff:ff:ff", "255.255.255.255"},
	} {
		frame, err := dhcpFrame(web, answerDHCP(web, tt.m))
		if err != nil {
			t.Fatal(err)
		}
		p := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
		eth, ip := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet), p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		if p.Layer(layers.LayerTypeDHCPv4) == nil || eth.DstMAC.String() != tt.mac || ip.DstIP.String() != tt.ip || ip.SrcIP.String() != "10.0.1.2" || eth.SrcMAC.String() != "02:02:00:00:00:00" {
			t.Errorf("%s", p)
		}
	}
}

// packetOf builds an IPv4 packet with right checksums.
func packetOf(t *testing.T, src, dst string, udp bool, payload []byte) []byte {
	t.Helper()
	ip := &layers.IPv4{Version: 4, TTL: 64, SrcIP: net.ParseIP(src), DstIP: net.ParseIP(dst), Protocol: layers.IPProtocolTCP}
	u, tcp := &layers.UDP{SrcPort: 5000, DstPort: 53}, &layers.TCP{SrcPort: 5000, DstPort: 80, SYN: true}
	buf := gopacket.NewSerializeBuffer()
	opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	var err error
	if udp {
		ip.Protocol = layers.IPProtocolUDP
		_ = u.SetNetworkLayerForChecksum(ip)
		err = gopacket.SerializeLayers(buf, opts, ip, u, gopacket.Payload(payload))
	} else {
		_ = tcp.SetNetworkLayerForChecksum(ip)
		err = gopacket.SerializeLayers(buf, opts, ip, tcp, gopacket.Payload(payload))
	}
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// TestReaddress compares with packets that were built with the new addresses, and starts
// from ones whose checksums are not filled in.
func TestReaddress(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		payload := make([]byte, r.IntN(1300))
		for i := range payload {
			payload[i] = byte(r.Uint32())
		}
		udp := r.IntN(2) == 0
		in := packetOf(t, "10.0.1.10", "169.254.169.254", udp, payload)
		want := packetOf(t, "198.18.1.0", "169.254.169.253", udp, payload)
		if udp {
			copy(in[26:28], []byte{0x12, 0x34})
		} else {
			copy(in[36:38], []byte{0x12, 0x34})
		}
		p, ok := parseTransport(append(bytes.Clone(in), 0, 0)) // an Ethernet frame may be padded
		if !ok || p.udp() != udp || p.src() != addr("10.0.1.10") {
			t.Fatalf("%t %x", ok, in)
		}
		p.readdress(addr("198.18.1.0"), addr("169.254.169.253"))
		if !bytes.Equal(p.b, want) {
			t.Fatalf("got  %x\nwant %x", p.b, want)
		}
	}
	good := packetOf(t, "10.0.1.10", "169.254.169.254", false, nil)
	for name, change := range map[string]func([]byte) []byte{
		"cut": func(b []byte) []byte { return b[:len(b)-1] }, "options": func(b []byte) []byte { b[0] = 0x46; return b },
		"fragment": func(b []byte) []byte { b[6] = 0x20; return b }, "icmp": func(b []byte) []byte { b[9] = 1; return b },
		"empty": func([]byte) []byte { return nil },
	} {
		if _, ok := parseTransport(change(bytes.Clone(good))); ok {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestAliases(t *testing.T) {
	tr := newTranslator()
	mac := service.MAC{2}
	a, b := tr.client(1, addr("10.0.1.10"), mac), tr.client(509, addr("10.0.1.10"), mac)
	if a.alias != addr("198.18.1.0") || b.alias != addr("198.19.253.0") || !aliasNet.Contains(b.alias) || tr.client(1, addr("10.0.1.10"), mac).alias != a.alias {
		t.Errorf("%+v %+v", a, b)
	}
	// A port that invents addresses takes them from itself alone, the oldest first.
	ip := addr("10.1.0.0")
	for range aliasesOfPort {
		tr.client(1, ip, mac)
		ip = ip.Next()
	}
	if c := tr.byAlias(a.alias); c == nil || c.ip == a.ip || c.port != 1 {
		t.Errorf("the oldest alias is %+v", c)
	}
	if c := tr.byAlias(b.alias); c == nil || c.port != 509 {
		t.Errorf("another port's alias is %+v", c)
	}
	tr.forget(func(port uint32) bool { return port == 1 })
	if len(tr.clients) != 1 || len(tr.aliases) != 1 {
		t.Errorf("%d clients, %d aliases are left", len(tr.clients), len(tr.aliases))
	}
}

func TestHosts(t *testing.T) {
	v := newView(config())
	for _, tt := range []struct {
		name string
		kind uint16
		want string // "", the answer, "NXDOMAIN", "pass on" or "none"
	}{
		{"web.", dns.TypeA, "10.0.1.10"}, {"DB.Cloud.Example.", dns.TypeA, "10.0.1.11"}, {"web.", dns.TypeAAAA, "none"},
		{"99.1.0.10.in-addr.arpa.", dns.TypePTR, "pass on"}, {"11.1.0.10.in-addr.arpa.", dns.TypeMX, "none"}, {"11.1.0.10.in-addr.arpa.", dns.TypePTR, "db.cloud.example."},
		{"no.cloud.example.", dns.TypeA, "NXDOMAIN"}, {"host-10-0-1-10.", dns.TypeA, "pass on"}, {"example.org.", dns.TypeA, "pass on"},
	} {
		out := answerHosts(v, v.ports[1], new(dns.Msg).SetQuestion(tt.name, tt.kind))
		got := "pass on"
		switch {
		case out == nil:
		case out.Rcode == dns.RcodeNameError:
			got = "NXDOMAIN"
		case len(out.Answer) == 0:
			got = "none"
		default:
			f := strings.Fields(out.Answer[0].String())
			got = f[len(f)-1]
		}
		if got != tt.want {
			t.Errorf("%s %d: %s, want %s", tt.name, tt.kind, got, tt.want)
		}
	}
}

func get(h http.Handler, from, path string, header http.Header) (int, string) {
	r := httptest.NewRequest("GET", "http://169.254.169.254"+path, nil)
	r.RemoteAddr = from
	if header != nil {
		r.Header = header
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// only answers for one address in the namespace.
func only(p *port) func(netip.Addr) (*port, *view) {
	return func(a netip.Addr) (*port, *view) {
		if a == addr("198.18.1.0") {
			return p, nil
		}
		return nil, nil
	}
}

func TestMetadata(t *testing.T) {
	h := &metadataHandler{who: only(newView(config()).ports[1])}
	for path, want := range map[string]string{
		"/latest/meta-data/local-ipv4": "10.0.1.10", "/latest/meta-data/hostname": "web.cloud.example", "/latest//meta-data/mac/": "02:00:00:00:00:01",
		"/": "latest/\nopenstack/", "/latest/meta-data": "hostname\ninstance-id\nlocal-hostname\nlocal-ipv4\nmac",
	} {
		if code, text := get(h, "198.18.1.0:4000", path, nil); code != 200 || text != want {
			t.Errorf("%s: %d %q, want %q", path, code, text, want)
		}
	}
	if code, text := get(h, "198.18.1.0:4000", "/openstack/latest/meta_data.json", nil); code != 200 || !strings.Contains(text, `"uuid": "id-web"`) {
		t.Errorf("%d %s", code, text)
	}
	for from, path := range map[string]string{"198.18.1.0:4000": "/latest/user-data", "198.18.2.0:4000": "/"} {
		if code, _ := get(h, from, path, nil); code != 404 {
			t.Errorf("%s from %s: %d", path, from, code)
		}
	}
}

func TestMetadataOfNova(t *testing.T) {
	var got *http.Request
	nova := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		io.WriteString(w, "from nova")
	}))
	defer nova.Close()
	u, err := url.Parse(nova.URL)
	if err != nil {
		t.Fatal(err)
	}
	web := newView(config()).ports[1]
	h := &metadataHandler{who: only(web), nova: u, secret: []byte("s3"), log: slog.New(slog.DiscardHandler)}
	forged := http.Header{"X-Instance-Id": {"other"}, "X-Tenant-Id": {"other"}, "X-Instance-Id-Signature": {"x"}, "X-Metadata-Provider": {"x"}, "X-Forwarded-For": {"1.2.3.4"}}
	if code, text := get(h, "198.18.1.0:4000", "/openstack", forged); code != 200 || text != "from nova" {
		t.Fatalf("%d %s", code, text)
	}
	mac := hmac.New(sha256.New, []byte("s3"))
	mac.Write([]byte("id-web"))
	for name, want := range map[string]string{
		"X-Instance-ID": "id-web", "X-Tenant-ID": "p", "X-Instance-ID-Signature": hex.EncodeToString(mac.Sum(nil)), "X-Forwarded-For": "10.0.1.10", "X-Metadata-Provider": "",
	} {
		if v := strings.Join(got.Header.Values(name), ","); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if got.URL.Path != "/openstack" || got.Host != "169.254.169.254" {
		t.Errorf("%s of %s", got.URL, got.Host)
	}
	nova.Close()
	if code, _ := get(h, "198.18.1.0:4000", "/", nil); code != http.StatusBadGateway {
		t.Errorf("nova is down: %d", code)
	}
	web.InstanceID = ""
	if code, _ := get(h, "198.18.1.0:4000", "/", nil); code != http.StatusNotFound {
		t.Errorf("no instance: %d", code)
	}
}

// TestPassedOn has questions passed on to a name server, which the first of two is not.
func TestPassedOn(t *testing.T) {
	pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	upstream := &dns.Server{PacketConn: pc, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, m *dns.Msg) {
		out := new(dns.Msg).SetReply(m)
		rr, err := dns.NewRR(m.Question[0].Name + " 60 IN A 192.0.2.7")
		if err != nil {
			t.Error(err)
		}
		out.Answer = []dns.RR{rr}
		if err := w.WriteMsg(out); err != nil {
			t.Error(err)
		}
	})}
	started := make(chan struct{})
	upstream.NotifyStartedFunc = func() { close(started) }
	go upstream.ActivateAndServe()
	<-started
	defer upstream.Shutdown()
	servers := []string{pc.LocalAddr().String()}
	r := &resolver{upstream: func() []string { return servers }, log: slog.New(slog.DiscardHandler)}
	m := new(dns.Msg).SetQuestion("example.org.", dns.TypeA)
	if out := r.ask(m, "udp"); len(out.Answer) != 1 || out.Id != m.Id || !strings.HasSuffix(out.Answer[0].String(), "192.0.2.7") {
		t.Errorf("%s", out)
	}
	closed, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	servers = append([]string{closed.LocalAddr().String()}, servers...)
	if out := r.ask(m, "udp"); len(out.Answer) != 1 {
		t.Errorf("with a server that is down: %s", out)
	}
	servers = servers[:1]
	if out := r.ask(m, "udp"); out.Rcode != dns.RcodeServerFailure || out.Id != m.Id {
		t.Errorf("with no server: %s", out)
	}
}

func TestQuota(t *testing.T) {
	q := newQuota(2)
	one, two := addr("198.18.1.0"), addr("198.18.2.5")
	if portOf(two) != 2 || !q.take(one) || !q.take(addr("198.18.1.9")) || q.take(one) || !q.take(two) {
		t.Error("a port's share is not two")
	}
	q.give(one)
	if !q.take(one) || q.take(one) {
		t.Error("what is given back is not there again")
	}
	q.give(two)
	if len(q.used) != 1 {
		t.Errorf("%v", q.used)
	}
}

func TestThrottle(t *testing.T) {
	now := time.Unix(0, 0)
	th := newThrottle(10, 3)
	th.now = func() time.Time { return now }
	count := func(port uint32) (n int) {
		for range 100 {
			if th.allow(port) {
				n++
			}
		}
		return n
	}
	if a, b := count(1), count(2); a != 3 || b != 3 {
		t.Errorf("at once: %d and %d packets", a, b)
	}
	now = now.Add(200 * time.Millisecond)
	if n := count(1); n != 2 {
		t.Errorf("after 0.2 s: %d", n)
	}
	now = now.Add(time.Hour)
	if n := count(1); n != 3 {
		t.Errorf("after an hour: %d", n)
	}
}
