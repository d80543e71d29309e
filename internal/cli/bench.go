package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catena-nfv/catena/bench/harness"
)

// BenchCommand runs benchmarks: `bench NAME` and `bench list`.
func BenchCommand(scenarios []harness.Scenario) *cobra.Command {
	var run benchRun
	cmd := &cobra.Command{
		Use: "bench NAME", Short: "measure one of the papers' tables or figures",
		Long: `Bench measures one of the papers' tables or figures, or one of the project's own bars, on
this machine. What matters is told as a ratio to a reference that runs in the same rounds.
` + "`catena bench list`" + ` names them all.`,
		Example: "  catena bench merge\n  catena bench chain-throughput --rounds 9 --json\n  catena bench build --check\n  catena bench tables --json",
		Args:    cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := scenarioOf(scenarios, args[0])
		if err != nil {
			return err
		}
		return run.run(cmd, s)
	}
	run.flags(cmd)
	// Those with flags of their own are commands of their own.
	for _, s := range scenarios {
		if s.Flags != nil {
			cmd.AddCommand(scenarioCommand(s))
		}
	}
	cmd.AddCommand(benchList(scenarios))
	return cmd
}

func scenarioCommand(s harness.Scenario) *cobra.Command {
	var run benchRun
	cmd := &cobra.Command{Use: s.Name, Short: s.Title, Example: s.Example, Args: cobra.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return run.run(cmd, s) }
	run.flags(cmd)
	s.Flags(cmd.Flags())
	return cmd
}

// benchRun is what the flags of all benchmarks say.
type benchRun struct {
	asJSON, check bool
	seconds       float64
	opt           harness.Options
}

func (b *benchRun) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&b.asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&b.check, "check", false, "fail when a bar is missed")
	cmd.Flags().IntVar(&b.opt.Rounds, "rounds", 0, "how often each case is measured (default: as the benchmark says)")
	cmd.Flags().Float64Var(&b.seconds, "seconds", 0, "length of one measurement, where time bounds it (default: as the benchmark says)")
	cmd.Flags().Uint64Var(&b.opt.Seed, "seed", 0, "seed of random inputs (default 1)")
}

func (b *benchRun) run(cmd *cobra.Command, s harness.Scenario) error {
	if b.opt.Rounds < 0 || b.seconds < 0 || cmd.Flags().Changed("rounds") && b.opt.Rounds == 0 || cmd.Flags().Changed("seconds") && b.seconds == 0 {
		return refuse("--rounds and --seconds are above 0")
	}
	if s.Root && os.Geteuid() != 0 {
		return refuse("bench %s makes network namespaces and loads BPF programs: run it as root", s.Name)
	}
	b.opt.Span = time.Duration(b.seconds * float64(time.Second))
	b.opt.Progress = cmd.ErrOrStderr()
	report, err := s.Run(cmd.Context(), b.opt.With(s.Defaults))
	if err != nil {
		return fmt.Errorf("bench %s: %w", s.Name, err)
	}
	if b.asJSON {
		err = report.JSON(cmd.OutOrStdout())
	} else {
		err = report.Text(cmd.OutOrStdout())
	}
	if err == nil && b.check && !report.Met() {
		return &ExitError{Code: ExitFailed, Err: fmt.Errorf("bench %s: a bar is missed", s.Name)}
	}
	return err
}

// benchItem is what `bench list --json` prints of a benchmark.
type benchItem struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Source  string  `json:"source,omitempty"`
	Root    bool    `json:"root"`
	Rounds  int     `json:"rounds"`
	Seconds float64 `json:"seconds,omitempty"`
}

func benchList(scenarios []harness.Scenario) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "list the benchmarks", Example: "  catena bench list", Args: cobra.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		items := []benchItem{}
		for _, s := range scenarios {
			items = append(items, benchItem{s.Name, s.Title, s.Source, s.Root, s.Defaults.Rounds, s.Defaults.Span.Seconds()})
		}
		if asJSON {
			return writeJSONValue(cmd.OutOrStdout(), items)
		}
		t := newTable(cmd.OutOrStdout(), "NAME", "SOURCE", "ROOT", "WHAT")
		for _, i := range items {
			root, source := "", i.Source
			if i.Root {
				root = "yes"
			}
			if source == "" {
				source = "-"
			}
			t.row(i.Name, source, root, i.Title)
		}
		t.flush()
		return nil
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func scenarioOf(scenarios []harness.Scenario, name string) (harness.Scenario, error) {
	var names []string
	for _, s := range scenarios {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return harness.Scenario{}, refuse("no benchmark %q; there are %s", name, strings.Join(names, ", "))
}
