package nf_test

import (
	"testing"

	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/stf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

func open(t *testing.T) *nf.Library {
	t.Helper()
	l, err := nf.Open("")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// script runs an STF script of the library over a device.
func script(t *testing.T, file string, p *ir.Program, d target.Device) {
	t.Helper()
	text, err := nf.File(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := stf.Parse(file, string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range stf.Run(s, p, d).Failures {
		t.Error(f)
	}
}

// TestInterp runs every NF's and backbone's own script on the interpreter.
func TestInterp(t *testing.T) {
	l := open(t)
	run := func(name, file string, p *ir.Program) {
		t.Run(name, func(t *testing.T) {
			d, err := interp.New(p, interp.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			script(t, file, p, d)
		})
	}
	for _, n := range l.All() {
		run(n.Name, n.Folder+"/"+n.Tests, n.Program)
	}
	for _, b := range nf.Backbones() {
		p, err := l.Backbone(b)
		if err != nil {
			t.Fatal(err)
		}
		run(b, "backbone/"+b+".stf", p)
		if b == "vrouter-guard" { // which is the same for ports that are not secured
			run(b+"-open", "backbone/vrouter.stf", p)
		}
	}
}
