package cli

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/trace"
)

// traceFlags describe the packet.
type traceFlags struct {
	sw   switchFlags
	conn connection

	protocol     string
	sport, dport uint16
	ttl          uint8
	port         string
	frame        string
	all          bool
}

// TraceCommand shows the way of a packet through a copy of the running switch.
func TraceCommand(compile trace.Compile) *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "trace FROM TO | trace --port PORT --frame HEX",
		Short: "show why a packet goes where it goes",
		Long: `Trace copies the program and the entries of the running switch into an interpreter and
sends one packet through the copy: each table with the entry that it hits, what an NF
does, where the packet is dropped or leaves. The switch itself is only read.

FROM and TO are addresses, or names of servers and functions; the packet has the MAC
addresses that the source would use.`,
		Example: `  catena trace dns web-1                        # a TCP SYN to port 80
  catena trace dns web-1 --dport 22 --all       # each step, with its place in the program
  catena trace 10.10.1.10 10.10.2.10 --protocol icmp --json
  catena trace --port default/shop/dns.front --frame ffffffffffff02000a0a010c08060001080006040001`,
		Args: cobra.MaximumNArgs(2),
	}
	f.sw.add(cmd)
	f.conn.flags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.protocol, "protocol", "tcp", "tcp (a SYN), udp or icmp (an echo request)")
	fl.Uint16Var(&f.sport, "sport", 40000, "source port")
	fl.Uint16Var(&f.dport, "dport", 80, "destination port")
	fl.Uint8Var(&f.ttl, "ttl", 64, "time to live")
	fl.StringVar(&f.port, "port", "", "with --frame: the port where it arrives, by number or name (catena switch ports)")
	fl.StringVar(&f.frame, "frame", "", "a whole Ethernet frame in hexadecimal")
	fl.BoolVar(&f.all, "all", false, "print each step, not only the decisions")
	cmd.RunE = withSwitch(&f.sw, func(cmd *cobra.Command, c *client.Client, args []string) error {
		ctx := cmd.Context()
		names := f.conn.names(ctx)
		p, err := f.packet(ctx, c, names, args)
		if err != nil {
			return err
		}
		r, err := trace.Open(ctx, c, compile)
		if err != nil {
			return err
		}
		defer r.Close()
		steps, out, err := r.Send(p)
		if err != nil {
			return err
		}
		if f.sw.json {
			return writeTraceJSON(cmd.OutOrStdout(), names, p, steps, out)
		}
		writeTrace(cmd.OutOrStdout(), names, steps, f.all)
		return nil
	})
	return cmd
}

// packet makes the packet that the arguments describe.
func (f *traceFlags) packet(ctx context.Context, c *client.Client, names switchNames, args []string) (target.Packet, error) {
	if f.frame != "" {
		if len(args) > 0 || f.port == "" {
			return target.Packet{}, refuse("--frame goes with --port, and without FROM and TO")
		}
		data, err := hex.DecodeString(strings.TrimPrefix(f.frame, "0x"))
		if err != nil {
			return target.Packet{}, refuse("--frame: %w", err)
		}
		port, err := names.port(f.port)
		return target.Packet{Port: port, Data: data}, err
	}
	if len(args) != 2 || f.port != "" {
		return target.Packet{}, refuse("FROM and TO are needed, or --port and --frame")
	}
	if !slices.Contains(trace.Protocols, f.protocol) {
		return target.Packet{}, refuse("--protocol %q is none of %s", f.protocol, strings.Join(trace.Protocols, ", "))
	}
	hosts, err := trace.Hosts(ctx, c)
	if err != nil {
		return target.Packet{}, err
	}
	from, err := names.addresses(args[0])
	if err != nil {
		return target.Packet{}, err
	}
	to, err := names.addresses(args[1])
	if err != nil {
		return target.Packet{}, err
	}
	src, dst := nearest(from, to, hosts)
	p, err := trace.Flow{
		Src: src, Dst: dst, Protocol: f.protocol, SrcPort: f.sport, DstPort: f.dport, TTL: f.ttl,
	}.Packet(hosts)
	if err != nil {
		return p, refuse("%w", err)
	}
	return p, nil
}

// nearest picks the pair of addresses that share a network, else the first of each.
func nearest(from, to []netip.Addr, hosts []trace.Host) (src, dst netip.Addr) {
	network := map[netip.Addr]uint32{}
	for _, h := range hosts {
		network[h.Address] = h.Network
	}
	for _, a := range from {
		for _, b := range to {
			if network[a] != 0 && network[a] == network[b] {
				return a, b
			}
		}
	}
	return from[0], to[0]
}

// switchNames knows what the controller calls ports and addresses. Without a
// controller there are only numbers.
type switchNames struct {
	ports map[uint32]string
	nfs   map[string]string // by the node's number, in digits
	hosts map[string][]netip.Addr
}

// nodeCounter is the counter at the nodes of a composed program.
const nodeCounter = "catena.nodes"

func (c *connection) names(ctx context.Context) switchNames {
	n := switchNames{map[uint32]string{}, map[string]string{}, map[string][]netip.Addr{}}
	cl, err := c.dial(ctx)
	if err != nil {
		return n
	}
	defer cl.close()
	if st, err := cl.sw.GetSwitch(ctx, &catenav1.GetSwitchRequest{}); err == nil {
		for _, p := range st.GetPorts() {
			n.ports[p.GetNumber()] = p.GetName()
		}
		for _, x := range st.GetNfs() {
			n.nfs[fmt.Sprint(x.GetNode())] = x.GetNf()
		}
	}
	if all, err := cl.orchestrator.ListServices(ctx, &catenav1.ListServicesRequest{Project: c.project}); err == nil {
		for _, s := range all.GetServices() {
			whole, err := cl.orchestrator.GetService(ctx, &catenav1.GetServiceRequest{Project: c.project, Name: s.GetService().GetName()})
			if err != nil {
				continue // it was deleted meanwhile
			}
			for _, h := range hostsOf(whole) {
				n.hosts[h.name] = append(n.hosts[h.name], h.addr)
			}
		}
	}
	return n
}

func (n switchNames) addresses(name string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		if !a.Is4() {
			return nil, refuse("%s: only IPv4 is traced by address; use --frame", name)
		}
		return []netip.Addr{a}, nil
	}
	if a := n.hosts[name]; len(a) > 0 {
		return a, nil
	}
	return nil, refuse("%q is neither an address nor a server or function of this project (catena get SERVICE lists them)", name)
}

func (n switchNames) port(name string) (uint32, error) {
	for number, is := range n.ports {
		if is == name {
			return number, nil
		}
	}
	var number uint32
	if _, err := fmt.Sscanf(name, "%d", &number); err != nil || fmt.Sprint(number) != name {
		return 0, refuse("no port %q (catena switch ports lists them)", name)
	}
	return number, nil
}

// String names a port.
func (n switchNames) String(port uint32) string {
	if name := n.ports[port]; name != "" {
		return fmt.Sprintf("port %d (%s)", port, name)
	}
	return fmt.Sprintf("port %d", port)
}

// decides tells whether a step is one of those that decide a packet's way.
func decides(s trace.Step) bool {
	switch s.Kind {
	case interp.EventState, interp.EventControl, interp.EventExtract, interp.EventBranch, interp.EventAssign, interp.EventEmit:
		return false
	case interp.EventCall:
		return !strings.Contains(s.Object, "counter.") && !strings.Contains(s.Object, "checksum")
	}
	return true
}

// entersNF tells whether a step is the count of a packet at an NF, and which one.
func (n switchNames) entersNF(s trace.Step) (string, bool) {
	if s.Kind != interp.EventCall || !strings.HasSuffix(s.Object, " "+nodeCounter) {
		return "", false
	}
	return n.nfs[s.Detail], true
}

func leaves(steps []trace.Step) bool {
	return slices.ContainsFunc(steps, func(s trace.Step) bool { return s.Kind == interp.EventTransmit })
}

func writeTrace(w io.Writer, names switchNames, steps []trace.Step, all bool) {
	for _, s := range steps {
		nf, enters := names.entersNF(s)
		switch {
		case !all && enters:
			fmt.Fprintf(w, "node %s %s\n", s.Detail, nf)
		case !all && !decides(s):
		case s.Kind == interp.EventReceive:
			fmt.Fprintf(w, "receive  on %s, %d bytes\n", names.String(s.Port), len(s.Data))
		case s.Kind == interp.EventTransmit:
			fmt.Fprintf(w, "transmit on %s, %d bytes\n", names.String(s.Port), len(s.Data))
		case s.Kind == interp.EventReplica, s.Kind == interp.EventClone:
			fmt.Fprintf(w, "%-8s for %s\n", s.Kind, names.String(s.Port))
		case all && s.At != "":
			fmt.Fprintf(w, "  %-70s  %s\n", s.Event, s.At)
		default:
			fmt.Fprintf(w, "  %s\n", s.Event)
		}
	}
	if !leaves(steps) {
		fmt.Fprintln(w, "nothing leaves the switch")
	}
}

// traceJSON is a trace in JSON.
type traceJSON struct {
	Packet  packetJSON   `json:"packet"`
	Steps   []stepJSON   `json:"steps"`
	Packets []packetJSON `json:"packets"`
}

type packetJSON struct {
	Port  uint32 `json:"port"`
	Name  string `json:"name,omitempty"`
	Frame string `json:"frame"`
}

type stepJSON struct {
	Event  string `json:"event"`
	Object string `json:"object,omitempty"`
	Detail string `json:"detail,omitempty"`
	Port   uint32 `json:"port,omitempty"`
	At     string `json:"at,omitempty"`
}

func writeTraceJSON(w io.Writer, names switchNames, in target.Packet, steps []trace.Step, out []target.Packet) error {
	packet := func(p target.Packet) packetJSON {
		return packetJSON{p.Port, names.ports[p.Port], hex.EncodeToString(p.Data)}
	}
	t := traceJSON{Packet: packet(in), Steps: []stepJSON{}, Packets: []packetJSON{}}
	for _, s := range steps {
		t.Steps = append(t.Steps, stepJSON{string(s.Kind), s.Object, s.Detail, s.Port, s.At})
	}
	for _, p := range out {
		t.Packets = append(t.Packets, packet(p))
	}
	return writeJSONValue(w, t)
}
