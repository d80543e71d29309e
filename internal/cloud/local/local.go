package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/catena-nfv/catena/internal/filelock"
	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

// Config of a driver. Only StateDir must be set.
type Config struct {
	// StateDir is the folder for records, configurations and logs; it belongs
	// to this driver alone.
	StateDir string
	// Prefix begins the names of links and namespaces; at most 6 bytes, "ct" by default.
	Prefix string
	// NetnsDir is where namespaces are mounted, netns.DefaultDir by default.
	NetnsDir string
	// Node is the name of this machine in ports, "local" by default.
	Node string
	// HTTPServer is the command that runs Serve with further arguments (see
	// Serve); by default this program's own file and the argument "__server".
	HTTPServer []string
	// FillChecksums is needed when the switch runs XDP programs, see netns.Veth.
	FillChecksums bool
	// Log is slog.Default() by default.
	Log *slog.Logger
}

// defaultPrefix begins the names of links and namespaces.
const defaultPrefix = "ct"

// ErrBusy reports that another driver works on the state directory.
var ErrBusy = errors.New("the state directory is in use by another controller")

// Cloud is the driver. Its methods may be called at the same time for different
// objects; calls for one instance and its ports wait for each other.
type Cloud struct {
	cfg     Config
	names   names
	netns   netns.Dir
	records records
	lock    *os.File
	devices keyedMutex
}

// New takes the state directory for this driver until Close or the end of the
// process. It makes nothing else; what an earlier driver left is found there.
func New(cfg Config) (*Cloud, error) {
	if cfg.StateDir == "" {
		return nil, errors.New("local cloud: no state directory")
	}
	dir, err := filepath.Abs(cfg.StateDir)
	if err != nil {
		return nil, fmt.Errorf("local cloud: %w", err)
	}
	cfg.StateDir = dir
	if cfg.Prefix == "" {
		cfg.Prefix = defaultPrefix
	}
	if len(cfg.Prefix) > 6 {
		return nil, fmt.Errorf("local cloud: prefix %q is longer than 6 bytes; link names would not fit", cfg.Prefix)
	}
	if cfg.NetnsDir == "" {
		cfg.NetnsDir = netns.DefaultDir
	}
	if cfg.Node == "" {
		cfg.Node = "local"
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if len(cfg.HTTPServer) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("local cloud: %w", err)
		}
		cfg.HTTPServer = []string{self, "__server"}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("local cloud: state directory: %w", err)
	}
	lock, err := filelock.Take(filepath.Join(dir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		err = ErrBusy
	}
	if err != nil {
		return nil, fmt.Errorf("local cloud: %s: %w", dir, err)
	}
	c := &Cloud{
		cfg:     cfg,
		names:   newNames(cfg.Prefix, dir),
		netns:   netns.Dir{Path: cfg.NetnsDir},
		records: records{dir: filepath.Join(dir, "objects"), scratch: filepath.Join(dir, "scratch")},
		lock:    lock,
	}
	err = os.RemoveAll(c.records.scratch)
	if err == nil {
		err = os.Mkdir(c.records.scratch, 0o700)
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("local cloud: %w", err)
	}
	return c, nil
}

// Close gives the state directory free. Instances keep running.
func (c *Cloud) Close() error { return c.lock.Close() }

// CreateNetwork records the network: the switch carries its packets.
func (c *Cloud) CreateNetwork(_ context.Context, o service.Owner, n service.Network) error {
	return c.recordOnly(o, service.KindNetwork, n.Name, n)
}

// CreateRouter records the router: the switch routes.
func (c *Cloud) CreateRouter(_ context.Context, o service.Owner, r service.Router) error {
	return c.recordOnly(o, service.KindRouter, r.Name, r)
}

// Lacks tells that nothing leads outside here.
func (c *Cloud) Lacks(s *service.Service) []service.Problem {
	var out []service.Problem
	for i, r := range s.Routers {
		if r.External != "" {
			out = append(out, service.Problem{
				Path: fmt.Sprintf("routers[%d].external", i), Code: service.CodeValue,
				Message: fmt.Sprintf("router %q: the local cloud has no external networks; leave \"external\" and \"floating_ip\" out, or use --cloud openstack", r.Name),
			})
		}
	}
	return out
}

// CreateSecurityGroup records the group: the switch secures its ports.
func (c *Cloud) CreateSecurityGroup(_ context.Context, o service.Owner, g service.SecurityGroup) (string, error) {
	r := record{Owner: o, Kind: service.KindSecurityGroup, Name: g.Name}
	return r.id(c.names), c.recordOnly(o, r.Kind, g.Name, g.Name)
}

// CreateSecurityRules records the rules of a group.
func (c *Cloud) CreateSecurityRules(_ context.Context, o service.Owner, g service.SecurityGroup) error {
	return c.recordOnly(o, service.KindSecurityRules, g.Name, g)
}

// CreateKeyPair records the key. Nobody logs in to an instance here: it is a namespace
// of this machine.
func (c *Cloud) CreateKeyPair(_ context.Context, o service.Owner, k service.KeyPair) error {
	return c.recordOnly(o, service.KindKeyPair, k.Name, k)
}

// CreateFloatingIP is never asked for, see Lacks.
func (c *Cloud) CreateFloatingIP(_ context.Context, _ service.Owner, f service.FloatingIPSpec) error {
	return named(service.KindFloatingIP, f.Name, errors.New("the local cloud has no external networks"))
}

func (c *Cloud) recordOnly(o service.Owner, kind service.Kind, name string, spec any) error {
	sum, err := digest(spec)
	if err == nil {
		err = c.records.put(record{Owner: o, Kind: kind, Name: name, Status: service.StatusActive, Digest: sum})
	}
	return named(kind, name, err)
}

// Delete removes an object and everything that was made for it. A namespace goes
// with the last of its instance and ports.
func (c *Cloud) Delete(_ context.Context, o service.Owner, kind service.Kind, name string) error {
	var err error
	switch kind {
	case service.KindNetwork, service.KindRouter, service.KindSecurityGroup, service.KindSecurityRules, service.KindKeyPair, service.KindFloatingIP:
		err = c.records.delete(o, kind, name)
	case service.KindPort:
		err = c.deletePort(o, name)
	case service.KindServer, service.KindFunction:
		err = c.deleteInstance(o, kind, name)
	default:
		err = fmt.Errorf("the local cloud has no objects of this kind")
	}
	return named(kind, name, err)
}

// named says whose error it is.
func named(kind service.Kind, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", kind, name, err)
}

// keyedMutex is one mutex for each key in use.
type keyedMutex struct {
	mu   sync.Mutex
	held map[string]*heldMutex
}

type heldMutex struct {
	sync.Mutex
	users int
}

// lock waits for the key and returns the function that gives it free.
func (k *keyedMutex) lock(key string) func() {
	k.mu.Lock()
	if k.held == nil {
		k.held = map[string]*heldMutex{}
	}
	h := k.held[key]
	if h == nil {
		h = &heldMutex{}
		k.held[key] = h
	}
	h.users++
	k.mu.Unlock()
	h.Lock()
	return func() {
		h.Unlock()
		k.mu.Lock()
		defer k.mu.Unlock()
		if h.users--; h.users == 0 {
			delete(k.held, key)
		}
	}
}
