package nf

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/service"
)

//go:embed include backbone ids firewall l2fwd l3fwd lb nat
var builtin embed.FS

// Manifest describes an NF: manifest.yaml in its folder.
type Manifest struct {
	Name    string `yaml:"name"`
	Summary string `yaml:"summary"`
	Program string `yaml:"program"` // file name of the P4 program
	Tests   string `yaml:"tests"`   // file name of its STF script, may be empty
}

// NF is one network function.
type NF struct {
	Manifest
	Folder  string // of the embedded library, or "" when imported
	Program *ir.Program
	Info    service.NFInfo
}

// Library holds all NFs, compiled. It does not change once it is open.
type Library struct {
	dir  string
	nfs  []*NF // sorted by name
	fset *diag.FileSet

	mu        sync.Mutex
	backbones map[string]*ir.Program
}

// Backbones lists the backbones' names, sorted.
func Backbones() []string { return []string{"l2", "vrouter", "vrouter-guard", "wire"} }

// Open compiles the NFs that ship with the binary and those imported into dir, which
// need not exist ("": none).
func Open(dir string) (*Library, error) {
	l := &Library{dir: dir, fset: diag.NewFileSet(), backbones: map[string]*ir.Program{}}
	folders, err := fs.Glob(builtin, "*/manifest.yaml")
	if err != nil {
		return nil, err
	}
	for _, m := range folders {
		n, err := l.builtinNF(path.Dir(m))
		if err != nil {
			return nil, err
		}
		l.nfs = append(l.nfs, n)
	}
	if err := l.openImported(); err != nil {
		return nil, err
	}
	sort.Slice(l.nfs, func(i, j int) bool { return l.nfs[i].Name < l.nfs[j].Name })
	return l, nil
}

func (l *Library) builtinNF(folder string) (*NF, error) {
	text, err := builtin.ReadFile(folder + "/manifest.yaml")
	if err != nil {
		return nil, err
	}
	n := &NF{Folder: folder}
	if err := yaml.UnmarshalWithOptions(text, &n.Manifest, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("NF %s: manifest: %w", folder, err)
	}
	src, err := builtin.ReadFile(folder + "/" + n.Manifest.Program)
	if err != nil {
		return nil, fmt.Errorf("NF %s: %w", n.Name, err)
	}
	return n, l.compile(n, folder+"/"+n.Manifest.Program, src, l.options())
}

// compile fills in the program and what is known of its tables.
func (l *Library) compile(n *NF, file string, src []byte, o compile.Options) error {
	p, _, diags := compile.Source(file, src, o)
	if err := diags.Err(l.fset); err != nil {
		return fmt.Errorf("NF %s: %w", n.Name, err)
	}
	n.Program = p
	n.Info = describe(n.Name, n.Summary, p)
	return nil
}

// Options are the compiler's options for NF programs: `#include "headers.p4"` and
// its like find the library's own files, after those beside the program.
func Options() compile.Options { return compile.Options{FS: includes{host: true}} }

// options are those for programs that are in the library: they include its own files
// only, whatever lies beside them or in the working directory.
func (l *Library) options() compile.Options {
	return compile.Options{FS: includes{}, FileSet: l.fset}
}

// includes is where programs of the library find included files: on this machine,
// if host is set, and among those that ship with the binary.
type includes struct{ host bool }

// ReadFile implements fs.ReadFileFS.
func (i includes) ReadFile(name string) ([]byte, error) {
	if i.host {
		if text, err := os.ReadFile(name); err == nil {
			return text, nil
		}
	}
	text, err := builtin.ReadFile("include/" + path.Base(filepath.ToSlash(name)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return text, nil
}

// Open implements fs.FS; the compiler reads whole files.
func (i includes) Open(name string) (fs.File, error) {
	if i.host {
		if f, err := os.Open(name); err == nil {
			return f, nil
		}
	}
	return builtin.Open("include/" + path.Base(filepath.ToSlash(name)))
}

// NFs describes all NFs, sorted by name.
func (l *Library) NFs() []service.NFInfo {
	out := make([]service.NFInfo, len(l.nfs))
	for i, n := range l.nfs {
		out[i] = n.Info
	}
	return out
}

// All returns all NFs, sorted by name.
func (l *Library) All() []*NF { return l.nfs }

// FileSet is what positions of the library's programs refer to.
func (l *Library) FileSet() *diag.FileSet { return l.fset }

// Backbone compiles a backbone, once.
func (l *Library) Backbone(name string) (*ir.Program, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.backbones[name]; p != nil {
		return p, nil
	}
	if !slices.Contains(Backbones(), name) {
		return nil, fmt.Errorf("no backbone %q; there are %s", name, strings.Join(Backbones(), ", "))
	}
	// "vrouter-guard" is vrouter.p4 with GUARD defined.
	base, variant, _ := strings.Cut(name, "-")
	o := l.options()
	if variant != "" {
		o.Defines = []string{strings.ToUpper(variant)}
	}
	src, err := builtin.ReadFile("backbone/" + base + ".p4")
	if err != nil {
		return nil, err
	}
	p, _, diags := compile.Source("backbone/"+base+".p4", src, o)
	if err := diags.Err(l.fset); err != nil {
		return nil, fmt.Errorf("backbone %s: %w", name, err)
	}
	l.backbones[name] = p
	return p, nil
}

// File returns a file of the library that ships with the binary, such as
// "firewall/firewall.stf".
func File(name string) ([]byte, error) { return builtin.ReadFile(name) }

// describe tells what rules can be written to an NF's tables.
func describe(name, summary string, p *ir.Program) service.NFInfo {
	info := service.NFInfo{Name: name, Summary: summary}
	for _, k := range []*ir.Control{p.Ingress, p.Egress} {
		for _, t := range k.Tables {
			if len(t.Entries) > 0 || t.Impl != nil {
				continue // see docs/nf-authoring.md: it takes no rules
			}
			x := service.NFTable{Name: local(k, t.FullName), Size: t.Size}
			for _, key := range t.Keys {
				if key.Match == ir.MatchSelector {
					continue
				}
				bits, _ := ir.ScalarBits(key.Type)
				x.Keys = append(x.Keys, service.NFKey{Name: key.Name, Match: string(key.Match), Bits: bits})
			}
			for _, a := range t.Actions {
				if a.DefaultOnly {
					continue
				}
				y := service.NFAction{Name: local(k, a.Action.FullName)}
				for _, v := range a.Action.Params {
					bits, _ := ir.ScalarBits(v.Type)
					y.Params = append(y.Params, service.NFParam{Name: v.Name, Bits: bits})
				}
				x.Actions = append(x.Actions, y)
			}
			info.Tables = append(info.Tables, x)
		}
	}
	return info
}

func local(k *ir.Control, fullName string) string {
	return strings.TrimPrefix(fullName, k.Name+".")
}

var nfName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

// openImported compiles what was imported into the library's folder.
func (l *Library) openImported() error {
	if l.dir == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(l.dir, "*.p4"))
	if err != nil {
		return err
	}
	for _, file := range files {
		n, err := l.importedNF(file, l.options())
		if err != nil {
			return fmt.Errorf("the NF library cannot be opened: %w (to go on without this NF, remove %s)", err, file)
		}
		l.nfs = append(l.nfs, n)
	}
	return nil
}

func (l *Library) importedNF(file string, o compile.Options) (*NF, error) {
	name := strings.TrimSuffix(filepath.Base(file), ".p4")
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("NF %s: %w", name, err)
	}
	n := &NF{Manifest: Manifest{Name: name, Summary: "imported from " + filepath.Base(file), Program: filepath.Base(file)}}
	return n, l.compile(n, file, src, o)
}

// Import checks a program and copies it into the library's folder, with the files from
// beside it that it includes. check tells whether it can be joined with the backbones.
// A program that was imported before under this name is replaced.
func (l *Library) Import(w io.Writer, file string, check func(*NF) error) (service.NFInfo, error) {
	if l.dir == "" {
		return service.NFInfo{}, errors.New("the library has no folder to import into")
	}
	name := strings.TrimSuffix(filepath.Base(file), ".p4")
	if !nfName.MatchString(name) {
		return service.NFInfo{}, fmt.Errorf("%q cannot be the name of an NF: letters, digits and _ only, a letter first", name)
	}
	for _, n := range l.nfs {
		if n.Name == name && n.Folder != "" {
			return service.NFInfo{}, fmt.Errorf("there is an NF %s in the library already; rename the file", name)
		}
	}
	o := Options()
	o.FileSet = l.fset
	n, err := l.importedNF(file, o)
	if err != nil {
		return service.NFInfo{}, err
	}
	if err := check(n); err != nil {
		return service.NFInfo{}, fmt.Errorf("NF %s: %w", name, err)
	}
	src, err := flatten(file, os.ReadFile)
	if err != nil {
		return service.NFInfo{}, fmt.Errorf("NF %s: %w", name, err)
	}
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return service.NFInfo{}, err
	}
	// The copy appears whole or not at all.
	tmp := filepath.Join(l.dir, "."+name+".p4.new")
	if err := os.WriteFile(tmp, src, 0o644); err != nil {
		return service.NFInfo{}, err
	}
	if _, err := l.importedNF(tmp, l.options()); err != nil {
		return service.NFInfo{}, errors.Join(
			fmt.Errorf("NF %s: it does not compile away from the files that it includes; put them into it: %w", name, err), os.Remove(tmp))
	}
	if err := os.Rename(tmp, filepath.Join(l.dir, name+".p4")); err != nil {
		return service.NFInfo{}, err
	}
	fmt.Fprintf(w, "imported %s\n", name)
	return n.Info, nil
}

// CompileText compiles the text of a whole program, such as a device configuration
// that came over P4Runtime. It can include the library's files, but none of this
// machine's: who sends it need not be allowed to read them.
func (l *Library) CompileText(_ context.Context, text []byte) (*ir.Program, *diag.FileSet, error) {
	p, fset, diags := compile.Source("program.p4", text, compile.Options{FS: includes{}})
	if err := diags.Err(fset); err != nil {
		return nil, nil, err
	}
	return p, fset, nil
}
