package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
)

// TestLibraryLoads verifies every program of the library on both hooks: the
// portable text goes over P4Runtime, through the compiler, clang and the kernel's
// verifier. Programs that copy packets have no place on XDP.
func TestLibraryLoads(t *testing.T) {
	root := "../../internal/nf"
	files, err := filepath.Glob(filepath.Join(root, "*", "*.p4"))
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	modes(t, func(t *testing.T, mode ebpf.Target) {
		b := newBed(t, mode, 0)
		c := b.client(client.Config{})
		loaded := 0
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Dir(name) == "include" {
				continue
			}
			p, fset, diags := compile.File(filepath.ToSlash(name), compile.Options{FS: os.DirFS(root), IncludeDirs: []string{"include"}})
			if err := diags.Err(fset); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			text, err := p4text.Print(p)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			err = c.SetPipeline(t.Context(), client.Verify, client.Pipeline{DeviceConfig: []byte(text)})
			if mode == ebpf.XDP && errors.Is(err, target.ErrUnsupported) {
				t.Logf("%s: %v", name, err)
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			loaded++
		}
		if loaded == 0 {
			t.Error("no program was loaded")
		}
	})
}
