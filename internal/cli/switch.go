package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	"github.com/catena-nfv/catena/internal/p4rt/client"
)

// P4RuntimeSocket is where the switch of this machine speaks P4Runtime.
func (p Paths) P4RuntimeSocket() string { return filepath.Join(p.Run, "p4runtime.sock") }

// SwitchCommand looks into a switch: its ports through the controller, its program
// and what the tables and counters hold straight from it, by P4Runtime.
func SwitchCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "switch", Short: "look into the switch: ports, NFs, counters, pipeline, tables"}
	cmd.AddCommand(switchPorts(), switchNFs(), switchCounters(), switchPipeline(), switchTables())
	return cmd
}

// switchFlags say which switch to ask.
type switchFlags struct {
	address string
	device  uint64
	json    bool
}

func (f *switchFlags) add(cmd *cobra.Command) {
	address := os.Getenv("CATENA_P4RUNTIME")
	if address == "" {
		address = "unix://" + DefaultPaths().P4RuntimeSocket()
	}
	cmd.Flags().StringVar(&f.address, "p4runtime", address, "address of the switch's P4Runtime server: unix:///PATH or HOST:PORT (CATENA_P4RUNTIME)")
	cmd.Flags().Uint64Var(&f.device, "device", 1, "P4Runtime device id")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// withSwitch makes the RunE of a command that reads from the switch.
func withSwitch(f *switchFlags, run func(cmd *cobra.Command, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := client.Dial(cmd.Context(), client.Config{Target: f.address, DeviceID: f.device})
		if err != nil {
			return switchError(err)
		}
		defer c.Close()
		return switchError(run(cmd, c, args))
	}
}

// switchError gives an error of the switch its exit code.
func switchError(err error) error {
	var code *ExitError
	switch {
	case err == nil, errors.As(err, &code):
		return err
	case errors.Is(err, target.ErrNotFound), errors.Is(err, target.ErrInvalid):
		return refuse("%w", err)
	}
	return &ExitError{Code: CodeOf(err), Err: errors.New(err.Error())}
}

func switchPorts() *cobra.Command {
	var conn connection
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ports", Short: "list the ports with their counters", Example: "  catena switch ports", Args: cobra.NoArgs,
		RunE: withClients(&conn, func(cmd *cobra.Command, c *clients, _ []string) error {
			st, err := c.sw.GetSwitch(cmd.Context(), &catenav1.GetSwitchRequest{})
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), &catenav1.SwitchState{Ports: st.GetPorts()})
			}
			t := newTable(cmd.OutOrStdout(), "PORT", "NAME", "LINK", "STATE", "RX PACKETS", "RX BYTES", "RX DROPPED", "TX PACKETS", "TX BYTES", "TX DROPPED")
			for _, p := range st.GetPorts() {
				state := "down"
				if p.GetUp() {
					state = "up"
				}
				t.row(p.GetNumber(), p.GetName(), p.GetLink(), state, quantity(p.GetRxPackets()), quantity(p.GetRxBytes()), quantity(p.GetRxDropped()),
					quantity(p.GetTxPackets()), quantity(p.GetTxBytes()), quantity(p.GetTxDropped()))
			}
			t.flush()
			return nil
		}),
	}
	conn.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func switchNFs() *cobra.Command {
	var conn connection
	var asJSON bool
	cmd := &cobra.Command{
		Use: "nfs", Short: "list the NFs in the switch's program with their packets", Example: "  catena switch nfs", Args: cobra.NoArgs,
		RunE: withClients(&conn, func(cmd *cobra.Command, c *clients, _ []string) error {
			st, err := c.sw.GetSwitch(cmd.Context(), &catenav1.GetSwitchRequest{})
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), &catenav1.SwitchState{Nfs: st.GetNfs()})
			}
			t := newTable(cmd.OutOrStdout(), "NODE", "NF", "PACKETS", "BYTES", "DROPPED")
			for _, n := range st.GetNfs() {
				t.row(n.GetNode(), n.GetNf(), quantity(n.GetPackets()), quantity(n.GetBytes()), quantity(n.GetDropped()))
			}
			t.flush()
			return nil
		}),
	}
	conn.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// counterCell is a cell of a counter in JSON.
type counterCell struct {
	Counter string `json:"counter"`
	Index   int    `json:"index"`
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
}

func switchCounters() *cobra.Command {
	var f switchFlags
	cmd := &cobra.Command{
		Use: "counters [NAME…]", Short: "show the program's counters; cells that are zero are left out",
		Example: "  catena switch counters", Args: cobra.ArbitraryArgs,
		RunE: withSwitch(&f, func(cmd *cobra.Command, c *client.Client, args []string) error {
			cells, err := readCounters(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			if f.json {
				return writeJSONValue(cmd.OutOrStdout(), map[string]any{"counters": cells})
			}
			t := newTable(cmd.OutOrStdout(), "COUNTER", "INDEX", "PACKETS", "BYTES")
			for _, x := range cells {
				t.row(x.Counter, x.Index, x.Packets, x.Bytes)
			}
			t.flush()
			return nil
		}),
	}
	f.add(cmd)
	return cmd
}

func readCounters(ctx context.Context, c *client.Client, names []string) ([]counterCell, error) {
	s, err := c.Schema()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		for _, x := range s.Counters.All() {
			names = append(names, x.GetPreamble().GetName())
		}
	}
	cells := []counterCell{}
	for _, name := range names {
		found, err := c.Counters(ctx, name)
		if err != nil {
			return nil, err
		}
		for i, x := range found {
			if x != (target.Counter{}) {
				cells = append(cells, counterCell{name, i, x.Packets, x.Bytes})
			}
		}
	}
	return cells, nil
}

// pipelineInfo is the pipeline in JSON.
type pipelineInfo struct {
	Cookie  uint64         `json:"cookie"`
	Version string         `json:"p4runtime"`
	Tables  []pipelineItem `json:"tables"`
	Objects []string       `json:"objects"`
}

type pipelineItem struct {
	Name    string   `json:"name"`
	Keys    []string `json:"keys"`
	Actions []string `json:"actions"`
	Size    int64    `json:"size"`
	Entries int      `json:"entries"`
}

func switchPipeline() *cobra.Command {
	var f switchFlags
	var program bool
	cmd := &cobra.Command{
		Use: "pipeline", Short: "show the program that runs", Example: "  catena switch pipeline", Args: cobra.NoArgs,
		RunE: withSwitch(&f, func(cmd *cobra.Command, c *client.Client, _ []string) error {
			p, err := c.Pipeline(cmd.Context())
			if err != nil {
				return err
			}
			if p == nil {
				return refuse("the switch has no pipeline; deploy a chain, or set one by P4Runtime")
			}
			if program {
				_, err := cmd.OutOrStdout().Write(p.DeviceConfig)
				return err
			}
			info, err := describePipeline(cmd.Context(), c, p)
			if err != nil {
				return err
			}
			if f.json {
				return writeJSONValue(cmd.OutOrStdout(), info)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "cookie 0x%016x, P4Runtime %s\n\n", info.Cookie, info.Version)
			t := newTable(cmd.OutOrStdout(), "TABLE", "KEYS", "ACTIONS", "ENTRIES", "SIZE")
			for _, x := range info.Tables {
				t.row(x.Name, strings.Join(x.Keys, " "), strings.Join(x.Actions, " "), x.Entries, x.Size)
			}
			t.flush()
			if len(info.Objects) > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n", strings.Join(info.Objects, "\n"))
			}
			return nil
		}),
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&program, "program", false, "print the P4 text")
	return cmd
}

func describePipeline(ctx context.Context, c *client.Client, p *client.Pipeline) (pipelineInfo, error) {
	out := pipelineInfo{Cookie: p.Cookie, Tables: []pipelineItem{}, Objects: []string{}}
	var err error
	if out.Version, err = c.Version(ctx); err != nil {
		return out, err
	}
	s, err := c.Schema()
	if err != nil {
		return out, err
	}
	for _, t := range s.Tables.All() {
		item := pipelineItem{Name: t.Name(), Keys: []string{}, Actions: s.ActionNames(t), Size: t.GetSize()}
		for _, k := range t.GetMatchFields() {
			item.Keys = append(item.Keys, k.GetName()+":"+strings.ToLower(k.GetMatchType().String()))
		}
		entries, err := c.Entries(ctx, t.Name())
		if err != nil {
			return out, err
		}
		item.Entries = len(entries)
		out.Tables = append(out.Tables, item)
	}
	for _, x := range s.Counters.All() {
		out.Objects = append(out.Objects, fmt.Sprintf("counter %s[%d]", x.GetPreamble().GetName(), x.GetSize()))
	}
	for _, x := range s.Meters.All() {
		out.Objects = append(out.Objects, fmt.Sprintf("meter %s[%d]", x.GetPreamble().GetName(), x.GetSize()))
	}
	for _, x := range s.Registers.All() {
		out.Objects = append(out.Objects, fmt.Sprintf("register %s[%d]", x.GetPreamble().GetName(), x.GetSize()))
	}
	for _, x := range s.Profiles.All() {
		out.Objects = append(out.Objects, "action profile "+x.GetPreamble().GetName())
	}
	for _, x := range s.Digests.All() {
		out.Objects = append(out.Objects, "digest "+x.GetPreamble().GetName())
	}
	for _, x := range s.ValueSets.All() {
		out.Objects = append(out.Objects, "value set "+x.GetPreamble().GetName())
	}
	return out, nil
}

// tableDump is a table's contents in JSON.
type tableDump struct {
	Table   string       `json:"table"`
	Default string       `json:"default"`
	Entries []entryCells `json:"entries"`
}

// entryCells is an entry as people read it.
type entryCells struct {
	Match    map[string]string `json:"match"`
	Priority int               `json:"priority,omitempty"`
	Action   string            `json:"action"`
	Const    bool              `json:"const,omitempty"`
	Packets  *uint64           `json:"packets,omitempty"`
	Bytes    *uint64           `json:"bytes,omitempty"`
}

func switchTables() *cobra.Command {
	var f switchFlags
	cmd := &cobra.Command{
		Use: "tables [NAME…]", Short: "dump the entries of tables, of all without a name", Example: "  catena switch tables classifier", Args: cobra.ArbitraryArgs,
		RunE: withSwitch(&f, func(cmd *cobra.Command, c *client.Client, args []string) error {
			dumps, err := dumpTables(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			if f.json {
				return writeJSONValue(cmd.OutOrStdout(), map[string]any{"tables": dumps})
			}
			for i, d := range dumps {
				if i > 0 {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				printTable(cmd, c, d)
			}
			return nil
		}),
	}
	f.add(cmd)
	return cmd
}

func dumpTables(ctx context.Context, c *client.Client, names []string) ([]tableDump, error) {
	s, err := c.Schema()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		for _, t := range s.Tables.All() {
			names = append(names, t.Name())
		}
	}
	dumps := []tableDump{}
	for _, name := range names {
		entries, err := c.Entries(ctx, name)
		if err != nil {
			return nil, err
		}
		t, err := s.Tables.Named(name)
		if err != nil {
			return nil, err
		}
		def, err := c.DefaultAction(ctx, name)
		if err != nil {
			return nil, err
		}
		d := tableDump{Table: t.Name(), Default: showAction(s, def.Action, def.Params), Entries: []entryCells{}}
		for _, e := range entries {
			d.Entries = append(d.Entries, showEntry(s, t, e))
		}
		dumps = append(dumps, d)
	}
	return dumps, nil
}

func showEntry(s *p4rt.Schema, t *p4rt.Table, e client.Entry) entryCells {
	out := entryCells{Match: map[string]string{}, Priority: e.Priority, Const: e.Const}
	for _, f := range t.GetMatchFields() {
		m, ok := e.Match[f.GetName()]
		if !ok {
			out.Match[f.GetName()] = "*"
			continue
		}
		out.Match[f.GetName()] = p4rt.FormatMatch(f, m)
	}
	switch {
	case e.Action != "":
		out.Action = showAction(s, e.Action, e.Params)
	case e.Group != 0:
		out.Action = fmt.Sprintf("group %d", e.Group)
	case e.Member != 0:
		out.Action = fmt.Sprintf("member %d", e.Member)
	default:
		out.Action = "(an action set)"
	}
	if e.Counter != nil {
		out.Packets, out.Bytes = &e.Counter.Packets, &e.Counter.Bytes
	}
	return out
}

// showAction prints NAME(param=value, …) in the order of the parameters.
func showAction(s *p4rt.Schema, name string, params map[string][]byte) string {
	info, err := s.Actions.Named(name)
	if err != nil {
		return name
	}
	var args []string
	for _, p := range info.GetParams() {
		args = append(args, p.GetName()+"="+p4rt.FormatValue(p.GetName(), int(p.GetBitwidth()), params[p.GetName()]))
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}

func printTable(cmd *cobra.Command, c *client.Client, d tableDump) {
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %d entries, default %s\n", d.Table, len(d.Entries), d.Default)
	s, err := c.Schema()
	if err != nil || len(d.Entries) == 0 {
		return
	}
	t, err := s.Tables.Named(d.Table)
	if err != nil {
		return
	}
	heads := append([]string(nil), t.FieldNames()...)
	if t.NeedsPriority {
		heads = append(heads, "PRIORITY")
	}
	heads = append(heads, "ACTION")
	if t.Counter != nil {
		heads = append(heads, "PACKETS", "BYTES")
	}
	out := newTable(cmd.OutOrStdout(), heads...)
	for _, e := range d.Entries {
		var row []any
		for _, name := range t.FieldNames() {
			row = append(row, e.Match[name])
		}
		if t.NeedsPriority {
			row = append(row, e.Priority)
		}
		row = append(row, e.Action)
		if e.Packets != nil {
			row = append(row, *e.Packets, *e.Bytes)
		}
		out.row(row...)
	}
	out.flush()
}
