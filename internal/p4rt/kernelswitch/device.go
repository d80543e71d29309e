// Package kernelswitch makes a dataplane.Switch a P4Runtime device: it compiles the
// P4 text of a device configuration by the kernel back end and runs it on the switch.
package kernelswitch

import (
	"context"
	"errors"
	"fmt"

	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/p4info"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/server"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// Config is what a device needs.
type Config struct {
	Switch *dataplane.Switch
	// Compile is the front end: it turns the P4 text of a device configuration into a
	// program, with the files that its positions refer to. Its errors are for the
	// client.
	Compile func(ctx context.Context, text []byte) (*ir.Program, *diag.FileSet, error)
	// Optimize prepares a program for the back end; nil leaves it as it is.
	Optimize func(*ir.Program) (*ir.Program, error)
	// CacheDir keeps what the compilers made, by content; "" means none.
	CacheDir string
	// PacketIn may take a packet that the program sends to the CPU port: it returns true, and
	// no client hears of it. nil takes none. It must not keep the packet.
	PacketIn func(packet []byte) bool
	// Progress is told what is being done, nil for nobody: "generate", "clang",
	// "load", "attach".
	Progress func(stage string)
}

// Device implements server.Device.
type Device struct {
	cfg      Config
	compiler string // as it was when the process began: an upgrade may put another one in its place
}

// New makes a device of a switch. The switch stays the caller's.
func New(cfg Config) *Device {
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	return &Device{cfg: cfg, compiler: compiler()}
}

// Listen implements server.Device.
func (d *Device) Listen(packetIn func([]byte), digest func(target.Digest)) {
	take := d.cfg.PacketIn
	d.cfg.Switch.Listen(func(packet []byte) {
		if (take == nil || !take(packet)) && packetIn != nil {
			packetIn(packet)
		}
	}, digest)
}

// Inject implements server.Device.
func (d *Device) Inject(ctx context.Context, packet []byte) error {
	return d.cfg.Switch.Inject(ctx, packet)
}

// Compile implements server.Device. A text that was compiled before is not compiled again.
func (d *Device) Compile(ctx context.Context, text []byte) (server.Program, error) {
	file := d.cacheFile(text)
	info, spec, ok := readCache(file)
	if !ok {
		var err error
		if info, spec, err = d.generate(ctx, text); err != nil {
			return nil, err
		}
	}
	prog := &program{d: d, info: info, text: text}
	if err := prog.build(ctx, spec); err != nil {
		return nil, prog.explain(ctx, err)
	}
	if file != "" && !ok {
		if err := writeCache(file, info, spec); err != nil {
			return nil, fmt.Errorf("program cache: %w", err)
		}
	}
	return prog, nil
}

// generate takes a text through the compiler.
func (d *Device) generate(ctx context.Context, text []byte) (*configv1.P4Info, *ebpf.Spec, error) {
	p, files, err := d.cfg.Compile(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	// Passes may remove what no packet needs, but a controller may still write it.
	info, err := p4info.Build(p)
	if err != nil {
		return nil, nil, err
	}
	if d.cfg.Optimize != nil {
		if p, err = d.cfg.Optimize(p); err != nil {
			return nil, nil, err
		}
	}
	d.cfg.Progress("generate")
	spec, diags := ebpf.Generate(p, files)
	if diags.HasErrors() {
		return nil, nil, diags.Err(files)
	}
	return info, spec, nil
}

type program struct {
	d    *Device
	info *configv1.P4Info
	obj  *dataplane.Object
	text []byte
}

// build compiles for the hooks that the switch's ports need.
func (p *program) build(ctx context.Context, spec *ebpf.Spec) error {
	hooks := p.d.cfg.Switch.Hooks()
	for _, h := range hooks {
		if why := spec.Targets[h]; why != "" {
			return fmt.Errorf("the switch has ports on %s, where the program cannot run: %s: %w", h, why, target.ErrUnsupported)
		}
	}
	p.d.cfg.Progress("clang")
	obj, err := dataplane.Build(ctx, spec, dataplane.BuildOptions{
		CacheDir: p.d.cfg.CacheDir, Targets: hooks,
	})
	p.obj = obj
	return err
}

func (p *program) P4Info() *configv1.P4Info { return p.info }

func (p *program) Load(ctx context.Context, keep bool) (server.Pipeline, error) {
	hooks := p.d.cfg.Switch.Hooks()
	for _, h := range hooks {
		if _, ok := p.obj.ELF[h]; !ok { // a port on another hook has come meanwhile
			if err := p.build(ctx, p.obj.Spec); err != nil {
				return nil, p.explain(ctx, err)
			}
			break
		}
	}
	p.d.cfg.Progress("load")
	opts := dataplane.LoadOptions{}
	if keep {
		var release func()
		opts, release = p.d.cfg.Switch.Predecessor(p.obj.Spec)
		defer release()
	}
	opts.Targets = hooks
	loaded, err := dataplane.Load(ctx, p.obj, opts)
	if err != nil {
		return nil, p.explain(ctx, err)
	}
	return &pipeline{loaded, p.d}, nil
}

// explained is a refusal with its place in the text.
type explained struct {
	*dataplane.Refusal
	text string
}

func (e *explained) Error() string { return e.text }

// explain shows where in the text something is that the kernel refuses.
func (p *program) explain(ctx context.Context, err error) error {
	var r *dataplane.Refusal
	if !errors.As(err, &r) {
		return err
	}
	_, files, cerr := p.d.cfg.Compile(ctx, p.text)
	if cerr != nil {
		return err
	}
	return &explained{r, diag.List{r.Diagnostic(files)}.Err(files).Error()}
}

// pipeline implements server.Pipeline.
type pipeline struct {
	*dataplane.Program
	d *Device
}

func (p *pipeline) Commit(context.Context) error {
	p.d.cfg.Progress("attach")
	return p.d.cfg.Switch.Run(p.Program)
}
