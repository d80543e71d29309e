package kernelswitch

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/proto"
)

// generated is what the compiler makes of a program's text, kept under the hash of the text and of the compiler. A
// switch that starts again with the program that it had takes it from there, and the object from beside it.
type generated struct {
	Spec   *ebpf.Spec
	P4Info []byte
}

// compiler tells this binary from others, which may make something else of a text; "" if it cannot be told.
func compiler() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(self)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", self, info.Size(), info.ModTime().UnixNano())
}

// cacheFile is where what a text becomes is kept; "" means nowhere.
func (d *Device) cacheFile(text []byte) string {
	if d.cfg.CacheDir == "" || d.compiler == "" {
		return ""
	}
	h := sha256.New()
	fmt.Fprintln(h, d.compiler)
	h.Write(text)
	return filepath.Join(d.cfg.CacheDir, hex.EncodeToString(h.Sum(nil)[:16])+".program")
}

// readCache returns what a file keeps, false if it keeps nothing of use.
func readCache(file string) (*configv1.P4Info, *ebpf.Spec, bool) {
	data, err := dataplane.ReadCached(file)
	if err != nil {
		return nil, nil, false
	}
	var g generated
	info := &configv1.P4Info{}
	if gob.NewDecoder(bytes.NewReader(data)).Decode(&g) != nil || g.Spec == nil || proto.Unmarshal(g.P4Info, info) != nil {
		return nil, nil, false
	}
	return info, g.Spec, true
}

// writeCache keeps what became of a text. Readers find all of it or nothing.
func writeCache(file string, info *configv1.P4Info, spec *ebpf.Spec) error {
	text, err := proto.Marshal(info)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".tmp-*")
	if err != nil {
		return err
	}
	err = errors.Join(gob.NewEncoder(f).Encode(generated{spec, text}), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
