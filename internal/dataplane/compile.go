package dataplane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
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
	// StateInMap keeps the state of a packet in a map even if clang would get by
	// with the stack: the verifier counts the stack of called functions, too, and
	// may find it too much (Load then fails with ErrStack).
	StateInMap bool
	// Clang is the compiler; "" means "clang".
	Clang string
}

// Object is a compiled Spec, one collection for each hook.
type Object struct {
	Spec *ebpf.Spec
	ELF  map[ebpf.Target][]byte
}

// Collection parses the object of one hook.
func (o *Object) Collection(t ebpf.Target) (*cebpf.CollectionSpec, error) {
	elf, ok := o.ELF[t]
	if !ok {
		return nil, fmt.Errorf("program %q is not compiled for %s", o.Spec.Name, t)
	}
	c, err := cebpf.LoadCollectionSpecFromReader(bytes.NewReader(elf))
	if err != nil {
		return nil, fmt.Errorf("program %q: object for %s: %w", o.Spec.Name, t, err)
	}
	return c, nil
}

// ErrStack is wrapped by the error of a program whose state does not fit the
// kernel's stack in either way of keeping it.
var ErrStack = errors.New("more than 512 bytes of stack")

// Build compiles a Spec by clang, or takes the objects from the cache. The state of
// a packet is kept on the stack and in registers if it fits there, else in a per-CPU
// map.
func Build(ctx context.Context, spec *ebpf.Spec, opts BuildOptions) (*Object, error) {
	targets := opts.Targets
	if targets == nil {
		for _, t := range []ebpf.Target{ebpf.TC, ebpf.XDP} {
			if spec.Targets[t] == "" {
				targets = append(targets, t)
			}
		}
	}
	o := &Object{Spec: spec, ELF: map[ebpf.Target][]byte{}}
	type result struct {
		t   ebpf.Target
		elf []byte
		err error
	}
	results := make(chan result, len(targets))
	for _, t := range targets {
		if why := spec.Targets[t]; why != "" {
			return nil, fmt.Errorf("program %q cannot run on %s: %s", spec.Name, t, why)
		}
		go func() {
			elf, err := buildTarget(ctx, spec, t, opts)
			results <- result{t, elf, err}
		}()
	}
	var errs []error
	for range targets {
		r := <-results
		if r.err != nil {
			errs = append(errs, fmt.Errorf("program %q: %s: %w", spec.Name, r.t, r.err))
			continue
		}
		o.ELF[r.t] = r.elf
	}
	return o, errors.Join(errs...)
}

func buildTarget(ctx context.Context, spec *ebpf.Spec, t ebpf.Target, opts BuildOptions) ([]byte, error) {
	elf, err := compileCached(ctx, spec.Source, flags(t, opts.Test, opts.StateInMap), opts)
	if errors.Is(err, ErrStack) && !opts.StateInMap {
		return compileCached(ctx, spec.Source, flags(t, opts.Test, true), opts)
	}
	return elf, err
}

// flags are the compiler's arguments that decide about the object.
func flags(t ebpf.Target, test, stateInMap bool) []string {
	f := []string{
		"-O2", "-g", "-target", "bpf", "-mcpu=v3", "-fno-stack-protector",
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

// compileCached compiles unless the cache has the object. That a program does not
// fit the stack is remembered, too, as an empty object.
func compileCached(ctx context.Context, src string, flags []string, opts BuildOptions) ([]byte, error) {
	clang := opts.Clang
	if clang == "" {
		clang = "clang"
	}
	if opts.CacheDir == "" {
		return compile(ctx, clang, src, flags, "")
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{clang, src}, flags...), "\x00")))
	name := filepath.Join(opts.CacheDir, hex.EncodeToString(sum[:16])+".o")
	if elf, err := ReadCached(name); err == nil {
		if len(elf) == 0 {
			return nil, ErrStack
		}
		return elf, nil
	}
	if err := os.MkdirAll(opts.CacheDir, 0o755); err != nil {
		return nil, fmt.Errorf("object cache: %w", err)
	}
	elf, err := compile(ctx, clang, src, flags, opts.CacheDir)
	if errors.Is(err, ErrStack) {
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

var stackLimit = regexp.MustCompile(`(?i)BPF stack limit|stack (size|limit)[^\n]*exceed`)

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
		if stackLimit.Match(msg.Bytes()) {
			return nil, ErrStack
		}
		return nil, fmt.Errorf("clang: %w:\n%s", err, errorLines(msg.String(), 20))
	}
	// Some versions of clang only warn.
	if stackLimit.Match(msg.Bytes()) {
		return nil, ErrStack
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
