package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/catena-nfv/catena/internal/cli"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/compose/verify"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4/tool"
	"github.com/catena-nfv/catena/internal/service"
)

// chainPrograms makes the programs of `chain compile` and `chain verify`.
type chainPrograms struct{ lib *nf.Library }

func openChainPrograms() (cli.ChainPrograms, error) {
	l, err := nf.Open((&options{paths: cli.DefaultPaths()}).nfDir())
	if err != nil {
		return nil, err
	}
	return chainPrograms{l}, nil
}

// composed joins the NFs of merged chains with their backbone.
func (p chainPrograms) composed(m cli.MergedChains) (*compose.Composed, error) {
	c, err := composeWith(p.lib, m.Backbone, m.Graph, compose.Options{CopyTables: m.Target == "bmv2"})
	if err != nil {
		return nil, &cli.ExitError{Code: cli.ExitRefused, Err: err}
	}
	return c, nil
}

// Compile implements cli.ChainPrograms.
func (p chainPrograms) Compile(_ context.Context, m cli.MergedChains, dir, name string, stage func(service.Stage)) (cli.ChainProgram, error) {
	var out cli.ChainProgram
	var c *compose.Composed
	run := func(name string, work func() (string, error)) error {
		start := time.Now()
		message, err := work()
		if err == nil {
			stage(service.Stage{Name: name, Duration: time.Since(start), Message: message})
		}
		return err
	}
	err := run("compose", func() (string, error) {
		var err error
		if c, err = p.composed(m); err != nil {
			return "", err
		}
		for _, k := range c.Program.Controls() {
			out.Tables += len(k.Tables)
		}
		out.NodeBits = c.NodeBits
		return fmt.Sprintf("%d tables, %d parser states", out.Tables, len(c.Program.Parser.States)), nil
	})
	if err != nil {
		return out, err
	}
	program := &tool.Compiled{Program: c.Program, Files: p.lib.FileSet()}
	err = run("print", func() (string, error) {
		files, err := tool.Build(program, dir, name, nil)
		out.Files = files
		return "P4 text and P4Info", err
	})
	if err != nil || m.Target == "bmv2" {
		return out, err
	}
	err = run("compile", func() (string, error) {
		files, err := kernel{}.Build(program, dir, name)
		out.Files = append(out.Files, files...)
		var hooks []string
		for _, f := range files {
			if strings.HasSuffix(f, ".o") {
				hooks = append(hooks, strings.TrimPrefix(filepath.Ext(strings.TrimSuffix(f, ".o")), "."))
			}
		}
		return "for " + strings.Join(hooks, " and "), err
	})
	return out, err
}

// Verify implements cli.ChainPrograms. What is compared is the printed program, compiled
// again: that is what a switch gets.
func (p chainPrograms) Verify(ctx context.Context, m cli.MergedChains, packets int, seed uint64, progress func(verify.PathReport)) ([]cli.Comparison, error) {
	c, err := p.composed(m)
	if err != nil {
		return nil, err
	}
	text, err := p4text.Print(c.Program)
	if err != nil {
		return nil, err
	}
	program, files, err := p.lib.CompileText(ctx, []byte(text))
	if err != nil {
		return nil, err
	}
	wire, err := p.lib.Backbone(m.Backbone)
	if err != nil {
		return nil, err
	}
	cfg := verify.Config{
		Backbone: wire, Graph: m.Graph, Requests: m.Requests, Composed: c, Program: program,
		Packets: packets, Seed: seed, Progress: progress,
	}
	for _, n := range p.lib.All() {
		cfg.NFs = append(cfg.NFs, compose.NF{Name: n.Name, Program: n.Program})
	}
	r, err := verify.Run(ctx, cfg)
	if err != nil {
		return nil, err
	}
	out := []cli.Comparison{{What: "merged program and NFs", Report: r}}
	if m.Target != "ebpf" || r.Counterexample != nil {
		return out, nil
	}
	cfg.Progress = nil
	cfg.Open = func(q *ir.Program) (target.Device, error) {
		return kernel{}.Device(&tool.Compiled{Program: q, Files: files}, "")
	}
	if r, err = verify.Run(ctx, cfg); err != nil {
		return nil, fmt.Errorf("the program in the kernel: %w", err)
	}
	return append(out, cli.Comparison{What: "kernel and interpreter", Report: r}), nil
}
