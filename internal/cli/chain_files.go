package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catena-nfv/catena/internal/chain"
)

// ChainFileCommands are the commands on request files that need names alone, and no controller: check and
// merge. The library says how many tables an NF has; one that it lacks counts one.
func ChainFileCommands(open func() (NFLibrary, error)) []*cobra.Command {
	return []*cobra.Command{chainCheck(open), chainMerge(open)}
}

// requestFile is one file of requests, as far as it could be read.
type requestFile struct {
	name     string
	dags     []chain.DAG
	problems chain.Problems
}

// tablesOf returns the table counts of the library's NFs.
func tablesOf(open func() (NFLibrary, error)) (map[string]int, error) {
	lib, err := open()
	if err != nil {
		return nil, err
	}
	all, err := lib.List()
	if err != nil {
		return nil, err
	}
	tables := map[string]int{}
	for _, nf := range all {
		tables[nf.Name] = max(len(nf.Tables), 1)
	}
	return tables, nil
}

// readRequests parses all files. Wrong requests are left to the caller; a file that cannot be read is an
// error. The name `-` is the standard input.
func readRequests(cmd *cobra.Command, files []string, opt chain.Options, tables map[string]int) ([]requestFile, error) {
	opt.Tables = func(nf string) int { return tables[nf] }
	var out []requestFile
	for _, name := range files {
		text, err := readFileOrInput(cmd, name)
		if err != nil {
			return nil, refuse("%v", err)
		}
		opt.File, opt.Name = name, ""
		if name == "-" {
			opt.File = "stdin"
		}
		f := requestFile{name: opt.File}
		f.dags, err = chain.Parse(string(text), opt)
		if err != nil && !errors.As(err, &f.problems) {
			return nil, refuse("%v", err)
		}
		out = append(out, f)
	}
	return out, nil
}

func readFileOrInput(cmd *cobra.Command, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	return os.ReadFile(name)
}

// requests returns the graphs of all files, or prints what is wrong.
func requests(cmd *cobra.Command, files []requestFile) ([]chain.DAG, error) {
	var dags []chain.DAG
	wrong := false
	for _, f := range files {
		dags = append(dags, f.dags...)
		if len(f.problems) > 0 {
			wrong = true
			fmt.Fprintln(cmd.ErrOrStderr(), f.problems)
		}
	}
	if wrong {
		return nil, &ExitError{Code: ExitRefused}
	}
	return dags, nil
}

// limitFlags are the bounds that requests are read with.
func limitFlags(cmd *cobra.Command, opt *chain.Options) {
	cmd.Flags().IntVar(&opt.MaxLoops, "max-loops", chain.DefaultMaxLoops, "how often a packet may start again where a request says loop")
	cmd.Flags().IntVar(&opt.MaxPaths, "max-paths", chain.DefaultMaxPaths, "how many paths a request may have")
}

func checkLimits(opt chain.Options) error {
	if opt.MaxLoops < 1 || opt.MaxPaths < 1 {
		return refuse("--max-loops and --max-paths are numbers from 1 on")
	}
	return nil
}

// checkReport is what `chain check --json` prints.
type checkReport struct {
	Chains []checkedChain `json:"chains"`
	Errors []checkError   `json:"errors"`
}

type checkedChain struct {
	Name   string      `json:"name"`
	File   string      `json:"file"`
	Tables int         `json:"tables"`
	NFs    []checkedNF `json:"nfs"`
	Edges  [][2]string `json:"edges"` // NFs that follow each other on some path
	Paths  [][]string  `json:"paths"` // path id N is the Nth, from 1
}

type checkedNF struct {
	NF     string `json:"nf"`
	Serial int    `json:"serial,omitempty"`
	Tables int    `json:"tables"`
	Loop   bool   `json:"loop,omitempty"`
	Known  bool   `json:"known"` // the library has it
}

type checkError struct {
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Col     int      `json:"col"`
	Message string   `json:"message"`
	Notes   []string `json:"notes,omitempty"`
}

func chainCheck(open func() (NFLibrary, error)) *cobra.Command {
	var asJSON bool
	var opt chain.Options
	cmd := &cobra.Command{
		Use: "check FILE.sfc...", Short: "check chain requests and show their paths",
		Long: `Check reads chain requests and shows every path through them. An NF that the library
does not have is named, but is no error; deploying demands that it exists.`,
		Example: "  catena chain check dc.sfc", Args: cobra.MinimumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkLimits(opt); err != nil {
			return err
		}
		tables, err := tablesOf(open)
		if err != nil {
			return err
		}
		files, err := readRequests(cmd, args, opt, tables)
		if err != nil {
			return err
		}
		report := reportOf(files, tables)
		if asJSON {
			if err := writeJSONValue(cmd.OutOrStdout(), report); err != nil {
				return err
			}
		} else {
			if _, err := requests(cmd, files); err != nil {
				return err
			}
			for _, c := range report.Chains {
				showChecked(cmd.OutOrStdout(), c)
			}
		}
		if len(report.Errors) > 0 {
			return &ExitError{Code: ExitRefused}
		}
		return nil
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	limitFlags(cmd, &opt)
	return cmd
}

func reportOf(files []requestFile, tables map[string]int) checkReport {
	report := checkReport{Chains: []checkedChain{}, Errors: []checkError{}}
	for _, f := range files {
		for _, d := range f.dags {
			c := checkedChain{Name: d.Name, File: f.name, Tables: d.Tables(), Edges: [][2]string{}, Paths: d.PathNames()}
			for _, nf := range d.NFs {
				_, known := tables[nf.Name]
				c.NFs = append(c.NFs, checkedNF{NF: nf.Name, Serial: nf.Serial, Tables: nf.Tables, Loop: nf.Loop, Known: known})
			}
			for _, e := range d.Edges() {
				c.Edges = append(c.Edges, [2]string{d.NFs[e[0]].String(), d.NFs[e[1]].String()})
			}
			report.Chains = append(report.Chains, c)
		}
		for _, p := range f.problems {
			report.Errors = append(report.Errors, checkError{File: p.File, Line: p.Pos.Line, Col: p.Pos.Col, Message: p.Msg, Notes: p.Notes})
		}
	}
	return report
}

func showChecked(w io.Writer, c checkedChain) {
	fmt.Fprintf(w, "%s: %s, %s, %s\n", c.Name, count(len(c.NFs), "NF"), count(c.Tables, "table"), count(len(c.Paths), "path"))
	for i, p := range c.Paths {
		fmt.Fprintf(w, "  path %d: %s\n", i+1, strings.Join(p, " "))
	}
	var loops, unknown []string
	for _, nf := range c.NFs {
		if nf.Loop {
			loops = append(loops, chain.NF{Name: nf.NF, Serial: nf.Serial}.String())
		}
		if !nf.Known && !slices.Contains(unknown, nf.NF) {
			unknown = append(unknown, nf.NF)
		}
	}
	if len(loops) > 0 {
		fmt.Fprintf(w, "  starts again after: %s\n", strings.Join(loops, ", "))
	}
	if len(unknown) > 0 {
		fmt.Fprintf(w, "  not in the library: %s\n", strings.Join(unknown, ", "))
	}
}

// count prints a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func chainMerge(open func() (NFLibrary, error)) *cobra.Command {
	var asJSON bool
	var into string
	var opt chain.Options
	var merge chain.MergeOptions
	cmd := &cobra.Command{
		Use: "merge FILE.sfc...", Short: "merge chain requests into one order of NFs",
		Long: `Merge finds one order of NF nodes that contains every path of every request, with as few
P4 tables as it can. With --into, the requests are added to a merge that was printed with
--json before: its nodes keep their order and numbers.`,
		Example: "  catena chain merge dc.sfc http.sfc gilan.sfc\n  catena chain merge --strategy lcs --json all.sfc\n  catena chain merge --into deployed.json new.sfc",
		Args:    cobra.MinimumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkLimits(opt); err != nil {
			return err
		}
		if !slices.Contains(chain.Strategies(), merge.Strategy) {
			return refuse("--strategy %q is unknown: use one of %s", merge.Strategy, strings.Join(chain.Strategies(), ", "))
		}
		if into != "" && cmd.Flags().Changed("strategy") {
			return refuse("--into keeps the deployed order: leave --strategy out")
		}
		tables, err := tablesOf(open)
		if err != nil {
			return err
		}
		files, err := readRequests(cmd, args, opt, tables)
		if err != nil {
			return err
		}
		dags, err := requests(cmd, files)
		if err != nil {
			return err
		}
		start := time.Now()
		var g chain.Graph
		if into == "" {
			g, err = chain.Merge(dags, merge)
		} else {
			g, err = mergeInto(cmd, into, dags)
		}
		if err != nil {
			return refuse("%v", err)
		}
		g.Seconds = time.Since(start).Seconds()
		if asJSON {
			return writeJSONValue(cmd.OutOrStdout(), g)
		}
		showGraph(cmd.OutOrStdout(), g)
		return nil
	}
	cmd.Flags().StringVar(&merge.Strategy, "strategy", chain.StrategyBeam, strings.Join(chain.Strategies(), ", "))
	cmd.Flags().StringVar(&into, "into", "", "a merge as printed with --json, to which the requests are added")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	limitFlags(cmd, &opt)
	return cmd
}

// mergeInto embeds requests one after another into a graph in a file.
func mergeInto(cmd *cobra.Command, file string, dags []chain.DAG) (chain.Graph, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return chain.Graph{}, err
	}
	var g chain.Graph
	if err := json.Unmarshal(text, &g); err != nil {
		return chain.Graph{}, fmt.Errorf("%s: %w", file, err)
	}
	if err := g.Valid(); err != nil {
		return chain.Graph{}, fmt.Errorf("%s: %w", file, err)
	}
	for _, d := range dags {
		old := len(g.Nodes)
		var changed bool
		if g, changed, err = chain.Embed(g, d); err != nil {
			return chain.Graph{}, err
		}
		how := "fits the order"
		if changed {
			how = count(len(g.Nodes)-old, "node") + " inserted"
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", d.Name, how)
	}
	return g, nil
}

func showGraph(w io.Writer, g chain.Graph) {
	fmt.Fprintf(w, "%s in %s", count(g.Tables, "table"), count(len(g.Nodes), "node"))
	if g.TablesParallel > 0 {
		fmt.Fprintf(w, ", %.2f %% of the parallelism method's %d", 100*float64(g.Tables)/float64(g.TablesParallel), g.TablesParallel)
	}
	fmt.Fprintf(w, " (%s, %s)\n\n", g.Strategy, duration(time.Duration(g.Seconds*float64(time.Second))))
	names := map[int]string{}
	t := newTable(w, "NODE", "NF", "TABLES", "CHAINS")
	for _, n := range g.Nodes {
		names[n.ID] = n.NF
		t.row(n.ID, n.NF, n.Tables, numbers(n.Chains))
	}
	t.flush()
	fmt.Fprintln(w)
	t = newTable(w, "CHAIN", "NAME", "PATH", "NODES", "NFS")
	for _, c := range g.Chains {
		for i, p := range c.Paths {
			nfs := make([]string, len(p))
			for j, id := range p {
				nfs[j] = names[id]
			}
			t.row(c.ID, c.Name, i+1, numbers(p), strings.Join(nfs, " "))
		}
	}
	t.flush()
}

// numbers prints a list of numbers, a dash when it is empty.
func numbers(ns []int) string {
	if len(ns) == 0 {
		return "-"
	}
	return strings.Trim(fmt.Sprint(ns), "[]")
}
