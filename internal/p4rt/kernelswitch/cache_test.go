package kernelswitch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/p4info"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"google.golang.org/protobuf/proto"
)

// TestCache reads back what it keeps of the largest program of the library.
func TestCache(t *testing.T) {
	lib, err := nf.Open("")
	if err != nil {
		t.Fatal(err)
	}
	p, err := lib.Backbone("vrouter")
	if err != nil {
		t.Fatal(err)
	}
	info, err := p4info.Build(p)
	if err != nil {
		t.Fatal(err)
	}
	pass.Run(p, pass.Options{})
	spec, diags := ebpf.Generate(p, lib.FileSet())
	if diags.HasErrors() {
		t.Fatal(diags.Err(lib.FileSet()))
	}
	d := New(Config{CacheDir: filepath.Join(t.TempDir(), "cache")})
	file := d.cacheFile([]byte("a program"))
	if _, _, ok := readCache(file); ok {
		t.Fatal("an empty cache has something")
	}
	if err := writeCache(file, info, spec); err != nil {
		t.Fatal(err)
	}
	gotInfo, gotSpec, ok := readCache(d.cacheFile([]byte("a program")))
	if !ok {
		t.Fatal("nothing kept")
	}
	if !proto.Equal(gotInfo, info) {
		t.Error("another P4Info")
	}
	got, _ := json.Marshal(gotSpec)
	want, err := json.Marshal(spec)
	if err != nil || string(got) != string(want) {
		t.Errorf("another description, %v", err)
	}
	if other := d.cacheFile([]byte("another program")); other == file {
		t.Error("two programs share a file")
	}
	upgraded := New(d.cfg)
	upgraded.compiler += "1"
	if upgraded.cacheFile([]byte("a program")) == file {
		t.Error("two compilers share a file")
	}
	// A file that was cut is none.
	if err := os.Truncate(file, 1000); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := readCache(file); ok {
		t.Error("a broken file was read")
	}
}
