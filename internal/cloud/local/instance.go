package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

// readyTimeout is how long an instance may take from its start to its first answer.
const readyTimeout = 20 * time.Second

// instance says how a server or function is run. It is computed from a
// specification without touching anything.
type instance struct {
	owner service.Owner
	kind  service.Kind
	name  string
	ports []service.Port
	// files are written to the instance's folder, which is the working directory.
	files map[string]string
	// args is the program to run; nil when setUp does it all.
	args []string
	// restart is what a running program cannot take over: when it changes, the
	// program is started anew. Changes of files alone are told by reload.
	restart []any
	// reload tells a running program that files have changed; nil: nothing to do.
	reload unix.Signal
	// takeOver returns further arguments that let a new program replace the
	// running one without refusing a connection; nil: the old one is stopped first.
	takeOver func(old int) []string
	// setUp runs with the namespace's links in place, before the program; may be nil.
	setUp func(ctx context.Context, ns *netns.NS, dir string) error
	// ready returns nil when the instance answers from inside its namespace.
	ready func(ctx context.Context, ns *netns.NS) error
}

// CreateServer runs the server's command, or the HTTP server, on its ports.
func (c *Cloud) CreateServer(ctx context.Context, o service.Owner, spec service.ServerSpec) error {
	return named(service.KindServer, spec.Name, c.create(ctx, serverInstance(o, spec, c.cfg.HTTPServer)))
}

// CreateFunction runs the function's program, or changes what runs.
func (c *Cloud) CreateFunction(ctx context.Context, o service.Owner, spec service.FunctionSpec) error {
	inst, err := functionInstance(o, spec, c.instanceDir(c.names.netns(o, spec.Name)))
	if err == nil {
		err = c.create(ctx, inst)
	}
	return named(service.KindFunction, spec.Name, err)
}

// functionInstance says how to run a function whose folder is dir.
func functionInstance(o service.Owner, spec service.FunctionSpec, dir string) (instance, error) {
	inst := instance{owner: o, kind: service.KindFunction, name: spec.Name, ports: spec.Ports}
	switch {
	case len(spec.Ports) == 0:
		return instance{}, errors.New("it has no ports")
	case spec.Kind == service.LoadBalancerKind && spec.LoadBalancer != nil:
		loadBalancer(&inst, *spec.LoadBalancer)
	case spec.Kind == service.DNSKind && spec.DNS != nil:
		dnsServer(&inst, *spec.DNS, dir)
	case spec.Kind == service.FirewallKind && spec.Firewall != nil:
		firewall(&inst, *spec.Firewall)
	default:
		return instance{}, fmt.Errorf("a function of kind %q with no such configuration", spec.Kind)
	}
	return inst, nil
}

// instanceDir is the folder of an instance's configuration and log.
func (c *Cloud) instanceDir(netns string) string {
	return filepath.Join(c.cfg.StateDir, "instances", netns)
}

func (c *Cloud) create(ctx context.Context, inst instance) error {
	name := c.names.netns(inst.owner, inst.name)
	defer c.devices.lock(name)()
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(inst.ports) == 0 {
		return errors.New("it has no ports")
	}
	// Of a port, its place and address: the rest changes under a running program.
	var places []any
	for _, p := range inst.ports {
		places = append(places, []any{p.Name, p.MAC, p.IP})
	}
	sum, err := digest(inst.args, places, inst.restart)
	if err != nil {
		return err
	}
	old, _, err := c.records.get(inst.owner, inst.kind, inst.name)
	if err != nil {
		return err
	}
	rec := record{
		Owner: inst.owner, Kind: inst.kind, Name: inst.name, Ports: inst.ports,
		Status: service.StatusBuilding, Digest: old.Digest, Program: inst.args != nil, Process: old.Process,
	}
	if err := c.records.put(rec); err != nil {
		return err
	}
	err = c.run(ctx, inst, &rec, sum)
	rec.Status = service.StatusActive
	if err != nil {
		rec.Status, rec.Message = service.StatusError, err.Error()
	}
	return errors.Join(err, c.records.put(rec))
}

// run makes the instance run as asked and waits until it answers. It keeps rec
// up to date, also on disk as soon as there is a new process.
func (c *Cloud) run(ctx context.Context, inst instance, rec *record, sum string) error {
	name := c.names.netns(inst.owner, inst.name)
	dir := c.instanceDir(name)
	ns, err := c.netns.Open(name)
	if err != nil {
		return fmt.Errorf("its ports do not exist: %w", err)
	}
	defer ns.Close()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for file, text := range inst.files {
		if err := writeFile(c.records.scratch, filepath.Join(dir, file), []byte(text)); err != nil {
			return err
		}
	}
	if err := arrange(ns, inst.ports); err != nil {
		return err
	}
	if inst.setUp != nil {
		if err := inst.setUp(ctx, ns, dir); err != nil {
			return err
		}
	}
	if inst.args == nil {
		rec.Digest = sum
		return nil
	}
	log := filepath.Join(dir, "log")
	if rec.Digest == sum && rec.Process.alive() {
		if inst.reload != 0 {
			if err := rec.Process.signal(inst.reload); err != nil {
				return fmt.Errorf("reload: %w", err)
			}
		}
		if err := poll(ctx, nil, inst.answers(ns)); err != nil {
			return fmt.Errorf("%w; %s", err, logEnd(log))
		}
		return nil
	}
	return c.startProgram(ctx, inst, rec, sum, ns, command{Args: inst.args, Dir: dir, Log: log})
}

// answers asks the instance once. Where a port has vanished, it never will answer.
func (inst instance) answers(ns *netns.NS) func(context.Context) error {
	return func(ctx context.Context) error {
		err := inst.ready(ctx, ns)
		if err == nil {
			return nil
		}
		for _, p := range inst.ports {
			if gone := vanished(p); gone != nil {
				return &hopelessError{fmt.Errorf("port %q: %w", p.Name, gone)}
			}
		}
		return err
	}
}

func (c *Cloud) startProgram(ctx context.Context, inst instance, rec *record, sum string, ns *netns.NS, cmd command) error {
	old := rec.Process
	if inst.takeOver != nil && old.alive() {
		cmd.Args = append(cmd.Args[:len(cmd.Args):len(cmd.Args)], inst.takeOver(old.PID)...)
	} else if err := stopMarked(exactly(ns.Name())); err != nil {
		// Also what a driver started that was killed before it could record it.
		return err
	}
	p, ended, err := cmd.start(ns, c.names.marker(ns.Name()))
	if err != nil {
		return err
	}
	rec.Process, rec.Digest = p, sum
	if err := c.records.put(*rec); err != nil {
		return errors.Join(err, p.stop())
	}
	if err := poll(ctx, ended, inst.answers(ns)); err != nil {
		err = fmt.Errorf("%w; %s", err, logEnd(cmd.Log))
		// Nothing half-working stays; a program that it was to replace does.
		rec.Digest, rec.Process = "", nil
		if inst.takeOver != nil && old.alive() {
			rec.Process = old
		}
		return errors.Join(err, p.stop())
	}
	return nil
}

// deleteInstance stops what runs and removes the instance's files. The namespace
// stays for the ports that are still there. The record goes last.
func (c *Cloud) deleteInstance(o service.Owner, kind service.Kind, name string) error {
	ns := c.names.netns(o, name)
	defer c.devices.lock(ns)()
	// The name may belong to an object of the other kind.
	if _, ok, err := c.records.get(o, kind, name); err == nil && !ok {
		return nil
	}
	if err := stopMarked(exactly(ns)); err != nil {
		return err
	}
	if err := os.RemoveAll(c.instanceDir(ns)); err != nil {
		return err
	}
	if err := c.removeNamespaceIfUnused(o, name, record{Kind: kind, Name: name}); err != nil {
		return err
	}
	return c.records.delete(o, kind, name)
}
