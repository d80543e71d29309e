package progen_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/progen"
)

var (
	first   = flag.Uint64("first", 1, "the first seed")
	seeds   = flag.Int("seeds", 60, "how many seeds to try")
	kernels = flag.Int("kernel", 12, "compile one program in so many for the kernel; 0: none")
	tries   = flag.Int("shrink", 0, "how often to try to make what fails smaller")
	save    = flag.String("save", "", "write what fails into this folder")
	way     = flag.String("way", "", "how the kernel's programs are laid out: one of dataplane.Ways")
	within  = flag.Duration("within", 15*time.Second, "start no program later than that")
)

// TestDifferential compares all ways of running generated programs.
func TestDifferential(t *testing.T) {
	w := ways{stats: newStats(), way: *way}
	begin := time.Now()
	n := 0
	for seed := *first; seed < *first+uint64(*seeds) && time.Since(begin) < *within; seed++ {
		n++
		w.hooks = nil
		if *kernels > 0 && os.Geteuid() == 0 && seed%uint64(*kernels) == 0 {
			w.hooks = []ebpf.Target{ebpf.TC}
			if seed/uint64(*kernels)%3 == 0 {
				w.hooks = append(w.hooks, ebpf.XDP)
			}
		}
		c := progen.Make(progen.Seeded(seed), progen.Options{})
		beyond := len(w.stats.beyond)
		f := w.check(c)
		for i, b := range w.stats.beyond[beyond:] {
			w.stats.beyond[beyond+i] = fmt.Sprintf("seed %d: %s", seed, b)
		}
		if f == nil {
			continue
		}
		kind := f.kind
		c = progen.Shrink(c, *tries, func(d progen.Case) bool {
			g := w.check(d)
			return g != nil && g.kind == kind
		})
		f = w.check(c)
		report(t, fmt.Sprintf("seed %d", seed), c, f)
	}
	t.Logf("%d programs; %d for the kernel, of which %d unsupported; %d loaded, in %v; %d beyond limits",
		n, w.stats.programs, w.stats.unsupported, w.stats.loaded, w.stats.ways, len(w.stats.beyond))
	for _, b := range w.stats.beyond {
		t.Log(b)
	}
}

// FuzzDifferential compares all ways of running the programs that a fuzzer's bytes stand
// for, the kernel's among them where there is the right to load programs:
//
//	go test -fuzz FuzzDifferential -parallel 1 -fuzzminimizetime 1x ./internal/p4/progen
//
// A program takes clang a second or several; of inputs that take ten, the fuzzer thinks that they hang.
func FuzzDifferential(f *testing.F) {
	f.Add([]byte("one program and its packets"))
	f.Add([]byte("another")) // needs more stack than one function has
	f.Add([]byte{})          // has loops with more ways through them than the verifier follows
	f.Fuzz(func(t *testing.T, choices []byte) {
		w := ways{stats: newStats()}
		if os.Geteuid() == 0 {
			w.hooks = []ebpf.Target{ebpf.TC}
		}
		c := progen.Make(progen.FromBytes(choices), progen.Options{})
		if bad := w.check(c); bad != nil {
			report(t, fmt.Sprintf("choices %x", choices), c, bad)
		}
	})
}

func report(t *testing.T, what string, c progen.Case, f *failure) {
	t.Helper()
	if *save != "" {
		name := strings.ReplaceAll(what, " ", "")
		text := fmt.Sprintf("/* %s: %s\n%s\n*/\n%s", what, f.kind, strings.ReplaceAll(f.detail, "*/", "* /"), c.Program)
		if err := os.WriteFile(filepath.Join(*save, name+".p4"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*save, name+".stf"), []byte(strings.Join(c.Script, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		detail, _, _ := strings.Cut(f.detail, "\n")
		t.Errorf("%s: %s: %.300s", what, f.kind, detail)
		return
	}
	t.Errorf("%s: %s: %s\n%s\n%s", what, f.kind, f.detail, c.Program, strings.Join(c.Script, "\n"))
}
