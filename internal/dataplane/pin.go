package dataplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	cebpf "github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// What is pinned, under <bpffs>/catena/<switch>/:
//
//	ports/<number>    the link that attaches the program, or as long as there is none an idle one, to a port's interface
//	maps-<gen>/<map>  counters, meters and registers of the program that runs
//
// The links keep the program alive, and the program its maps: packets flow while no
// process has them open. The maps are pinned so that the next process can go on
// counting in them.

// mountBPF makes sure that a bpffs is mounted at dir, and reports whether it had to
// mount it.
func mountBPF(dir string) (mounted bool, err error) {
	var st unix.Statfs_t
	err = unix.Statfs(dir, &st)
	if err == nil && st.Type == unix.BPF_FS_MAGIC {
		return false, nil
	}
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return false, fmt.Errorf("bpffs %s: %w", dir, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, fmt.Errorf("bpffs %s: %w", dir, err)
	}
	if err := unix.Mount("bpf", dir, "bpf", 0, "mode=0700"); err != nil {
		return false, fmt.Errorf("mount a bpffs at %s: %w (mount it by hand: mount -t bpf bpf %s)", dir, err, dir)
	}
	return true, nil
}

// pins is a switch's folder in the bpffs.
type pins struct {
	dir string
}

func (p pins) link(port uint32) string { return filepath.Join(p.dir, "ports", fmt.Sprint(port)) }

func (p pins) maps(gen int) string { return filepath.Join(p.dir, fmt.Sprintf("maps-%d", gen)) }

// stateMaps names the maps whose contents do not depend on what the control plane
// has written: they outlive the process.
func stateMaps(s *ebpf.Spec) []string {
	var names []string
	for _, c := range s.Counters {
		if c.Direct == "" {
			names = append(names, c.Map)
			if c.Base != "" {
				names = append(names, c.Base)
			}
		}
	}
	for _, m := range s.Meters {
		if m.Direct == "" {
			names = append(names, m.Map)
		}
	}
	for _, r := range s.Registers {
		names = append(names, r.Map)
	}
	return names
}

// pinMaps pins a program's state maps as generation gen.
func (p pins) pinMaps(gen int, prog *Program) error {
	dir := p.maps(gen)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("pin maps: %w", err)
	}
	for _, name := range stateMaps(prog.Spec) {
		m := prog.Maps[name]
		if m == nil || strings.Contains(name, ".") { // the program never uses it; bpffs takes no dots
			continue
		}
		// A clone, since a Map can be pinned only once by its handle.
		c, err := m.Clone()
		if err == nil {
			err = c.Pin(filepath.Join(dir, name))
			c.Close()
		}
		if err != nil {
			return fmt.Errorf("pin map %s: %w", name, err)
		}
	}
	return nil
}

// openMaps opens the pinned maps of generation gen that a program with spec could
// use, given the meaning of their contents.
func (p pins) openMaps(gen int, keys map[string]string, spec *ebpf.Spec) map[string]*cebpf.Map {
	out := map[string]*cebpf.Map{}
	for _, name := range stateMaps(spec) {
		if key, ok := keys[name]; !ok || key != spec.MapKeys[name] {
			continue
		}
		m, err := cebpf.LoadPinnedMap(filepath.Join(p.maps(gen), name), nil)
		if err != nil {
			continue // it starts from zero
		}
		out[name] = m
	}
	return out
}

// keepOnly removes the maps of all generations but gen; -1 removes all.
func (p pins) keepOnly(gen int) error {
	found, err := filepath.Glob(filepath.Join(p.dir, "maps-*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range found {
		if dir != p.maps(gen) {
			errs = append(errs, os.RemoveAll(dir))
		}
	}
	return errors.Join(errs...)
}

// removeAll removes the switch's folder; the folder of all switches goes with the
// last one. Links that are pinned nowhere else detach.
func (p pins) removeAll() error {
	err := os.RemoveAll(p.dir)
	if rmErr := os.Remove(filepath.Dir(p.dir)); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) && !errors.Is(rmErr, unix.ENOTEMPTY) {
		err = errors.Join(err, rmErr)
	}
	return err
}

// saved is what a switch remembers in its state file.
type saved struct {
	Generation int               // of the pinned maps
	MapKeys    map[string]string // what their contents mean
	Ports      []savedPort
}

type savedPort struct {
	Number uint32
	Link   string
	Index  int
	Mode   ebpf.Target
	Peer   bool `json:",omitempty"`
	Whole  bool `json:",omitempty"`
}

func readSaved(file string) (saved, error) {
	var s saved
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("state file: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("state file %s cannot be read: %w; remove it, and the ports are made anew", file, err)
	}
	return s, nil
}

func writeSaved(file string, s saved) error {
	data, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return err
	}
	if err := writeAtomically(file, data); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}
