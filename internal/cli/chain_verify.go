package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catena-nfv/catena/internal/compose/verify"
)

// verifyReport is what `chain verify --json` prints.
type verifyReport struct {
	Equal       bool         `json:"equal"`
	Comparisons []Comparison `json:"comparisons"`
}

func chainVerify(open func() (NFLibrary, error), programs func() (ChainPrograms, error)) *cobra.Command {
	const targets = "interp,ebpf"
	var f mergeFlags
	var packets int
	var seed uint64
	cmd := &cobra.Command{
		Use: "verify FILE.sfc...", Short: "show that merged chains do what each does alone",
		Long: `Verify merges chain requests and compares, for every path of every request, what the one
program of all does to packets with what the path's NFs do one after the other. Rules
and packets are made so that every action of every table and both ways of every branch
are taken. With --target ebpf the program also runs in the kernel, beside the
interpreter. A difference is shown by a packet, the rules that it takes and traces; the
exit code is then 1.`,
		Example: "  catena chain verify dc.sfc http.sfc\n  catena chain verify dc.sfc --target ebpf --packets 500", Args: cobra.MinimumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if packets < 1 {
			return refuse("--packets is a number from 1 on")
		}
		f.backbone = "wire" // it lets packets pass, so that the NFs alone decide
		m, err := f.merged(cmd, args, open, targets)
		if err != nil {
			return err
		}
		p, err := programs()
		if err != nil {
			return err
		}
		w := cmd.OutOrStdout()
		progress := func(r verify.PathReport) {
			if !f.asJSON {
				showPath(w, r)
			}
		}
		all, err := p.Verify(cmd.Context(), m, packets, seed, progress)
		if err != nil {
			return err
		}
		report := verifyReport{Equal: true, Comparisons: all}
		for _, c := range all {
			report.Equal = report.Equal && c.Counterexample == nil
		}
		if f.asJSON {
			if err := writeJSONValue(w, report); err != nil {
				return err
			}
		} else {
			for _, c := range all {
				showComparison(w, c)
			}
		}
		if !report.Equal {
			return &ExitError{Code: ExitFailed}
		}
		return nil
	}
	f.add(cmd, targets)
	cmd.Flags().IntVar(&packets, "packets", 100, "packets for each path and set of rules, at least")
	cmd.Flags().Uint64Var(&seed, "seed", 1, "seed of rules and packets")
	return cmd
}

func showPath(w io.Writer, r verify.PathReport) {
	fmt.Fprintf(w, "%s, path %d: %s\n  %s, %d dropped; %d of %d actions, %d of %d branches\n",
		r.Chain, r.Path, strings.Join(r.NFs, " "), count(r.Packets, "packet"), r.Dropped, r.Actions, r.ActionsAll, r.Branches, r.BranchesAll)
	if len(r.NotReached) > 0 {
		fmt.Fprintf(w, "  no packet took %s\n", strings.Join(r.NotReached, ", "))
	}
}

func showComparison(w io.Writer, c Comparison) {
	if c.Counterexample == nil {
		fmt.Fprintf(w, "%s: equal for %s and %s on %s\n", c.What, count(c.Packets, "packet"), count(c.Rules, "rule"), count(len(c.Paths), "path"))
		return
	}
	x := c.Counterexample
	fmt.Fprintf(w, "%s: DIFFERENT after %s\n", c.What, count(c.Packets, "packet"))
	fmt.Fprintf(w, "chain %s, path %d: %s\npacket on port %d: %s\n", x.Chain, x.Path, strings.Join(x.NFs, " "), x.Port, x.Data)
	if x.Stateful {
		fmt.Fprintln(w, "this packet alone does not show it: what packets before it left in registers, counters or meters matters")
	}
	section := func(title string, lines []string) {
		fmt.Fprintf(w, "%s:\n", title)
		for _, l := range lines {
			fmt.Fprintf(w, "    %s\n", l)
		}
	}
	section("rules", x.Rules)
	section(x.Left, x.Want)
	section(x.Right, x.Got)
	if len(x.TraceNFs) > 0 {
		section("trace of the NFs", x.TraceNFs)
	}
	section("trace of the merged program", x.Trace)
}
