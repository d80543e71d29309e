// Package build takes chain requests through the stages of the product, from text to a program of the kernel, and
// times each of them.
package build

import (
	"context"
	"fmt"
	"time"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/pass"
)

// The stages. Those up to Print are the converter and generator of paper 003.
const (
	Parse    = "parse"   // text to graphs
	Merge    = "merge"   // graphs to one order
	Compose  = "compose" // NFs and backbone to one program
	Print    = "print"   // the program as v1model text
	Compile  = "compile" // that text to IR, as the switch gets it
	Optimize = "optimize"
	Generate = "generate" // C
	Clang    = "clang"
)

// Result is what became of the requests.
type Result struct {
	Graph chain.Graph
	// NodeBits is the width of the classifier's bitmap.
	NodeBits int
	Text     string // v1model
	Spec     *ebpf.Spec
	Object   *dataplane.Object
	Took     map[string]time.Duration // by stage
}

// Text takes requests to the text of a P4 program on a backbone, "" for the backbone alone.
func Text(lib *nf.Library, backbone, requests string) (*Result, error) {
	r := &Result{Took: map[string]time.Duration{}}
	var dags []chain.DAG
	if requests != "" {
		tables := map[string]int{}
		for _, n := range lib.NFs() {
			tables[n.Name] = max(len(n.Tables), 1)
		}
		if err := r.stage(Parse, func() (err error) {
			dags, err = chain.Parse(requests, chain.Options{Tables: func(nf string) int { return tables[nf] }})
			return err
		}); err != nil {
			return nil, err
		}
	}
	if err := r.stage(Merge, func() (err error) {
		r.Graph, err = chain.Merge(dags, chain.MergeOptions{})
		return err
	}); err != nil {
		return nil, err
	}
	base, err := lib.Backbone(backbone) // compiled once, with the library
	if err != nil {
		return nil, err
	}
	var nfs []compose.NF
	for _, n := range lib.All() {
		nfs = append(nfs, compose.NF{Name: n.Name, Program: n.Program})
	}
	var composed *compose.Composed
	if err := r.stage(Compose, func() error {
		c, diags := compose.Compose(base, nfs, r.Graph, compose.Options{})
		composed = c
		return diags.Err(lib.FileSet())
	}); err != nil {
		return nil, err
	}
	r.NodeBits = composed.NodeBits
	err = r.stage(Print, func() (err error) {
		r.Text, err = p4text.Print(composed.Program)
		return err
	})
	return r, err
}

// Kernel takes requests on to the object of a hook.
func Kernel(ctx context.Context, lib *nf.Library, backbone, requests string, hook ebpf.Target) (*Result, error) {
	r, err := Text(lib, backbone, requests)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	p, files, err := lib.CompileText(ctx, []byte(r.Text))
	r.Took[Compile] = time.Since(start)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Compile, err)
	}
	if err := r.stage(Optimize, func() error {
		return pass.Run(p, pass.Options{}).Err(files)
	}); err != nil {
		return nil, err
	}
	if err := r.stage(Generate, func() error {
		spec, diags := ebpf.Generate(p, files)
		r.Spec = spec
		return diags.Err(files)
	}); err != nil {
		return nil, err
	}
	err = r.stage(Clang, func() (err error) {
		r.Object, err = dataplane.Build(ctx, r.Spec, dataplane.BuildOptions{Targets: []ebpf.Target{hook}})
		return err
	})
	return r, err
}

func (r *Result) stage(name string, work func() error) error {
	start := time.Now()
	err := work()
	r.Took[name] = time.Since(start)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
