package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose/verify"
	"github.com/catena-nfv/catena/internal/service"
)

// ChainPrograms makes the programs of merged chains.
type ChainPrograms interface {
	// Compile composes the NFs of the chains with a backbone and writes what comes out
	// into dir, names beginning with name. Each stage is told as it ends.
	Compile(ctx context.Context, m MergedChains, dir, name string, stage func(service.Stage)) (ChainProgram, error)
	// Verify compares the composed program with the NFs one after the other and, for the
	// target ebpf, the program in the kernel with the interpreter.
	Verify(ctx context.Context, m MergedChains, packets int, seed uint64, progress func(verify.PathReport)) ([]Comparison, error)
}

// MergedChains are requests and their merged order.
type MergedChains struct {
	Graph    chain.Graph
	Requests []chain.DAG
	Backbone string
	Target   string // ebpf or bmv2
}

// ChainProgram is a program that was composed.
type ChainProgram struct {
	Tables   int      `json:"tables"`    // P4 tables, the backbone's among them
	NodeBits int      `json:"node_bits"` // room in the bitmap of nodes
	Files    []string `json:"files"`
}

// Comparison is a run of verify.
type Comparison struct {
	What string `json:"what"`
	*verify.Report
}

// ChainProgramCommands are the commands on request files that need the NFs' programs:
// compile and verify.
func ChainProgramCommands(open func() (NFLibrary, error), programs func() (ChainPrograms, error)) []*cobra.Command {
	return []*cobra.Command{chainCompile(open, programs), chainVerify(open, programs)}
}

// mergeFlags are the flags of commands that merge requests first.
type mergeFlags struct {
	parse    chain.Options
	merge    chain.MergeOptions
	backbone string
	target   string
	asJSON   bool
}

func (f *mergeFlags) add(cmd *cobra.Command, targets string) {
	cmd.Flags().StringVar(&f.merge.Strategy, "strategy", chain.StrategyBeam, strings.Join(chain.Strategies(), ", "))
	cmd.Flags().StringVar(&f.target, "target", strings.Split(targets, ",")[0], strings.ReplaceAll(targets, ",", " or "))
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	limitFlags(cmd, &f.parse)
}

// merged reads and merges requests; every NF must exist.
func (f *mergeFlags) merged(cmd *cobra.Command, args []string, open func() (NFLibrary, error), targets string) (MergedChains, error) {
	var none MergedChains
	if err := checkLimits(f.parse); err != nil {
		return none, err
	}
	if !slices.Contains(chain.Strategies(), f.merge.Strategy) {
		return none, refuse("--strategy %q is unknown: use one of %s", f.merge.Strategy, strings.Join(chain.Strategies(), ", "))
	}
	if !slices.Contains(strings.Split(targets, ","), f.target) {
		return none, refuse("--target %q is unknown: use %s", f.target, strings.ReplaceAll(targets, ",", " or "))
	}
	tables, err := tablesOf(open)
	if err != nil {
		return none, err
	}
	files, err := readRequests(cmd, args, f.parse, tables)
	if err != nil {
		return none, err
	}
	dags, err := requests(cmd, files)
	if err != nil {
		return none, err
	}
	if err := known(files, tables); err != nil {
		return none, err
	}
	for i := range dags {
		dags[i].ID = i + 1
	}
	start := time.Now()
	g, err := chain.Merge(dags, f.merge)
	if err != nil {
		return none, refuse("%v", err)
	}
	g.Seconds = time.Since(start).Seconds()
	return MergedChains{Graph: g, Requests: dags, Backbone: f.backbone, Target: f.target}, nil
}

// known refuses NFs that the library does not have.
func known(files []requestFile, tables map[string]int) error {
	var names []string
	for n := range tables {
		names = append(names, n)
	}
	slices.Sort(names)
	var errs []error
	for _, f := range files {
		for _, d := range f.dags {
			for _, n := range d.NFs {
				if _, ok := tables[n.Name]; !ok {
					errs = append(errs, fmt.Errorf("%s:%d:%d: error: no NF %q; the library has %s", f.name, n.Pos.Line, n.Pos.Col, n.Name, strings.Join(names, ", ")))
				}
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &ExitError{Code: ExitRefused, Err: err}
	}
	return nil
}

// compileReport is what `chain compile --json` prints.
type compileReport struct {
	Backbone string      `json:"backbone"`
	Target   string      `json:"target"`
	Graph    chain.Graph `json:"graph"`
	ChainProgram
	Stages []stageJSON `json:"stages"`
}

type stageJSON struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Message string  `json:"message"`
}

func chainCompile(open func() (NFLibrary, error), programs func() (ChainPrograms, error)) *cobra.Command {
	const targets = "ebpf,bmv2"
	var f mergeFlags
	var dir string
	cmd := &cobra.Command{
		Use: "compile FILE.sfc...", Short: "compile chain requests into one P4 program",
		Long: `Compile merges chain requests, joins their NFs with a backbone into one program, and
writes its P4 text and P4Info; for the target ebpf also the C text and an object for
each hook. On bmv2 a table can be applied in one place only: an NF that stands twice
in the order gets copies of its tables there.`,
		Example: "  catena chain compile dc.sfc http.sfc -o out\n  catena chain compile dc.sfc --target bmv2 --backbone wire", Args: cobra.MinimumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		m, err := f.merged(cmd, args, open, targets)
		if err != nil {
			return err
		}
		report := compileReport{Backbone: m.Backbone, Target: m.Target, Graph: m.Graph}
		w := cmd.OutOrStdout()
		tell := func(s service.Stage) {
			report.Stages = append(report.Stages, stageJSON{s.Name, s.Duration.Seconds(), s.Message})
			if !f.asJSON {
				fmt.Fprintf(w, "%-8s  %8s  %s\n", s.Name, duration(s.Duration), s.Message)
			}
		}
		tell(service.Stage{Name: "merge", Duration: time.Duration(m.Graph.Seconds * float64(time.Second)), Message: fmt.Sprintf(
			"%s, %s, %s (%s)", count(len(m.Graph.Chains), "chain"), count(len(m.Graph.Nodes), "node"), count(m.Graph.Tables, "table"), m.Graph.Strategy)})
		p, err := programs()
		if err != nil {
			return err
		}
		if report.ChainProgram, err = p.Compile(cmd.Context(), m, dir, baseName(args), tell); err != nil {
			return err
		}
		if f.asJSON {
			return writeJSONValue(w, report)
		}
		showProgram(w, report)
		return nil
	}
	f.add(cmd, targets)
	cmd.Flags().StringVar(&f.backbone, "backbone", "vrouter", "vrouter, vrouter-guard, l2 or wire")
	cmd.Flags().StringVarP(&dir, "output", "o", ".", "write into `DIR`, which is made")
	return cmd
}

// baseName names the program of some request files: like the only one of them.
func baseName(files []string) string {
	if len(files) != 1 || files[0] == "-" {
		return "chains"
	}
	base := filepath.Base(files[0])
	return strings.TrimSuffix(base, filepath.Ext(base))
}

func showProgram(w io.Writer, r compileReport) {
	fmt.Fprintf(w, "\n%s with the backbone %s, room for %d nodes\n", count(r.Tables, "table"), r.Backbone, r.NodeBits)
	for _, f := range r.Files {
		fmt.Fprintln(w, " ", f)
	}
}
