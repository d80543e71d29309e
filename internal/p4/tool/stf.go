package tool

import (
	"fmt"
	"io"
	"os"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/stf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// STFReport is the outcome of a script.
type STFReport struct {
	Script   string   `json:"script"`
	Passed   bool     `json:"passed"`
	Sent     int      `json:"sent"`
	Received int      `json:"received"`
	Failures []string `json:"failures,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

// Write prints a report for people or as JSON.
func (r STFReport) Write(w io.Writer, asJSON bool) error {
	if asJSON {
		return writeJSON(w, r)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(w, n)
	}
	for _, f := range r.Failures {
		fmt.Fprintln(w, f)
	}
	verdict := "FAIL"
	if r.Passed {
		verdict = "PASS"
	}
	_, err := fmt.Fprintf(w, "%s %s: %d packets sent, %d received\n", verdict, r.Script, r.Sent, r.Received)
	return err
}

// Interpreter makes an interpreter of a program that reports to the tracer, if there
// is one, and prints log messages to log.
func Interpreter(c *Compiled, o interp.Options, log io.Writer) (*interp.Switch, error) {
	o.Position = c.Position
	o.Log = func(msg string) { fmt.Fprintln(log, "log:", msg) }
	return interp.New(c.Program, o)
}

// RunSTF runs a script on a device.
func RunSTF(c *Compiled, path string, d target.Device) (STFReport, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return STFReport{}, err
	}
	s, err := stf.Parse(path, string(text))
	if err != nil {
		return STFReport{}, err
	}
	res := stf.Run(s, c.Program, d)
	r := STFReport{Script: path, Passed: res.Passed(), Sent: res.Sent, Received: res.Received, Notes: res.Notes}
	for _, f := range res.Failures {
		r.Failures = append(r.Failures, f.Error())
	}
	return r, nil
}
