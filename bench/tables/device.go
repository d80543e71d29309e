package tables

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	cebpf "github.com/cilium/ebpf"

	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/p4info"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/p4rt/kernelswitch"
	"github.com/catena-nfv/catena/internal/p4rt/server"
)

// device is a switch without ports and a P4Runtime client of it, as in the product.
type device struct {
	sw     *dataplane.Switch
	client *client.Client
	close  func() error
}

// open starts a switch with a program. dir is its own; cache is for compiled programs.
func open(ctx context.Context, lib *nf.Library, text, name, dir, cache string) (d *device, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var undo []func() error
	closeAll := func() error {
		var errs []error
		for i := len(undo) - 1; i >= 0; i-- {
			errs = append(errs, undo[i]())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	d = &device{close: closeAll}
	d.sw, err = dataplane.OpenSwitch(dataplane.SwitchConfig{
		Name: "bench-tables-" + strconv.Itoa(os.Getpid()) + "-" + name, StateFile: filepath.Join(dir, "switch.json"),
	})
	if err != nil {
		return nil, err
	}
	undo = append(undo, d.sw.Destroy)
	rt, err := server.New(ctx, server.Config{
		DeviceID: 1, Journal: filepath.Join(dir, "journal"),
		Device: kernelswitch.New(kernelswitch.Config{
			Switch: d.sw, CacheDir: cache, Compile: lib.CompileText,
			Optimize: func(p *ir.Program) (*ir.Program, error) { return p, pass.Run(p, pass.Options{}).Err(lib.FileSet()) },
		}),
	})
	if err != nil {
		return nil, err
	}
	undo = append(undo, func() error { rt.Close(); return nil })
	address := "unix://" + filepath.Join(dir, "p4rt.sock")
	listener, err := server.Listen(address)
	if err != nil {
		return nil, err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- rt.Serve(serving, nil, listener) }()
	undo = append(undo, func() error { stop(); return <-ended })
	if d.client, err = client.Dial(ctx, client.Config{Target: address, DeviceID: 1, Election: 1}); err != nil {
		return nil, err
	}
	undo = append(undo, d.client.Close)
	if err := d.client.WaitPrimary(ctx); err != nil {
		return nil, err
	}
	p, files, diags := compile.Source("program.p4", []byte(text), compile.Options{})
	if err := diags.Err(files); err != nil {
		return nil, err
	}
	info, err := p4info.Build(p)
	if err != nil {
		return nil, err
	}
	return d, d.client.SetPipeline(ctx, client.Commit, client.Pipeline{P4Info: info, DeviceConfig: []byte(text)})
}

// batch is how many entries a write has.
const batch = 1000

// insert writes entries and returns how many it wrote a second.
func (d *device) insert(ctx context.Context, entries []client.Update) (float64, error) {
	start := time.Now()
	for at := 0; at < len(entries); at += batch {
		if err := d.client.Write(ctx, entries[at:min(at+batch, len(entries))]...); err != nil {
			return 0, fmt.Errorf("entries from %d on: %w", at, err)
		}
	}
	return float64(len(entries)) / time.Since(start).Seconds(), nil
}

// memory is how many bytes the table's maps have.
func (d *device) memory() (uint64, error) {
	var sum uint64
	p := d.sw.Running()
	for _, t := range p.Spec.Tables {
		maps := []string{t.Map}
		if t.Masks != "" {
			maps = append(maps, t.Masks, t.Index) // of which it is the only table
		}
		for _, name := range maps {
			info, err := p.Maps[name].Info()
			if err != nil {
				return 0, err
			}
			n, _ := info.Memlock()
			sum += n
		}
	}
	return sum, nil
}

// look is a program and the packet that it runs on.
type look struct {
	prog  *cebpf.Program
	frame []byte
}
