package netns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strings"

	"golang.org/x/sys/unix"
)

// DefaultDir is where iproute2 keeps its named namespaces.
const DefaultDir = "/run/netns"

// nsfsMagic is NSFS_MAGIC of linux/magic.h: the file system type of a
// namespace file; anything else at a name is the rest of an interrupted Create.
const nsfsMagic = 0x6e736673

// ErrNotExist reports that no namespace of that name is mounted.
var ErrNotExist = fs.ErrNotExist

// Dir is a folder of named network namespaces.
type Dir struct{ Path string }

func (d Dir) file(name string) string {
	if d.Path == "" {
		return filepath.Join(DefaultDir, name)
	}
	return filepath.Join(d.Path, name)
}

// Create makes the namespace name with its loopback up and calls setup (may be
// nil) inside it before the namespace becomes visible under its name. What a
// crashed Create left behind at the name is replaced; a living namespace there
// is an fs.ErrExist error. The caller closes the returned NS.
func (d Dir) Create(name string, setup func() error) (*NS, error) {
	file := d.file(name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, fmt.Errorf("namespace %q: %w", name, err)
	}
	if mounted(file) {
		return nil, fmt.Errorf("namespace %q: %w", name, fs.ErrExist)
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDONLY|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return nil, fmt.Errorf("namespace %q: %w", name, err)
	}
	f.Close()
	var ns *NS
	err = onLockedThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		if err := loopbackUp(); err != nil {
			return err
		}
		if setup != nil {
			if err := setup(); err != nil {
				return err
			}
		}
		self := fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid())
		if err := unix.Mount(self, file, "bind", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind mount: %w", err)
		}
		var err error
		ns, err = openFile(name, file)
		return err
	})
	if err != nil {
		if ns != nil {
			ns.Close()
		}
		_ = d.Delete(name)
		return nil, fmt.Errorf("namespace %q: %w", name, err)
	}
	return ns, nil
}

// Open opens a namespace by name; a name that is absent or only half made gives
// an error that wraps ErrNotExist.
func (d Dir) Open(name string) (*NS, error) { return openFile(name, d.file(name)) }

// Delete unmounts and removes the name. The namespace itself ends when its last
// process and descriptor do. Deleting a name that does not exist is no error.
func (d Dir) Delete(name string) error {
	file := d.file(name)
	// A crash between two mounts on one name leaves a stack of them.
	for mounted(file) {
		if err := unix.Unmount(file, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("namespace %q: unmount: %w", name, err)
		}
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("namespace %q: %w", name, err)
	}
	return nil
}

// List returns the sorted names in the folder that begin with prefix, half-made
// ones included.
func (d Dir) List(prefix string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(d.file("x")))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list namespaces: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	sort.Strings(names)
	return names, nil
}

// Anonymous makes a namespace without a name and calls setup inside it: it lives as
// long as something is open in it, or the returned NS, which the caller closes.
func Anonymous(setup func() error) (*NS, error) {
	var ns *NS
	err := onLockedThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("unshare: %w", err)
		}
		if err := loopbackUp(); err != nil {
			return err
		}
		if err := setup(); err != nil {
			return err
		}
		var err error
		ns, err = openFile("(anonymous)", fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		return err
	})
	return ns, err
}

func mounted(file string) bool {
	var st unix.Statfs_t
	return unix.Statfs(file, &st) == nil && st.Type == nsfsMagic
}

// NS is an open network namespace.
type NS struct {
	name string
	f    *os.File
}

func openFile(name, file string) (*NS, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("namespace %q: %w", name, err)
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &st); err != nil || st.Type != nsfsMagic {
		f.Close()
		return nil, fmt.Errorf("namespace %q is not mounted: %w", name, ErrNotExist)
	}
	return &NS{name: name, f: f}, nil
}

// Name returns the name under which the namespace was opened.
func (n *NS) Name() string { return n.name }

// Close releases the descriptor; the namespace stays.
func (n *NS) Close() error { return n.f.Close() }

// withFD lends the descriptor; Close waits for its return, so that the number
// cannot mean another file meanwhile.
func (n *NS) withFD(fn func(fd int) error) error {
	conn, err := n.f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if conn.Control(func(fd uintptr) { inner = fn(int(fd)) }) != nil {
		return fs.ErrClosed // the only way for it to fail
	}
	return inner
}

// Do runs fn on a thread that is inside the namespace. fn must not start
// goroutines that expect to be inside, too.
func (n *NS) Do(fn func() error) error {
	return onLockedThread(func() error {
		err := n.withFD(func(fd int) error { return unix.Setns(fd, unix.CLONE_NEWNET) })
		if err != nil {
			return fmt.Errorf("enter namespace %q: %w", n.name, err)
		}
		return fn()
	})
}

// Start starts the command inside the namespace (a child inherits the namespace
// of the thread that forks it).
func (n *NS) Start(cmd *exec.Cmd) error { return n.Do(cmd.Start) }

// DialContext connects from inside the namespace. addr must be a literal
// IP:port: name resolution would happen on another thread, outside.
func (n *NS) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if _, err := netip.ParseAddrPort(addr); err != nil {
		return nil, fmt.Errorf("namespace %q: dial %q: need a literal IP:port: %w", n.name, addr, err)
	}
	var conn net.Conn
	err := n.Do(func() error {
		var err error
		conn, err = (&net.Dialer{}).DialContext(ctx, network, addr)
		return err
	})
	return conn, err
}

// Listen opens a TCP listener inside the namespace.
func (n *NS) Listen(ctx context.Context, addr string) (net.Listener, error) {
	var l net.Listener
	err := n.Do(func() error {
		var err error
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp4", addr)
		return err
	})
	return l, err
}

// onLockedThread runs fn, which may change the thread's network namespace, and
// puts the thread back afterwards.
func onLockedThread(fn func() error) error {
	done := make(chan error, 1)
	// A goroutine of its own: the caller may itself hold a locked thread, and a
	// thread that cannot be restored must die without taking the caller along.
	go func() {
		runtime.LockOSThread()
		home, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		if err != nil {
			runtime.UnlockOSThread()
			done <- err
			return
		}
		defer home.Close()
		err = fn()
		if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
			// Stay locked: the runtime ends this thread with the goroutine.
			done <- errors.Join(err, fmt.Errorf("return to own namespace: %w", back))
			return
		}
		runtime.UnlockOSThread()
		done <- err
	}()
	return <-done
}
