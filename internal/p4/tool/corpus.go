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
	"github.com/catena-nfv/catena/internal/p4/target"
)

// Outcome is what became of one program of a corpus.
type Outcome struct {
	Program string `json:"program"`
	// Verdict is pass, fail (the script complains), rejected (the compiler does),
	// accepted (a program that must be rejected was not), or error.
	Verdict string `json:"verdict"`
	Detail  string `json:"detail,omitempty"` // its first line
}

// Corpus runs the programs of a folder: every NAME.p4 with a NAME.stf beside it
// through its script, on devices that open makes. Programs in a folder named
// `reject` must be rejected. The outcomes are sorted by path.
func Corpus(dir string, open func(*Compiled) (target.Device, error)) ([]Outcome, error) {
	var programs []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".p4" {
			programs = append(programs, path)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	sort.Strings(programs)
	var out []Outcome
	for _, path := range programs {
		mustFail := filepath.Base(filepath.Dir(path)) == "reject"
		script := strings.TrimSuffix(path, ".p4") + ".stf"
		if _, err := os.Stat(script); err != nil && !mustFail {
			continue // a file that others include
		}
		o := runOne(path, script, mustFail, open)
		if rel, err := filepath.Rel(dir, path); err == nil {
			o.Program = filepath.ToSlash(rel)
		}
		out = append(out, o)
	}
	return out, nil
}

// runOne judges one program. A panic of the compiler is an outcome, too.
func runOne(path, script string, mustFail bool, open func(*Compiled) (target.Device, error)) (o Outcome) {
	o.Program = path
	defer func() {
		if e := recover(); e != nil {
			o.Verdict, o.Detail = "error", fmt.Sprintf("panic: %v", e)
		}
	}()
	c, err := Compile(Source{Path: path})
	var rejected *Rejected
	switch {
	case errors.As(err, &rejected) && mustFail:
		o.Verdict = "pass"
		return o
	case errors.As(err, &rejected):
		o.Verdict, o.Detail = "rejected", firstLine(err.Error())
		return o
	case err != nil:
		o.Verdict, o.Detail = "error", firstLine(err.Error())
		return o
	case mustFail:
		o.Verdict = "accepted"
		return o
	}
	d, err := open(c)
	if err != nil {
		o.Verdict, o.Detail = "error", firstLine(err.Error())
		return o
	}
	defer d.Close()
	r, err := RunSTF(c, script, d)
	switch {
	case err != nil:
		o.Verdict, o.Detail = "error", firstLine(err.Error())
	case !r.Passed:
		o.Verdict, o.Detail = "fail", firstLine(r.Failures[0])
	default:
		o.Verdict = "pass"
	}
	return o
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
