package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"

	"golang.org/x/sys/unix"
)

// Report is what a run found.
type Report struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Source  string  `json:"source,omitempty"`
	Machine Machine `json:"machine"`
	Rounds  int     `json:"rounds,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // of one measurement
	Seed    uint64  `json:"seed,omitempty"`
	Tables  []Table `json:"tables"`
	Bars    []Bar   `json:"bars,omitempty"`
	// Notes say what a reader must know, such as what the paper has.
	Notes []string `json:"notes,omitempty"`
}

// Machine is where the run took place.
type Machine struct {
	Kernel string `json:"kernel"`
	CPU    string `json:"cpu"`
	CPUs   int    `json:"cpus"`
}

// NewReport starts a scenario's report.
func NewReport(s Scenario, opt Options) *Report {
	return &Report{
		Name: s.Name, Title: s.Title, Source: s.Source, Machine: thisMachine(),
		Rounds: opt.Rounds, Seconds: opt.Span.Seconds(), Seed: opt.Seed,
	}
}

// Column of a table. Its unit, if it has one, is printed behind the head.
type Column struct {
	Key  string `json:"key"` // of the rows' JSON objects
	Head string `json:"head"`
	Unit string `json:"unit,omitempty"`
}

// Table is rows of cells, each a string, bool, int, float64, Sample or nil (nothing was measured).
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]any
}

// Row adds a row; there is a cell for each column.
func (t *Table) Row(cells ...any) { t.Rows = append(t.Rows, cells) }

// Bar is a value that the project promises to reach.
type Bar struct {
	Name  string
	Value Sample
	// AtLeast and AtMost bound the median; zero is no bound.
	AtLeast, AtMost float64
}

// Met tells whether the median is within the bounds.
func (b Bar) Met() bool {
	m := b.Value.Median()
	return len(b.Value) > 0 && (b.AtLeast == 0 || m >= b.AtLeast) && (b.AtMost == 0 || m <= b.AtMost)
}

// Met tells whether all bars are met.
func (r *Report) Met() bool {
	for _, b := range r.Bars {
		if !b.Met() {
			return false
		}
	}
	return true
}

// MarshalJSON makes an object of each row, with the columns' keys.
func (t Table) MarshalJSON() ([]byte, error) {
	rows := make([]json.RawMessage, len(t.Rows))
	for i, row := range t.Rows {
		if len(row) != len(t.Columns) {
			return nil, fmt.Errorf("table %q: row %d has %d cells for %d columns", t.Title, i+1, len(row), len(t.Columns))
		}
		var b bytes.Buffer
		b.WriteByte('{')
		for j, cell := range row {
			if s, ok := cell.(Sample); ok {
				cell = s.json()
			}
			value, err := json.Marshal(cell)
			if err != nil {
				return nil, fmt.Errorf("table %q: row %d: %s: %w", t.Title, i+1, t.Columns[j].Key, err)
			}
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%q:%s", t.Columns[j].Key, value)
		}
		b.WriteByte('}')
		rows[i] = b.Bytes()
	}
	return json.Marshal(struct {
		Title   string            `json:"title"`
		Columns []Column          `json:"columns"`
		Rows    []json.RawMessage `json:"rows"`
	}{t.Title, t.Columns, rows})
}

// MarshalJSON tells the bounds that there are, and whether they are kept.
func (b Bar) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name    string  `json:"name"`
		Value   any     `json:"value"`
		AtLeast float64 `json:"at_least,omitempty"`
		AtMost  float64 `json:"at_most,omitempty"`
		Met     bool    `json:"met"`
	}{b.Name, b.Value.json(), b.AtLeast, b.AtMost, b.Met()})
}

// JSON prints the report as one JSON object.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Text prints the report for people.
func (r *Report) Text(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s", r.Name, r.Title)
	if r.Source != "" {
		fmt.Fprintf(&b, " (%s)", r.Source)
	}
	fmt.Fprintf(&b, "\n%d × %s, Linux %s\n", r.Machine.CPUs, r.Machine.CPU, r.Machine.Kernel)
	sampled := false
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "\n%s\n", t.Title)
		tw := tabwriter.NewWriter(&b, 0, 4, 2, ' ', 0)
		heads := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			heads[i] = strings.ToUpper(c.Head)
			if c.Unit != "" {
				heads[i] += " " + c.Unit
			}
		}
		fmt.Fprintln(tw, "  "+strings.Join(heads, "\t"))
		for _, row := range t.Rows {
			cells := make([]string, len(row))
			for i, c := range row {
				cells[i] = cell(c)
				s, ok := c.(Sample)
				sampled = sampled || ok && len(s) > 1
			}
			fmt.Fprintln(tw, "  "+strings.Join(cells, "\t"))
		}
		tw.Flush()
	}
	if sampled {
		fmt.Fprintf(&b, "\nmedian (quartiles) of %d rounds\n", r.Rounds)
	}
	if len(r.Bars) > 0 {
		fmt.Fprintln(&b)
	}
	for _, bar := range r.Bars {
		fmt.Fprintf(&b, "%s: %s, %s: %s\n", bar.Name, bar.Value, bar.bounds(), bar.word())
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Markdown prints the report as a page.
func (r *Report) Markdown(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s", r.Name, r.Title)
	if r.Source != "" {
		fmt.Fprintf(&b, " (%s)", r.Source)
	}
	fmt.Fprintf(&b, ".\n%d × %s, Linux %s. Median (quartiles) of %d rounds.\n", r.Machine.CPUs, r.Machine.CPU, r.Machine.Kernel, r.Rounds)
	for _, t := range r.Tables {
		fmt.Fprintf(&b, "\n## %s\n\n|", t.Title)
		for _, c := range t.Columns {
			fmt.Fprintf(&b, " %s |", strings.TrimSpace(c.Head+" "+c.Unit))
		}
		b.WriteString("\n|" + strings.Repeat("---|", len(t.Columns)) + "\n")
		for _, row := range t.Rows {
			b.WriteString("|")
			for _, c := range row {
				fmt.Fprintf(&b, " %s |", cell(c))
			}
			b.WriteString("\n")
		}
	}
	if len(r.Bars) > 0 {
		b.WriteString("\n## Bars\n\n| bar | value | bound | |\n|---|---|---|---|\n")
	}
	for _, bar := range r.Bars {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", bar.Name, bar.Value, bar.bounds(), bar.word())
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (b Bar) word() string {
	if b.Met() {
		return "met"
	}
	return "MISSED"
}

func (b Bar) bounds() string {
	var out []string
	if b.AtLeast != 0 {
		out = append(out, "at least "+digits(b.AtLeast))
	}
	if b.AtMost != 0 {
		out = append(out, "at most "+digits(b.AtMost))
	}
	return strings.Join(out, ", ")
}

func cell(c any) string {
	switch c := c.(type) {
	case nil:
		return "-"
	case float64:
		return digits(c)
	}
	return fmt.Sprint(c)
}

func thisMachine() Machine {
	m := Machine{CPUs: runtime.NumCPU(), CPU: runtime.GOARCH, Kernel: "unknown"}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m
	}
	for _, line := range strings.Split(string(info), "\n") {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	return m
}
