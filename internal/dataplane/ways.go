package dataplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// way is how a program is laid out for the kernel.
type way struct {
	name    string
	divided bool // the text is Spec.Split
	inMap   bool // the state of a packet is in a map
}

// ways are tried in this order, the fastest code first, until the kernel takes the program:
//
//	registers   one function; a packet's state is a local variable, which clang takes apart into registers
//	map         one function; the state is in a per-CPU map, for programs that have too much of it for the stack
//	functions   many functions, each with a stack of its own, which the verifier looks at once each; the state is in a
//	            map. A call of a function is what it costs a packet.
var ways = []way{
	{name: "registers"},
	{name: "map", inMap: true},
	{name: "functions", inMap: true, divided: true},
}

// Ways are the names of the ways in which a program can be laid out, in the order in which they are tried.
func Ways() []string {
	var out []string
	for _, w := range ways {
		out = append(out, w.name)
	}
	return out
}

// wayNamed is the position of a way; of one that there is not, the first.
func wayNamed(name string) int {
	return max(0, slices.IndexFunc(ways, func(w way) bool { return w.name == name }))
}

// source is the text that clang gets.
func (w way) source(spec *ebpf.Spec) string {
	if w.divided {
		return spec.Split
	}
	return spec.Source
}

// differs tells whether a way gives another object than the one before it.
func (w way) differs(spec *ebpf.Spec, t ebpf.Target) bool {
	return w.divided || !w.inMap || !spec.InMap[t]
}

// wayFile is where it is kept in which way the kernel took a program; "": nowhere.
func (o *Object) wayFile(t ebpf.Target) string {
	if o.opts.CacheDir == "" {
		return ""
	}
	var u unix.Utsname
	_ = unix.Uname(&u) // without it, it holds for all kernels
	h := sha256.New()
	for _, s := range append([]string{o.opts.clang(), unix.ByteSliceToString(u.Release[:]), o.Spec.Source, o.Spec.Split}, flags(t, o.opts.Test, false)...) {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return filepath.Join(o.opts.CacheDir, hex.EncodeToString(h.Sum(nil)[:16])+".way")
}

// remember keeps in which way the kernel took the program, if it is not the first.
func (o *Object) remember(t ebpf.Target) {
	file := o.wayFile(t)
	if file == "" || o.way[t] == 0 || o.remembered[t] {
		return
	}
	o.remembered[t] = writeAtomically(file, []byte(ways[o.way[t]].name)) == nil // if not, it is found out again
}

// recall is the way to begin with.
func (o *Object) recall(t ebpf.Target) int {
	if o.opts.Way != "" {
		return wayNamed(o.opts.Way)
	}
	if file := o.wayFile(t); file != "" {
		if name, err := ReadCached(file); err == nil {
			o.remembered[t] = true
			return wayNamed(strings.TrimSpace(string(name)))
		}
	}
	return 0
}

// buildFrom compiles in the first way, from one on, that clang and the limits on objects allow.
func (o *Object) buildFrom(ctx context.Context, t ebpf.Target, from int) error {
	refused := &Refusal{Message: "the kernel refuses what the compiler made of this"}
	for i := from; i < len(ways); i++ {
		w := ways[i]
		if i > from && !w.differs(o.Spec, t) {
			continue
		}
		elf, err := compileCached(ctx, w.source(o.Spec), flags(t, o.opts.Test, w.inMap), o.opts)
		if err == nil {
			o.ELF[t], o.way[t] = elf, i
			return nil
		}
		if !errors.As(err, &refused) {
			return err
		}
		if refused.Limit != nil && refused.Limit.Code == ebpf.LimitMaps.Code {
			break // no way needs fewer
		}
	}
	return refused
}
