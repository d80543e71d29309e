package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/cli"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"github.com/catena-nfv/catena/internal/service"
)

// What the NFs of chains are composed with on a node: the second where ports are
// secured.
const (
	backbone = "vrouter"
	guarded  = "vrouter-guard"
)

// programs makes the fabric's programs from the NF library, also from NFs that are
// imported while the controller runs.
type programs struct {
	dir string
	log *slog.Logger

	mu    sync.Mutex
	lib   *nf.Library
	stamp string // of dir, when lib was opened
}

// newPrograms takes an open library and follows the folder of its imported NFs.
func newPrograms(dir string, lib *nf.Library, log *slog.Logger) *programs {
	return &programs{dir: dir, log: log, lib: lib, stamp: stampOf(dir)}
}

// stampOf changes when an NF is imported into the folder or removed.
func stampOf(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "" // nothing was imported yet
	}
	var b strings.Builder
	for _, e := range entries {
		if info, err := e.Info(); err == nil && filepath.Ext(e.Name()) == ".p4" {
			fmt.Fprintln(&b, e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// current is the library as it is on disk now. One that cannot be opened leaves the
// one before in use.
func (p *programs) current() *nf.Library {
	p.mu.Lock()
	defer p.mu.Unlock()
	stamp := stampOf(p.dir)
	if stamp == p.stamp {
		return p.lib
	}
	p.stamp = stamp
	lib, err := nf.Open(p.dir)
	if err != nil {
		p.log.Error("the NF library cannot be opened again", "error", err)
		return p.lib
	}
	p.lib = lib
	return lib
}

// Version implements fabric.Programs: this program's own NFs do not change while it runs.
func (p *programs) Version() string {
	p.current()
	p.mu.Lock()
	defer p.mu.Unlock()
	return "built in; " + p.stamp
}

func (p *programs) NFs() []service.NFInfo { return p.current().NFs() }

func (p *programs) Compose(g chain.Graph, guard bool) (string, int, error) {
	name := backbone
	if guard {
		name = guarded
	}
	c, err := composeWith(p.current(), name, g, compose.Options{})
	if err != nil {
		return "", 0, err
	}
	text, err := p4text.Print(c.Program)
	return text, c.NodeBits, err
}

// composeWith joins a backbone with the NFs of a graph.
func composeWith(lib *nf.Library, backbone string, g chain.Graph, opt compose.Options) (*compose.Composed, error) {
	b, err := lib.Backbone(backbone)
	if err != nil {
		return nil, err
	}
	var nfs []compose.NF
	for _, n := range lib.All() {
		nfs = append(nfs, compose.NF{Name: n.Name, Program: n.Program})
	}
	c, diags := compose.Compose(b, nfs, g, opt)
	if err := diags.Err(lib.FileSet()); err != nil {
		return nil, err
	}
	return c, nil
}

// optimize runs the passes over a program, which stays as it is.
func optimize(p *ir.Program) (*ir.Program, error) {
	out := ir.Copy(p)
	pass.Run(out, pass.Options{})
	return out, nil
}

// library is the NF library as the commands need it.
type library struct{ *nf.Library }

func openLibrary() (cli.NFLibrary, error) {
	l, err := nf.Open((&options{paths: cli.DefaultPaths()}).nfDir())
	if err != nil {
		return nil, err
	}
	return library{l}, nil
}

// compileRunning compiles what a switch of this machine runs.
func compileRunning(ctx context.Context, text []byte) (*ir.Program, *diag.FileSet, error) {
	l, err := nf.Open((&options{paths: cli.DefaultPaths()}).nfDir())
	if err != nil {
		return nil, nil, err
	}
	return l.CompileText(ctx, text)
}

func (l library) List() ([]service.NFInfo, error) { return l.NFs(), nil }

func (l library) Import(w io.Writer, file string) (service.NFInfo, error) {
	return l.Library.Import(w, file, func(n *nf.NF) error {
		// It must compose with every backbone, also if a chain visits it twice, and the
		// text must be what the switch can compile.
		d, err := chain.Linear("import", nil, n.Name, n.Name+"#2")
		if err != nil {
			return err
		}
		g, err := chain.Merge([]chain.DAG{d}, chain.MergeOptions{})
		if err != nil {
			return err
		}
		for _, name := range nf.Backbones() {
			b, err := l.Backbone(name)
			if err != nil {
				return err
			}
			c, diags := compose.Compose(b, []compose.NF{{Name: n.Name, Program: n.Program}}, g, compose.Options{})
			if err := diags.Err(l.FileSet()); err != nil {
				return fmt.Errorf("it cannot be joined with the backbone %s:\n%w", name, err)
			}
			text, err := p4text.Print(c.Program)
			if err == nil {
				_, _, err = l.CompileText(context.Background(), []byte(text))
			}
			if err != nil {
				return fmt.Errorf("what it becomes with the backbone %s does not compile:\n%w", name, err)
			}
		}
		return nil
	})
}
