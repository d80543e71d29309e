package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"

	"github.com/catena-nfv/catena/internal/netns"
)

// inventory lists what there is of the platform on this machine, found without its
// help: namespaces, links, processes, pinned objects, and files but for the cache
// and the log. Other platforms on the machine are not seen.
func (p *platform) inventory() []string {
	p.t.Helper()
	sum := sha256.Sum256([]byte(filepath.Join(p.state, "cloud")))
	id := hex.EncodeToString(sum[:3])
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }

	names, err := netns.Dir{}.List("ct" + id + ".")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, n := range names {
		add("namespace %s", n)
	}
	links, err := netlink.LinkList()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, l := range links {
		if strings.HasPrefix(l.Attrs().Alias, "catena:"+id+":") {
			add("link %s (%s)", l.Attrs().Name, l.Attrs().Alias)
		}
	}
	for _, pid := range processes() {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || pid == os.Getpid() {
			continue
		}
		env = append([]byte{0}, env...)
		if bytes.Contains(env, []byte("\x00CATENA_STATE="+p.state+"\x00")) || bytes.Contains(env, []byte("\x00CATENA_INSTANCE=ct"+id+".")) {
			args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if len(args) == 0 {
				continue // a zombie that nobody has waited for
			}
			add("process %s", strings.TrimSpace(strings.ReplaceAll(string(args), "\x00", " ")))
		}
	}
	walk := func(what, dir string, skip ...string) {
		err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if slices.Contains(skip, file) {
				if d.IsDir() {
					return filepath.SkipDir
				}
				return nil
			}
			if !d.IsDir() {
				add("%s %s", what, file)
			}
			return nil
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
	pins, err := filepath.Glob("/sys/fs/bpf/catena/*")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, dir := range pins {
		// A switch is called after its state directory, but for the usual one.
		suffix := strings.TrimPrefix(filepath.Base(dir), "catena")
		if suffix != "" && strings.HasSuffix(strings.ReplaceAll(p.state, "/", "-"), suffix) {
			walk("pin", dir)
		}
	}
	walk("file", p.state, filepath.Join(p.state, "cache"), filepath.Join(p.state, "log"))
	for _, dir := range []string{"run", "home", "tmp"} {
		walk("file", filepath.Join(p.dir, dir))
	}
	sort.Strings(out)
	return out
}

// objects is the inventory without the files of the platform itself: what belongs
// to services.
func (p *platform) objects() []string {
	p.t.Helper()
	var out []string
	for _, line := range p.inventory() {
		cloud := strings.HasPrefix(line, "file "+filepath.Join(p.state, "cloud", "objects")) ||
			strings.HasPrefix(line, "file "+filepath.Join(p.state, "cloud", "instances"))
		if strings.HasPrefix(line, "file ") && !cloud {
			continue
		}
		// Maps get a new generation with each program.
		if strings.HasPrefix(line, "pin ") && strings.Contains(line, "/maps-") {
			continue
		}
		out = append(out, line)
	}
	return out
}

func processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// bpfObjects are the kernel's ids of the programs and maps that a process holds.
type bpfObjects struct {
	programs []ebpf.ProgramID
	maps     []ebpf.MapID
}

func (p *platform) bpfObjects(pid int) bpfObjects {
	p.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil || len(files) == 0 {
		p.t.Fatalf("process %d has no open files (%v)", pid, err)
	}
	var o bpfObjects
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // closed meanwhile
		}
		for _, line := range strings.Split(string(text), "\n") {
			key, value, _ := strings.Cut(line, ":")
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32)
			if err != nil {
				continue
			}
			switch key {
			case "prog_id":
				o.programs = append(o.programs, ebpf.ProgramID(n))
			case "map_id":
				o.maps = append(o.maps, ebpf.MapID(n))
			}
		}
	}
	return o
}

// left tells which of the objects the kernel still has. It frees them some time
// after their last user.
func (o bpfObjects) left() []string {
	var out []string
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		out = nil
		for _, id := range o.programs {
			if prog, err := ebpf.NewProgramFromID(id); err == nil {
				out = append(out, prog.String())
				prog.Close()
			}
		}
		for _, id := range o.maps {
			if m, err := ebpf.NewMapFromID(id); err == nil {
				out = append(out, m.String())
				m.Close()
			}
		}
		if len(out) == 0 || time.Now().After(deadline) {
			return out
		}
	}
}

// controllerPID reads the process id of the running controller.
func (p *platform) controllerPID() int {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.state, "controller.lock"))
	if err != nil {
		p.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		p.t.Fatal(err)
	}
	return pid
}
