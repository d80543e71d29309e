package deployment

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf"
)

// Controller is the service that runs Catena's controller with its switch.
const Controller = "catena"

// Crash kills a service (SIGKILL) and keeps it away until Return.
func (d *Deployment) Crash(service string) {
	d.t.Helper()
	d.sv("once", service) // its supervisor does not start it again
	pid := d.PID(service)
	d.Kill(service)
	for deadline := time.Now().Add(10 * time.Second); d.PID(service) == pid; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("%s does not die", service)
		}
	}
}

// Return has a service run from now on.
func (d *Deployment) Return(service string) {
	d.t.Helper()
	d.sv("up", service)
}

func (d *Deployment) sv(command, service string) {
	d.t.Helper()
	if out, err := exec.Command("sv", command, filepath.Join(d.State, "service", service)).CombinedOutput(); err != nil {
		d.t.Fatalf("sv %s %s: %v: %s", command, service, err, out)
	}
}

// Entries counts what the controller's BPF maps hold, by the name of the map: of maps that
// have entries, which arrays do not.
func (d *Deployment) Entries() map[string]int {
	d.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", d.PID(Controller)))
	if err != nil || len(files) == 0 {
		d.t.Fatalf("the controller has no open files (%v)", err)
	}
	out := map[string]int{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // closed meanwhile
		}
		_, rest, ok := strings.Cut(string(text), "map_id:")
		if !ok {
			continue
		}
		line, _, _ := strings.Cut(rest, "\n")
		id, err := strconv.ParseUint(strings.TrimSpace(line), 10, 32)
		if err != nil {
			d.t.Fatal(err)
		}
		m, err := ebpf.NewMapFromID(ebpf.MapID(id))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			d.t.Fatal(err)
		}
		info, err := m.Info()
		if err != nil {
			d.t.Fatal(err)
		}
		switch m.Type() {
		case ebpf.Hash, ebpf.LRUHash, ebpf.LPMTrie:
			n, err := count(m)
			if err != nil {
				d.t.Fatalf("map %s: %v", info.Name, err)
			}
			out[info.Name] += n
		}
		m.Close()
	}
	return out
}

func count(m *ebpf.Map) (n int, err error) {
	key := make([]byte, m.KeySize())
	var before any
	for {
		err := m.NextKey(before, key)
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n++
		before = append([]byte(nil), key...)
	}
}
