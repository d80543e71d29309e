package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catena-nfv/catena/internal/service"
)

// NFLibrary is the library of NFs, as the nf commands need it.
type NFLibrary interface {
	// List returns all NFs, sorted by name.
	List() ([]service.NFInfo, error)
	// Import checks that a P4 program can be an NF and adds it to the library in
	// the state directory; diagnostics are written to w.
	Import(w io.Writer, file string) (service.NFInfo, error)
}

// NFCommand shows and extends the NF library.
func NFCommand(open func() (NFLibrary, error)) *cobra.Command {
	cmd := &cobra.Command{Use: "nf", Short: "list, show and import network functions"}
	cmd.AddCommand(nfList(open), nfShow(open), nfImport(open))
	return cmd
}

func nfList(open func() (NFLibrary, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "list the NFs that chains can name", Example: "  catena nf list", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lib, err := open()
			if err != nil {
				return err
			}
			all, err := lib.List()
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSONValue(cmd.OutOrStdout(), all)
			}
			t := newTable(cmd.OutOrStdout(), "NF", "TABLES", "")
			for _, n := range all {
				var names []string
				for _, x := range n.Tables {
					names = append(names, x.Name)
				}
				t.row(n.Name, strings.Join(names, " "), n.Summary)
			}
			t.flush()
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func nfShow(open func() (NFLibrary, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NF", Short: "show the tables, keys and actions of an NF", Example: "  catena nf show Firewall", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lib, err := open()
			if err != nil {
				return err
			}
			all, err := lib.List()
			if err != nil {
				return err
			}
			var names []string
			for _, n := range all {
				if n.Name == args[0] {
					if asJSON {
						return writeJSONValue(cmd.OutOrStdout(), n)
					}
					showNF(cmd.OutOrStdout(), n)
					return nil
				}
				names = append(names, n.Name)
			}
			return refuse("no NF %q; there are %s", args[0], strings.Join(names, ", "))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func showNF(w io.Writer, n service.NFInfo) {
	fmt.Fprintf(w, "%s: %s\n", n.Name, n.Summary)
	for _, x := range n.Tables {
		fmt.Fprintf(w, "\ntable %s (%d entries)\n", x.Name, x.Size)
		for _, k := range x.Keys {
			fmt.Fprintf(w, "  key    %-12s %s, %d bits\n", k.Name, k.Match, k.Bits)
		}
		for _, a := range x.Actions {
			var ps []string
			for _, p := range a.Params {
				ps = append(ps, fmt.Sprintf("%s: %d bits", p.Name, p.Bits))
			}
			fmt.Fprintf(w, "  action %s(%s)\n", a.Name, strings.Join(ps, ", "))
		}
	}
}

func nfImport(open func() (NFLibrary, error)) *cobra.Command {
	return &cobra.Command{
		Use: "import FILE.p4", Short: "add a v1model program to the library",
		Long: `Import checks that a program can be composed with the backbones (docs/nf-authoring.md),
and adds it to the library of this machine under its file's name.`,
		Example: "  catena nf import ratelimit.p4", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lib, err := open()
			if err != nil {
				return err
			}
			n, err := lib.Import(cmd.ErrOrStderr(), args[0])
			if err != nil {
				return refuse("%w", err)
			}
			showNF(cmd.OutOrStdout(), n)
			return nil
		},
	}
}
