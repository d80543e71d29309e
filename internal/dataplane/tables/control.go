package tables

import (
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// Map is a kernel map. Keys and values are byte slices; of per-CPU maps the value is
// one element for each CPU.
type Map interface {
	Put(key, value any) error
	Delete(key any) error
	Lookup(key, valueOut any) error
}

// Memory is the memory of a map that packets read without a look-up. Words of four and eight bytes at a multiple of their
// size are written at once, and packets that see what was written see all that was written before.
type Memory interface {
	Write(at int, data []byte) error
	Read(at, bytes int) ([]byte, error)
}

// Kernel is what a Control writes to.
type Kernel struct {
	Maps   map[string]Map
	Memory map[string]Memory // those of tuple spaces
	CPUs   int               // elements of a per-CPU value
	// Wait returns when no packet is under way any more that was when it was called.
	Wait func() error
}

// Control is the control plane's side of a loaded program. It implements
// target.Switch.
type Control struct {
	mu        sync.Mutex
	spec      *ebpf.Spec
	kernel    Kernel
	tables    map[string]*table
	profiles  map[string]*profile
	counters  map[string]*ebpf.Counter
	meters    map[string]*ebpf.Meter
	registers map[string]*ebpf.Register
	valueSets map[string]*valueSet
	multicast map[uint32][]target.Replica
	clones    map[uint32]target.CloneSession
	states    []byte                               // of all tables, as it is in the map
	bases     map[string]map[uint32]target.Counter // what is counted from, of direct counters
}

var _ target.Switch = (*Control)(nil)

// New returns the control side of a program with the given maps. Maps for which kept
// tells true come from a predecessor and hold what prev says; all others are empty,
// and get the program's own entries and those of prev that still have a place.
func New(spec *ebpf.Spec, kernel Kernel, prev *Contents, kept func(name string) bool) (*Control, error) {
	c := &Control{
		spec: spec, kernel: kernel,
		tables:    map[string]*table{},
		profiles:  map[string]*profile{},
		counters:  map[string]*ebpf.Counter{},
		meters:    map[string]*ebpf.Meter{},
		registers: map[string]*ebpf.Register{},
		valueSets: map[string]*valueSet{},
		multicast: map[uint32][]target.Replica{},
		clones:    map[uint32]target.CloneSession{},
		states:    make([]byte, spec.StateSize),
		bases:     map[string]map[uint32]target.Counter{},
	}
	for _, x := range spec.Counters {
		c.counters[x.Name] = x
		c.bases[x.Name] = map[uint32]target.Counter{}
	}
	for _, x := range spec.Meters {
		c.meters[x.Name] = x
	}
	for _, x := range spec.Registers {
		c.registers[x.Name] = x
	}
	for _, x := range spec.ValueSets {
		c.valueSets[x.Name] = &valueSet{spec: x}
	}
	for _, x := range spec.Profiles {
		c.profiles[x.Name] = newProfile(x)
	}
	for _, x := range spec.Tables {
		t, err := c.newTable(x)
		if err != nil {
			return nil, err
		}
		c.tables[x.Name] = t
	}
	if prev == nil {
		prev = &Contents{}
	}
	if kept == nil {
		kept = func(string) bool { return false }
	}
	if kept(ebpf.MapTables) {
		if err := kernel.Maps[ebpf.MapTables].Lookup(u32(0), &c.states); err != nil {
			return nil, fmt.Errorf("the tables' states: %w", err)
		}
	}
	return c, c.fill(prev, kept)
}

// lookup finds a named object, or says which names there are.
func lookup[T any](m map[string]T, kind, name string) (T, error) {
	x, ok := m[name]
	if ok {
		return x, nil
	}
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	sort.Strings(names)
	what := "the program has none"
	if len(names) > 0 {
		what = "there are " + strings.Join(names, ", ")
	}
	return x, fmt.Errorf("%s %q: %w; %s", kind, name, target.ErrNotFound, what)
}

// mapOf returns a map that the Spec names.
func (c *Control) mapOf(name string) (Map, error) {
	m, ok := c.kernel.Maps[name]
	if !ok {
		return nil, fmt.Errorf("map %q: %w in the loaded program", name, target.ErrNotFound)
	}
	return m, nil
}
