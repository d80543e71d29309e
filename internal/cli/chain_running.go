package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
)

// parsePath reads the optional PATH argument: a path id, counted from 1.
func parsePath(args []string, at int) (int32, error) {
	if len(args) <= at {
		return 0, nil
	}
	n, err := strconv.ParseInt(args[at], 10, 32)
	if err != nil || n < 1 {
		return 0, refuse("path %q is not a number from 1 on; `catena chain paths %s` lists them", args[at], args[0])
	}
	return int32(n), nil
}

// RunningChainCommands are the commands on chains that run (paper 003, Table II:
// Show_SFCs, Show_SFPs, Show_SFC_Configs, Select_SFC, Delete_SFC).
func RunningChainCommands() []*cobra.Command {
	return []*cobra.Command{chainList(), chainPaths(), chainConfig(), chainSelect(), chainDelete()}
}

func chainList() *cobra.Command {
	var conn connection
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "show the chains that run", Example: "  catena chain list", Args: cobra.NoArgs,
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, _ []string) error {
		l, err := c.chains.ListChains(cmd.Context(), &catenav1.ListChainsRequest{Project: conn.project})
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(cmd.OutOrStdout(), l)
		}
		t := newTable(cmd.OutOrStdout(), "ID", "SERVICE", "NAME", "PATHS", "SELECTED", "PACKETS", "BYTES", "REQUEST")
		for _, k := range l.GetChains() {
			t.row(k.GetNumber(), k.GetService(), k.GetName(), k.GetPaths(), k.GetPath(), quantity(k.GetPackets()), quantity(k.GetBytes()), oneLine(k.GetRequest()))
		}
		t.flush()
		return nil
	})
	conn.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func chainPaths() *cobra.Command {
	var conn connection
	var asJSON bool
	cmd := &cobra.Command{
		Use: "paths ID", Short: "show the paths of a chain", Example: "  catena chain paths dc", Args: cobra.ExactArgs(1),
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, args []string) error {
		l, err := c.chains.ListPaths(cmd.Context(), &catenav1.ListPathsRequest{Chain: args[0]})
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(cmd.OutOrStdout(), l)
		}
		showPaths(cmd, l.GetPaths())
		return nil
	})
	conn.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func showPaths(cmd *cobra.Command, paths []*catenav1.Path) {
	t := newTable(cmd.OutOrStdout(), "PATH", "", "NODES", "NFS")
	for _, p := range paths {
		mark := ""
		if p.GetSelected() {
			mark = "*"
		}
		t.row(p.GetId(), mark, fmt.Sprint(p.GetNodes()), strings.Join(p.GetNfs(), " "))
	}
	t.flush()
}

func chainConfig() *cobra.Command {
	var conn connection
	var asJSON bool
	cmd := &cobra.Command{
		Use: "config ID [PATH]", Short: "show the configuration of a chain or path",
		Example: "  catena chain config dc\n  catena chain config dc 1 --json", Args: cobra.RangeArgs(1, 2),
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, args []string) error {
		path, err := parsePath(args, 1)
		if err != nil {
			return err
		}
		k, err := c.chains.GetChainConfig(cmd.Context(), &catenav1.GetChainConfigRequest{Chain: args[0], Path: path})
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(cmd.OutOrStdout(), k)
		}
		w := cmd.OutOrStdout()
		fmt.Fprintf(w, "chain %d %s/%s: %s\n\n", k.GetChain().GetNumber(), k.GetChain().GetService(), k.GetChain().GetName(), oneLine(k.GetChain().GetRequest()))
		showPaths(cmd, k.GetPaths())
		fmt.Fprintln(w)
		t := newTable(w, "PRIORITY", "FROM", "TO", "PROTOCOL", "SOURCE", "DESTINATION", "PORTS", "PATH")
		for _, m := range k.GetMatch() {
			t.row(m.GetPriority(), any1(m.GetFrom()), any1(m.GetTo()), any1(m.GetProtocol()), any1(m.GetSource()), any1(m.GetDestination()), any1(m.GetPorts()), m.GetPath())
		}
		t.flush()
		fmt.Fprintln(w)
		showRules(cmd, k.GetRules())
		return nil
	})
	conn.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// any1 prints what is not set as a wildcard.
func any1(s string) string {
	if s == "" {
		return "*"
	}
	return s
}

func chainSelect() *cobra.Command {
	var conn connection
	cmd := &cobra.Command{
		Use: "select ID [PATH]", Short: "make a chain's packets take a path (default the first)",
		Example: "  catena chain select dc 1", Args: cobra.RangeArgs(1, 2),
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, args []string) error {
		path, err := parsePath(args, 1)
		if err != nil {
			return err
		}
		r, err := c.chains.SelectChain(cmd.Context(), &catenav1.SelectChainRequest{Chain: args[0], Path: path})
		if err != nil {
			return err
		}
		showChange(cmd, r)
		return nil
	})
	conn.flags(cmd)
	return cmd
}

func chainDelete() *cobra.Command {
	var conn connection
	cmd := &cobra.Command{
		Use: "delete ID [PATH]", Short: "remove a chain, or what leads to one of its paths",
		Example: "  catena chain delete dc", Args: cobra.RangeArgs(1, 2),
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, args []string) error {
		path, err := parsePath(args, 1)
		if err != nil {
			return err
		}
		r, err := c.chains.DeleteChain(cmd.Context(), &catenav1.DeleteChainRequest{Chain: args[0], Path: path})
		if err != nil {
			return err
		}
		showChange(cmd, r)
		return nil
	})
	conn.flags(cmd)
	return cmd
}

// showChange prints what a change did to the switch.
func showChange(cmd *cobra.Command, r *catenav1.ChangeReport) {
	how := "table entries only"
	if r.GetRecompiled() {
		how = "a new program was loaded"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "live after %s: %s; entries: %d added, %d changed, %d deleted\n",
		duration(r.GetTook().AsDuration()), how, r.GetEntriesAdded(), r.GetEntriesChanged(), r.GetEntriesDeleted())
	for _, s := range r.GetStages() {
		fmt.Fprintf(cmd.OutOrStdout(), "  %-10s %8s  %s\n", s.GetName(), duration(s.GetDuration().AsDuration()), s.GetMessage())
	}
}
