package p4

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/p4rt/server"
	"github.com/catena-nfv/catena/internal/p4rt/softswitch"
	"github.com/catena-nfv/catena/internal/service"
)

// theLibrary takes a moment to compile, and does not change.
var theLibrary = sync.OnceValues(func() (*nf.Library, error) { return nf.Open("") })

func openLib(t testing.TB) *nf.Library {
	t.Helper()
	l, err := theLibrary()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// programs composes the library's NFs with the backbone vrouter.
type programs struct {
	lib     *nf.Library
	version string
	comment string // put behind the text
	count   int    // of compositions
}

func (p *programs) NFs() []service.NFInfo { return p.lib.NFs() }
func (p *programs) Version() string       { return "v" + p.version }
func (p *programs) Compose(g chain.Graph, guard bool) (string, int, error) {
	p.count++
	backbone := "vrouter"
	if guard {
		backbone = "vrouter-guard"
	}
	b, err := p.lib.Backbone(backbone)
	if err != nil {
		return "", 0, err
	}
	var nfs []compose.NF
	for _, n := range p.lib.All() {
		nfs = append(nfs, compose.NF{Name: n.Name, Program: n.Program})
	}
	c, diags := compose.Compose(b, nfs, g, compose.Options{})
	if err := diags.Err(p.lib.FileSet()); err != nil {
		return "", 0, err
	}
	text, err := p4text.Print(c.Program)
	return text + p.comment, c.NodeBits, err
}

// bed is a switch in software with its P4Runtime server, and a fabric for it.
type bed struct {
	t        *testing.T
	dev      *softswitch.Device
	address  string
	programs *programs
	fabric   *Fabric
	stop     func()

	mu    sync.Mutex
	fail  func(table string) bool // writes that the device refuses
	loads int
}

// failing refuses writes to tables.
type failing struct {
	*softswitch.Device
	b *bed
}

type failingProgram struct {
	server.Program
	b *bed
}

type failingPipeline struct {
	server.Pipeline
	b *bed
}

func (f failing) Compile(ctx context.Context, text []byte) (server.Program, error) {
	p, err := f.Device.Compile(ctx, text)
	if err != nil {
		return nil, err
	}
	return failingProgram{p, f.b}, nil
}

func (p failingProgram) Load(ctx context.Context, keep bool) (server.Pipeline, error) {
	l, err := p.Program.Load(ctx, keep)
	if err != nil {
		return nil, err
	}
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	p.b.loads++
	return failingPipeline{l, p.b}, nil
}

func (p failingPipeline) WriteEntry(op target.Op, e target.Entry) error {
	p.b.mu.Lock()
	fail := p.b.fail != nil && p.b.fail(e.Table)
	p.b.mu.Unlock()
	if fail {
		return target.ErrFull
	}
	return p.Pipeline.WriteEntry(op, e)
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{t: t, programs: &programs{lib: openLib(t)}, address: "unix://" + filepath.Join(t.TempDir(), "p4rt.sock")}
	b.dev = softswitch.New(softswitch.Config{Compile: func(ctx context.Context, text []byte) (*ir.Program, error) {
		p, _, err := b.programs.lib.CompileText(ctx, text)
		return p, err
	}})
	b.start()
	b.fabric = b.newFabric()
	return b
}

// start serves P4Runtime; the device goes on when it stops.
func (b *bed) start() {
	b.t.Helper()
	srv, err := server.New(context.Background(), server.Config{DeviceID: 1, Device: failing{b.dev, b}, Journal: filepath.Join(filepath.Dir(strings.TrimPrefix(b.address, "unix://")), "journal")})
	if err != nil {
		b.t.Fatal(err)
	}
	l, err := server.Listen(b.address)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, []grpc.ServerOption{}, []net.Listener{l}...) }()
	b.stop = sync.OnceFunc(func() { cancel(); <-done; srv.Close() })
	b.t.Cleanup(b.stop)
}

func (b *bed) newFabric() *Fabric {
	f := New(Config{
		Connect: func(ctx context.Context) (*client.Client, error) {
			return client.Dial(ctx, client.Config{Target: b.address, DeviceID: 1, Election: 1})
		},
		Programs: b.programs, Name: "vrouter", Target: "software",
		Ports: func(context.Context) ([]service.PortState, error) { return []service.PortState{{Number: 1}}, nil },
	})
	b.t.Cleanup(func() { f.Close() })
	return f
}

func (b *bed) ctx() context.Context {
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	b.t.Cleanup(cancel)
	return ctx
}

func (b *bed) deploy(cfg service.SwitchConfig) service.SwitchReport {
	b.t.Helper()
	r, err := b.fabric.Deploy(b.ctx(), cfg, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// contents reads all that is on the switch, with a session of its own, sorted.
func (b *bed) contents() string {
	b.t.Helper()
	c, err := client.Dial(b.ctx(), client.Config{Target: b.address, DeviceID: 1})
	if err != nil {
		b.t.Fatal(err)
	}
	defer c.Close()
	es, err := read(b.ctx(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	lines := strings.Split(entitiesText(es), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// is checks that the switch has what the configuration says.
func (b *bed) is(cfg service.SwitchConfig, d deployment) {
	b.t.Helper()
	es, err := desired(cfg, d, testLibrary(b.t))
	if err != nil {
		b.t.Fatal(err)
	}
	lines := strings.Split(entitiesText(es), "\n")
	slices.Sort(lines)
	if got, want := b.contents(), strings.Join(lines, "\n"); got != want {
		b.t.Fatalf("the switch has\n%s\nwant\n%s", got, want)
	}
}

// ping is a TCP packet from a.front to b.back through the router, with a destination
// port.
func ping(port byte) target.Packet {
	data, err := hex.DecodeString("020000000101" + "020000000001" + "0800" +
		"45000028000100004006" + "62c1" + "0a00010a" + "0a00020a" + "0400" + "00" + hex.EncodeToString([]byte{port}) + "00000000" + "00000000" + "5002" + "2000" + "0000" + "0000")
	if err != nil {
		panic(err)
	}
	return target.Packet{Port: 1, Data: data}
}

// passes tells whether a packet comes out on port 2.
func (b *bed) passes(p target.Packet) bool {
	b.t.Helper()
	out, err := b.dev.Send(p.Port, p.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if len(out) == 0 {
		return false
	}
	if len(out) != 1 || out[0].Port != 2 || !bytes.Equal(out[0].Data[:6], []byte{2, 0, 0, 0, 0, 2}) {
		b.t.Fatalf("the packet became %+v", out)
	}
	return true
}

// TestDeploy deploys, deploys again, adds chains that fit and that do not, and takes
// all away.
func TestDeploy(t *testing.T) {
	b := newBed(t)
	cfg := twoNetworks()
	if err := b.fabric.Check(b.ctx(), cfg); err != nil {
		t.Fatal(err)
	}
	var stages []string
	tell := func(s service.Stage) { stages = append(stages, s.Name) }
	if err := b.fabric.Prepare(b.ctx(), cfg, tell); err != nil {
		t.Fatal(err)
	}
	r, err := b.fabric.Deploy(b.ctx(), cfg, tell)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(stages, " "); got != "merge compose compile merge load entries" {
		t.Errorf("stages %s", got)
	}
	if !r.Recompiled || r.EntriesAdded == 0 || r.EntriesChanged+r.EntriesDeleted != 0 || b.programs.count != 1 {
		t.Errorf("%+v, composed %d times", r, b.programs.count)
	}
	b.is(cfg, *b.fabric.running)
	if !b.passes(ping(80)) || b.passes(ping(22)) || b.passes(ping(23)) {
		t.Error("port 80 must pass, 22 is the chain's to refuse, 23 the operator's")
	}

	if r := b.deploy(cfg); r.Recompiled || r.EntriesAdded+r.EntriesChanged+r.EntriesDeleted != 0 {
		t.Errorf("deployed again: %+v", r)
	}

	fits := twoNetworks()
	fits.Chains = append(fits.Chains, chainOf(2, "web", "Firewall first", []service.Classifier{{From: "front", Protocol: "tcp", Ports: service.PortRange{Lo: 22, Hi: 22}, Priority: 9}}))
	if r := b.deploy(fits); r.Recompiled || r.EntriesDeleted != 0 {
		t.Errorf("a chain that fits: %+v", r)
	}
	b.is(fits, *b.fabric.running)
	if !b.passes(ping(22)) || b.passes(ping(23)) {
		t.Error("port 22 takes the other chain, whose rules are others; the operator's are the same")
	}

	grown := fits
	grown.Chains = append(slices.Clone(fits.Chains), chainOf(3, "nat", "NAT before Firewall before IDS", []service.Classifier{{From: "back", Protocol: "17"}},
		service.Rule{NF: "NAT", Match: map[string]string{"src_addr": "10.0.2.10"}, Action: "translate", Params: map[string]string{"addr": "10.0.2.99"}}))
	r = b.deploy(grown)
	if !r.Recompiled || r.EntriesChanged+r.EntriesDeleted != 0 || r.EntriesAdded != 5 {
		t.Errorf("a chain that does not fit keeps the entries of the others: %+v", r)
	}
	b.is(grown, *b.fabric.running)

	st, err := b.fabric.State(b.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if st.Pipeline.Name != "vrouter" || st.Pipeline.Target != "software" || st.Pipeline.Cookie == 0 || st.Pipeline.Entries == 0 || st.Pipeline.Tables < 10 || len(st.Ports) != 1 {
		t.Errorf("pipeline %+v", st.Pipeline)
	}
	count := map[string]uint64{}
	for _, n := range st.NFs {
		name, _, _ := strings.Cut(n.NF, "#")
		count[name] += n.Packets
		count[name+" dropped"] += n.Dropped
	}
	// Since the first deployment: 80, 22, 23 in the first chain; 22 in the second, 23 in
	// the first.
	if count["IDS"] != 4 || count["Firewall"] != 5 || count["Firewall dropped"] != 3 || count["NAT"] != 0 || len(st.NFs) != 4 {
		t.Errorf("NFs %+v", st.NFs)
	}
	if !slices.ContainsFunc(st.NFs, func(n service.NFState) bool { return n.NF == "Firewall#2" }) {
		t.Errorf("the second Firewall is not numbered: %+v", st.NFs)
	}
	if len(st.Chains) != 3 || st.Chains[0].Packets != 4 || st.Chains[1].Packets != 1 || st.Chains[1].Name != "web" || len(st.Chains[2].Paths) != 1 || len(st.Chains[2].Paths[0]) != 3 {
		t.Errorf("chains %+v", st.Chains)
	}

	if r := b.deploy(service.SwitchConfig{}); r.Recompiled {
		t.Errorf("taking away: %+v", r)
	}
	if got := strings.TrimSpace(b.contents()); got != "" {
		t.Errorf("left on the switch:\n%s", got)
	}
}

// TestRestarts starts controller and server again.
func TestRestarts(t *testing.T) {
	b := newBed(t)
	cfg := twoNetworks()
	b.deploy(cfg)
	cfg.Chains = append(cfg.Chains, chainOf(2, "web", "Firewall first", []service.Classifier{{From: "front", Priority: 9}}))
	b.deploy(cfg) // entries only: the program's text does not tell of the chain
	before := b.contents()

	if err := b.fabric.Close(); err != nil {
		t.Fatal(err)
	}
	b.fabric = b.newFabric()
	st, err := b.fabric.State(b.ctx())
	if err != nil || len(st.Chains) != 2 || len(st.Chains[1].Paths) != 1 || st.Pipeline.Entries != strings.Count(before, "\n") {
		t.Errorf("after a start: %+v, %v", st, err)
	}
	if r := b.deploy(cfg); r.Recompiled || r.EntriesAdded+r.EntriesChanged+r.EntriesDeleted != 0 {
		t.Errorf("a controller that starts again: %+v", r)
	}
	loads := b.loads

	b.stop()
	if _, err := b.fabric.State(b.ctx()); err == nil {
		t.Error("the server is away")
	}
	b.start()
	if r := b.deploy(cfg); r.Recompiled || r.EntriesAdded+r.EntriesChanged+r.EntriesDeleted != 0 {
		t.Errorf("a server that starts again: %+v", r)
	}
	if got := b.contents(); got != before {
		t.Errorf("the switch has\n%s\nand had\n%s", got, before)
	}
	if b.loads > loads+1 { // the server itself loads what its journal holds
		t.Errorf("%d loads", b.loads-loads)
	}
}

// TestOtherPrograms checks when a program is loaded although the chains are the same.
func TestOtherPrograms(t *testing.T) {
	b := newBed(t)
	cfg := twoNetworks()
	b.deploy(cfg)

	// The library is another, but gives the same program.
	b.programs.version = "2"
	if r := b.deploy(cfg); r.Recompiled || b.programs.count != 2 {
		t.Errorf("%+v, composed %d times", r, b.programs.count)
	}
	// It gives another program.
	b.programs.version, b.programs.comment = "3", "\n// newer\n"
	if r := b.deploy(cfg); !r.Recompiled || r.EntriesAdded+r.EntriesChanged+r.EntriesDeleted != 0 {
		t.Errorf("%+v", r)
	}
	// The controller is another one, with another program.
	b.fabric.Close()
	b.programs.comment = "\n// newest\n"
	b.fabric = b.newFabric()
	if r := b.deploy(cfg); !r.Recompiled {
		t.Errorf("%+v", r)
	}
	if r := b.deploy(cfg); r.Recompiled {
		t.Errorf("%+v", r)
	}
	// Someone else has given the switch a program.
	c := b.fabric.session
	wire, _, err := (&programs{lib: b.programs.lib}).composeWire()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetPipeline(b.ctx(), client.Commit, client.Pipeline{DeviceConfig: []byte(wire), Cookie: 5}); err != nil {
		t.Fatal(err)
	}
	if r := b.deploy(cfg); !r.Recompiled {
		t.Errorf("%+v", r)
	}
	b.is(cfg, *b.fabric.running)
}

func (p *programs) composeWire() (string, int, error) {
	w, err := p.lib.Backbone("wire")
	if err != nil {
		return "", 0, err
	}
	text, err := p4text.Print(w)
	return text, 0, err
}

// TestFailures lets writes fail: the switch must be as before, also when another program
// was loaded in between, which lacks tables that the one before had.
func TestFailures(t *testing.T) {
	refuse := func(b *bed, table string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.fail = nil
		if table != "" {
			b.fail = func(name string) bool { return name == table }
		}
	}
	t.Run("first", func(t *testing.T) {
		b := newBed(t)
		refuse(b, tablePorts)
		if _, err := b.fabric.Deploy(b.ctx(), twoNetworks(), nil); !errors.Is(err, target.ErrFull) {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(b.contents()); got != "" {
			t.Errorf("left on the switch:\n%s", got)
		}
		refuse(b, "")
		if r := b.deploy(twoNetworks()); r.EntriesAdded == 0 {
			t.Errorf("%+v", r)
		}
		b.is(twoNetworks(), *b.fabric.running)
	})
	t.Run("entries", func(t *testing.T) {
		b := newBed(t)
		b.deploy(twoNetworks())
		before := b.contents()
		next := twoNetworks()
		next.Chains[0].Chain.Match = next.Chains[0].Chain.Match[:1]
		next.Ports = next.Ports[:2]
		next.Chains[0].Chain.Rules[0].Action = "allow"
		refuse(b, tableClassifier)
		if _, err := b.fabric.Deploy(b.ctx(), next, nil); !errors.Is(err, target.ErrFull) || !strings.Contains(err.Error(), "entries") {
			t.Fatal(err)
		}
		refuse(b, "")
		if got := b.contents(); got != before {
			t.Errorf("the switch has\n%s\nand had\n%s", got, before)
		}
		b.deploy(next)
		b.is(next, *b.fabric.running)
	})
	t.Run("another program", func(t *testing.T) {
		b := newBed(t)
		b.deploy(twoNetworks())
		// Two steps on, the NFs of the first chain are gone from the program.
		lb := twoNetworks()
		lb.Chains = chains(chainOf(2, "lb", "LB before NAT", []service.Classifier{{From: "front"}}))
		next := twoNetworks()
		next.Chains = append(slices.Clone(lb.Chains), chainOf(3, "more", "NAT before LB", nil))
		next.Rules, lb.Rules = nil, nil
		cookie := b.fabric.cookie
		// Make the present program one of which the next has nothing.
		before := b.contents()
		plain := b.fabric.running.Graph
		for i := range plain.Nodes {
			plain.Nodes[i].Chains = nil
		}
		refuse(b, tableClassifier)
		if _, err := b.fabric.Deploy(b.ctx(), next, nil); !errors.Is(err, target.ErrFull) {
			t.Fatal(err)
		}
		refuse(b, "")
		if b.fabric.cookie != cookie {
			t.Error("another program runs")
		}
		if got := b.contents(); got != before {
			t.Errorf("the switch has\n%s\nand had\n%s", got, before)
		}
		if !b.passes(ping(80)) || b.passes(ping(22)) {
			t.Error("packets are treated otherwise")
		}
		b.deploy(next)
		b.is(next, *b.fabric.running)
	})
}
