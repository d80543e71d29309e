package main

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/cli"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	p4 "github.com/catena-nfv/catena/internal/p4/compile"
)

// checkMode checks that the switch's ports can be at a hook. Every program of a node
// contains the backbone: where that cannot run, nothing can be deployed, which is to be
// told before anything is made.
func checkMode(mode, backbone string) error {
	switch ebpf.Target(mode) {
	case ebpf.TC:
		return nil // runs every program
	case ebpf.XDP:
	default:
		return refuse("mode %q: use tc or xdp", mode)
	}
	file := "backbone/" + backbone + ".p4"
	text, err := nf.File(file)
	if err != nil {
		return err
	}
	p, files, diags := p4.Source(file, text, nf.Options())
	if diags.HasErrors() {
		return diags.Err(files)
	}
	if p, err = optimize(p); err != nil {
		return err
	}
	spec, diags := ebpf.Generate(p, files)
	if diags.HasErrors() {
		return diags.Err(files)
	}
	if why := spec.Targets[ebpf.XDP]; why != "" {
		return refuse("mode xdp: the backbone %q cannot run on XDP: %s; use mode tc (--mode tc or CATENA_MODE=tc)", backbone, why)
	}
	return nil
}

// refuse is the error for what the caller can repair.
func refuse(format string, args ...any) error {
	return &cli.ExitError{Code: cli.ExitRefused, Err: fmt.Errorf(format, args...)}
}
