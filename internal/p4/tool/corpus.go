package tool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/stf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// Outcome is what became of one program of a corpus.
type Outcome struct {
	Program string `json:"program"`
	// Verdict is pass, fail (the script complains), rejected (the compiler does),
	// accepted (a program that must be rejected was not), unsupported (the target says
	// that it cannot), or error.
	Verdict string `json:"verdict"`
	Detail  string `json:"detail,omitempty"` // its first line
}

// Corpus runs the programs of a folder: every NAME.p4 with a NAME.stf beside it, and
// every NAME.txtar with prog.p4 and test.stf in it, through its script, on devices that
// open makes. Programs in a folder named `reject` must be rejected. The outcomes are
// sorted by path.
func Corpus(dir string, open func(*Compiled) (target.Device, error)) ([]Outcome, error) {
	var out []Outcome
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		var items []item
		reject := filepath.Base(filepath.Dir(path)) == "reject"
		switch filepath.Ext(path) {
		case ".p4":
			script, err := os.ReadFile(strings.TrimSuffix(path, ".p4") + ".stf")
			if err == nil || reject { // else a file that others include
				items = []item{{Source{Path: path}, string(script), reject}}
			}
		case ".txtar":
			if items, err = archive(path, reject); err != nil {
				return err
			}
		}
		rel, err := filepath.Rel(dir, path)
		for _, x := range items {
			o := x.run(open)
			o.Program = filepath.ToSlash(rel)
			if x.source.FS != nil && reject {
				o.Program += "/" + x.source.Path
			}
			out = append(out, o)
		}
		return err
	})
	sort.SliceStable(out, func(i, j int) bool { return out[i].Program < out[j].Program })
	return out, err
}

// item is a program of a corpus.
type item struct {
	source Source
	script string
	reject bool
}

// run judges the program. A panic of the compiler is an outcome, too.
func (x item) run(open func(*Compiled) (target.Device, error)) (o Outcome) {
	defer func() {
		if e := recover(); e != nil {
			o.Verdict, o.Detail = "error", fmt.Sprintf("panic: %v", e)
		}
	}()
	c, err := Compile(x.source)
	var rejected *Rejected
	switch {
	case errors.As(err, &rejected) && x.reject:
		return Outcome{Verdict: "pass"}
	case errors.As(err, &rejected):
		return Outcome{Verdict: "rejected", Detail: firstLine(err.Error())}
	case err != nil:
		return Outcome{Verdict: "error", Detail: firstLine(err.Error())}
	case x.reject:
		return Outcome{Verdict: "accepted"}
	}
	d, err := open(c)
	var unsupported *Unsupported
	switch {
	case errors.As(err, &rejected):
		return Outcome{Verdict: "unsupported", Detail: rejected.Diags[0].Message}
	case errors.As(err, &unsupported):
		return Outcome{Verdict: "unsupported", Detail: unsupported.Error()}
	case err != nil:
		return Outcome{Verdict: "error", Detail: firstLine(err.Error())}
	}
	defer d.Close()
	s, err := stf.Parse("test.stf", x.script)
	if err != nil {
		return Outcome{Verdict: "error", Detail: firstLine(err.Error())}
	}
	if r := stf.Run(s, c.Program, d); !r.Passed() {
		return Outcome{Verdict: "fail", Detail: firstLine(r.Failures[0].Error())}
	}
	return Outcome{Verdict: "pass"}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// OpenInterpreter makes plain interpreters, for Corpus.
func OpenInterpreter(c *Compiled) (target.Device, error) {
	return interp.New(c.Program, interp.Options{Position: c.Position})
}

// WriteOutcomes prints the outcomes that are not pass, and the sum, by folder.
func WriteOutcomes(w io.Writer, all []Outcome) {
	type sum struct{ passed, total int }
	sums := map[string]*sum{}
	var folders []string
	for _, o := range all {
		folder := filepath.ToSlash(filepath.Dir(o.Program))
		if sums[folder] == nil {
			sums[folder] = &sum{}
			folders = append(folders, folder)
		}
		sums[folder].total++
		if o.Verdict == "pass" {
			sums[folder].passed++
			continue
		}
		fmt.Fprintf(w, "%-8s  %s  %s\n", o.Verdict, o.Program, o.Detail)
	}
	sort.Strings(folders)
	for _, f := range folders {
		fmt.Fprintf(w, "%s: %d of %d pass\n", f, sums[f].passed, sums[f].total)
	}
}
