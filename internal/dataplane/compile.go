package dataplane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	cebpf "github.com/cilium/ebpf"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// BuildOptions says how a Spec is compiled.
type BuildOptions struct {
	// CacheDir keeps compiled objects under the hash of text and options. "" means
	// no cache. It may be shared by processes.
	CacheDir string
	// Targets are the hooks to compile for; nil means all that the Spec allows.
	Targets []ebpf.Target
	// Test compiles for TestDevice: packets may then be shorter than what the kernel
	// takes for an Ethernet frame.
	Test bool
	// Way is the way in which the program is laid out if clang allows it, one of Ways; else
	// the next that it allows. "" means the one in which the kernel took the program
	// before, if the cache knows, or the first.
	Way string
	// Clang is the compiler; "" means "clang".
	Clang string
}

func (o BuildOptions) clang() string {
	if o.Clang == "" {
		return "clang"
	}
	return o.Clang
}

// Object is a compiled Spec, one collection for each hook. Load may have it compiled in
// another way, and changes it then.
type Object struct {
	Spec *ebpf.Spec
	ELF  map[ebpf.Target][]byte

	opts       BuildOptions
	way        map[ebpf.Target]int // of ways
	remembered map[ebpf.Target]bool
}

// Way is the name of the way in which the program of a hook is laid out.
func (o *Object) Way(t ebpf.Target) string { return ways[o.way[t]].name }

// Collection parses the object of one hook.
func (o *Object) Collection(t ebpf.Target) (*cebpf.CollectionSpec, error) {
	elf, ok := o.ELF[t]
	if !ok {
		return nil, fmt.Errorf("program %q is not compiled for %s", o.Spec.Name, t)
	}
	c, err := collection(elf, o.Spec)
	if err != nil {
		return nil, fmt.Errorf("program %q: object for %s: %w", o.Spec.Name, t, err)
	}
	return c, nil
}

// collection parses an object of a spec, and makes the room that its data wants.
func collection(elf []byte, spec *ebpf.Spec) (*cebpf.CollectionSpec, error) {
	c, err := cebpf.LoadCollectionSpecFromReader(bytes.NewReader(elf))
	if err != nil {
		return nil, err
	}
	for name, size := range spec.Room {
		m := c.Maps[name]
		if m == nil {
			continue
		}
		m.ValueSize = uint32(size)
		m.Contents, m.Key, m.Value = nil, nil, nil // those of the beginning
		maps.DeleteFunc(c.Variables, func(_ string, v *cebpf.VariableSpec) bool { return v.SectionName == name })
	}
	return c, nil
}

// Build compiles a Spec by clang, or takes the objects from the cache. The error of a
// program that is beyond a limit of the kernel is a *Refusal.
func Build(ctx context.Context, spec *ebpf.Spec, opts BuildOptions) (*Object, error) {
	targets := opts.Targets
	if targets == nil {
		for _, t := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
			if spec.Targets[t] == "" {
				targets = append(targets, t)
			}
		}
	}
	for _, t := range targets {
		if why := spec.Targets[t]; why != "" {
			return nil, fmt.Errorf("program %q cannot run on %s: %s", spec.Name, t, why)
		}
	}
	o := &Object{Spec: spec, ELF: map[ebpf.Target][]byte{}, opts: opts, way: map[ebpf.Target]int{}, remembered: map[ebpf.Target]bool{}}
	parts := make([]*Object, len(targets))
	errs := make([]error, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		p := &Object{Spec: spec, ELF: map[ebpf.Target][]byte{}, opts: opts, way: map[ebpf.Target]int{}, remembered: map[ebpf.Target]bool{}}
		parts[i] = p
		all.Go(func() { errs[i] = p.buildFrom(ctx, t, p.recall(t)) })
	}
	all.Wait()
	for i, t := range targets {
		o.ELF[t], o.way[t], o.remembered[t] = parts[i].ELF[t], parts[i].way[t], parts[i].remembered[t]
		var refused *Refusal
		if errors.As(errs[i], &refused) {
			return nil, o.explain(ctx, t, refused)
		}
		if errs[i] != nil {
			errs[i] = fmt.Errorf("program %q: %s: %w", spec.Name, t, errs[i])
		}
	}
	return o, errors.Join(errs...)
}

// flags are the compiler's arguments that decide about the object.
func flags(t ebpf.Target, test, stateInMap bool) []string {
	f := []string{
		"-O2", "-g", "-target", "bpf", "-mcpu=v3", "-fno-stack-protector", "-fbracket-depth=65536",
		"-Wall", "-Wno-unused-variable", "-Wno-unused-label", "-Wno-unused-function",
		"-Wno-unused-but-set-variable", "-Wno-parentheses-equality", "-Werror=shift-count-overflow", "-Werror=uninitialized", "-Wno-tautological-compare", "-Wno-address-of-packed-member",
		"-DTARGET_" + strings.ToUpper(string(t)),
	}
	if test {
		f = append(f, "-DTEST_BUILD")
	}
	if stateInMap {
		f = append(f, "-DSTATE_IN_MAP")
	}
	// The kernel's headers include asm/types.h, which Debian keeps by architecture.
	for _, dir := range []string{"/usr/include/x86_64-linux-gnu", "/usr/include/aarch64-linux-gnu"} {
		if _, err := os.Stat(dir); err == nil {
			f = append(f, "-I"+dir)
		}
	}
	return f
}

// compileCached compiles unless the cache has the object. That a program is refused is
// remembered, too, as an empty object.
func compileCached(ctx context.Context, src string, flags []string, opts BuildOptions) ([]byte, error) {
	clang := opts.clang()
	if opts.CacheDir == "" {
		return compile(ctx, clang, src, flags, "")
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{clang, src}, flags...), "\x00")))
	name := filepath.Join(opts.CacheDir, hex.EncodeToString(sum[:16])+".o")
	if elf, err := ReadCached(name); err == nil {
		if len(elf) == 0 {
			return nil, &Refusal{Message: "clang refuses what the compiler made of this"}
		}
		return elf, nil
	}
	if err := os.MkdirAll(opts.CacheDir, 0o755); err != nil {
		return nil, fmt.Errorf("object cache: %w", err)
	}
	elf, err := compile(ctx, clang, src, flags, opts.CacheDir)
	var refused *Refusal
	if errors.As(err, &refused) {
		elf = nil
	} else if err != nil {
		return nil, err
	}
	if werr := writeAtomically(name, elf); werr != nil {
		return nil, fmt.Errorf("object cache: %w", werr)
	}
	return elf, err
}

// writeAtomically writes a file such that no reader ever sees a part of it.
func writeAtomically(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the rename, which is as it should be
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// buildPrefix begins the names of the folders in which clang works.
const buildPrefix = ".build-"

// keepCached is for how long a cache keeps what nobody takes from it.
const keepCached = 30 * 24 * time.Hour

// CleanCache removes from a cache what compilers left that were killed with their
// parent, unless they may still run, and what was not used for long.
func CleanCache(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("object cache: %w", err)
	}
	var errs []error
	for _, e := range entries {
		limit := keepCached
		if strings.HasPrefix(e.Name(), buildPrefix) {
			limit = time.Hour
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > limit {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// ReadCached reads a file of a cache, which is then in use.
func ReadCached(name string) ([]byte, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	_ = os.Chtimes(name, now, now) // if not, it is compiled again some day
	return data, nil
}

// compile runs clang on a text. Its temporary files are in a folder of its own below
// dir ("": the usual place): a compiler that is killed removes none.
func compile(ctx context.Context, clang, src string, flags []string, dir string) ([]byte, error) {
	tmp, err := os.MkdirTemp(dir, buildPrefix+"*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, "program.o")

	args := append(append([]string{}, flags...), "-x", "c", "-c", "-", "-o", out)
	cmd := exec.CommandContext(ctx, clang, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.Stdin = strings.NewReader(src)
	var msg bytes.Buffer
	cmd.Stderr = &msg
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, exec.ErrNotFound) {
			return nil, fmt.Errorf("%s not found: install the clang package", clang)
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			return nil, fmt.Errorf("clang: %w", err)
		}
		return nil, refusedByClang(errorLines(msg.String(), 20))
	}
	// Some versions of clang only warn.
	if r := understand(msg.String(), ofClang); r != nil {
		return nil, refusedByClang(msg.String())
	}
	elf, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	return elf, checkLimits(elf)
}

// errorLines keeps the first errors, with the lines that explain them, and leaves
// warnings out.
func errorLines(s string, n int) string {
	var out []string
	keep := true
	for _, l := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		switch {
		case strings.Contains(l, ": warning: "), strings.Contains(l, ": note: "):
			keep = false
		case strings.Contains(l, "error: "):
			keep = true
		}
		if keep && len(out) < n {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}
