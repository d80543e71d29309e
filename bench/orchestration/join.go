package orchestration

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/catena-nfv/catena/bench/harness"
)

// Runs on different clouds are not of the same rounds, so joined reports compare medians.

// merge adds the rounds of runs with the same backend, which are pieces of one, in the
// order in which they were given. Cases are in the papers' order.
func merge(runs []*Result) []*Result {
	var out []*Result
	at := map[string]*Result{}
	for _, r := range runs {
		into := at[r.Backend]
		if into == nil {
			into = &Result{Backend: r.Backend, Zone: r.Zone, Guests: r.Guests, Poll: r.Poll, Rounds: r.Rounds, Machine: r.Machine, Measured: r.Measured}
			at[r.Backend] = into
			out = append(out, into)
		}
		into.pieces = append(into.pieces, r)
		into.Repeated = append(into.Repeated, r.Repeated...)
		for _, c := range r.Cases {
			have := into.find(c.Name)
			if have == nil {
				c.Seconds = maps.Clone(c.Seconds)
				into.Cases = append(into.Cases, c)
				continue
			}
			for p, s := range c.Seconds {
				have.Seconds[p] = slices.Concat(have.Seconds[p], s)
			}
		}
	}
	for _, r := range out {
		for _, c := range r.Cases {
			for _, s := range c.Seconds {
				r.Rounds = max(r.Rounds, len(s))
			}
		}
		slices.SortStableFunc(r.Cases, func(a, b CaseResult) int { return strings.Compare(a.Source, b.Source) })
	}
	return out
}

// find returns a case by its name, or nil.
func (r *Result) find(name string) *CaseResult {
	for i := range r.Cases {
		if r.Cases[i].Name == name {
			return &r.Cases[i]
		}
	}
	return nil
}

// mean is the mean of a platform's medians over the use cases of a group ("" all) that
// every run has; ok is false when one of them was not measured.
func (r *Result) mean(group string, p Platform, among []*Result) (seconds float64, cases int, ok bool) {
	for _, c := range r.Cases {
		if c.Group == "" || group != "" && c.Group != group || !inAll(c.Name, among) {
			continue
		}
		if len(c.Seconds[p]) == 0 {
			return 0, 0, false
		}
		seconds += c.Seconds[p].Median()
		cases++
	}
	return seconds / float64(cases), cases, cases > 0
}

func inAll(name string, runs []*Result) bool {
	for _, r := range runs {
		if r.find(name) == nil {
			return false
		}
	}
	return true
}

// corners are the platforms of paper 000, and the other reading of its REST.
var corners = []Platform{REST, RESTOverlap, GRPC, Limit}

// join shows several runs together: paper 000's Tables V and VI.
func join(opt Options, common harness.Options) (*harness.Report, error) {
	var runs []*Result
	var notes []string
	for _, path := range opt.Join {
		r, err := load(path)
		if err != nil {
			return nil, err
		}
		notes = append(notes, fmt.Sprintf("%s: measured %s, %d rounds, from %s", r.Backend, r.Measured.Format(time.DateTime), r.Rounds, filepath.Base(path)))
		runs = append(runs, r)
	}
	runs = merge(runs)
	for _, r := range runs {
		common.Rounds = max(common.Rounds, r.Rounds)
	}
	out := harness.NewReport(scenario, common)
	out.Machine = runs[0].Machine
	out.Tables = append(out.Tables, tableV(runs))
	tableVI(out, runs)
	for _, r := range runs {
		r.addCaseBars(out)
	}
	out.Notes = append(out.Notes, runs[0].notes()...)
	out.Notes = append(out.Notes, notes...)
	if opt.Out == "" {
		return out, nil
	}
	if err := os.MkdirAll(opt.Out, 0o755); err != nil {
		return nil, err
	}
	base := filepath.Join(opt.Out, "orchestration")
	if err := writeMarkdown(base+".md", out); err != nil {
		return nil, err
	}
	return out, plotAll(base, runs)
}

// tableV has a row for each case, and for each backend a column for each corner.
func tableV(runs []*Result) harness.Table {
	t := harness.Table{Title: "seconds until all is ACTIVE, by backend (Table V)", Columns: []harness.Column{
		{Key: "case", Head: "case"}, {Key: "clients", Head: "clients"}, {Key: "servers", Head: "servers"},
	}}
	heads := map[Platform]string{REST: "REST", RESTOverlap: "REST, overlap", GRPC: "gRPC", Limit: "limit"}
	for _, r := range runs {
		for _, p := range corners {
			t.Columns = append(t.Columns, harness.Column{Key: r.Backend + "_" + string(p), Head: r.Backend + " " + heads[p], Unit: "s"})
		}
	}
	t.Columns = append(t.Columns, harness.Column{Key: "saved", Head: "last gRPC against first REST", Unit: "%"})
	seen := map[string]bool{}
	for _, of := range runs {
		for _, c := range of.Cases {
			if seen[c.Name] {
				continue
			}
			seen[c.Name] = true
			row := []any{c.Name, c.Clients, c.Servers}
			for _, r := range runs {
				have := r.find(c.Name)
				for _, p := range corners {
					if have == nil {
						row = append(row, nil)
						continue
					}
					row = append(row, cell(have.Seconds[p]))
				}
			}
			first, last := runs[0].find(c.Name), runs[len(runs)-1].find(c.Name)
			if first == nil || last == nil || len(first.Seconds[REST]) == 0 || len(last.Seconds[GRPC]) == 0 {
				t.Row(append(row, nil)...)
				continue
			}
			t.Row(append(row, less(last.Seconds[GRPC].Median(), first.Seconds[REST].Median()))...)
		}
	}
	return t
}

// less is how many per cent less one time is than another.
func less(time, than float64) float64 { return 100 * (1 - time/than) }

// paperSaved is what paper 000 says that gRPC on P4 saves against REST on Open vSwitch.
var paperSaved = map[string]float64{"": 53.32, "1-4": 49.25, "5-7": 54.80}

// tableVI adds what gRPC saves, over groups of use cases, and the bar of all.
func tableVI(out *harness.Report, runs []*Result) {
	t := harness.Table{Title: "time saved, over the use cases of paper 000 (Table VI)", Columns: []harness.Column{
		{Key: "cases", Head: "use cases"}, {Key: "measured", Head: "measured"}, {Key: "grpc", Head: "gRPC on"}, {Key: "rest", Head: "against"},
		{Key: "seconds", Head: "gRPC, mean", Unit: "s"}, {Key: "than", Head: "other, mean", Unit: "s"}, {Key: "saved", Head: "saved", Unit: "%"}, {Key: "paper", Head: "paper", Unit: "%"},
	}}
	last := runs[len(runs)-1]
	for _, group := range []string{"", "1-4", "5-7"} {
		grpc, cases, ok := last.mean(group, GRPC, runs)
		if !ok {
			continue
		}
		for i, r := range runs {
			for _, p := range []Platform{REST, RESTOverlap} {
				than, _, ok := r.mean(group, p, runs)
				if !ok {
					continue
				}
				var said any
				if len(runs) > 1 && i == 0 && p == REST {
					said = paperSaved[group]
				}
				t.Row(cmp.Or(group, "1-7"), cases, last.Backend, r.Backend+" "+string(p), grpc, than, less(grpc, than), said)
				if group == "" && p == REST {
					out.Bars = append(out.Bars, harness.Bar{
						Name:  fmt.Sprintf("time that gRPC on %s saves against REST on %s, over %d use cases, in %%", last.Backend, r.Backend, cases),
						Value: harness.Sample{less(grpc, than)}, AtLeast: map[bool]float64{true: 53.3, false: 45.8}[i == 0 && len(runs) > 1],
					})
				}
			}
		}
	}
	if len(t.Rows) > 0 {
		out.Tables = append(out.Tables, t)
	}
}
