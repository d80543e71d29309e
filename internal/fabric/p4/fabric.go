package p4

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/service"
)

// Programs makes the programs of a switch.
type Programs interface {
	// NFs describes the library, sorted by name. It may grow while the fabric runs.
	NFs() []service.NFInfo
	// Version is another when a graph may give another text than before.
	Version() string
	// Compose returns the v1model text of the backbone with the NFs of a graph, and
	// how many nodes the classifier's bitmap has room for. With guard the backbone
	// checks secured ports.
	Compose(g chain.Graph, guard bool) (text string, nodeBits int, err error)
}

// Config of a fabric. Connect and Programs must be set.
type Config struct {
	// Connect opens a session with the switch that may become primary.
	Connect  func(context.Context) (*client.Client, error)
	Programs Programs
	// Name and Target describe the pipeline in State.
	Name, Target string
	// Ports reports the switch's ports, which P4Runtime does not.
	Ports func(context.Context) ([]service.PortState, error)
	Log   *slog.Logger
}

// Fabric drives one switch. Its methods may be called concurrently.
type Fabric struct {
	cfg Config

	mu      sync.Mutex
	session *client.Client
	// running is what the switch's program was made from, nil for none of ours; cookie
	// is the program's, and current the version of Programs that makes this program.
	running *deployment
	cookie  uint64
	current string
	// installed are the entities on the switch; nil when they are not known.
	installed []client.Entity
	loadedAt  time.Time
	composed  composed
}

// composed is the last program that was composed: Prepare makes it, Deploy uses it.
type composed struct {
	of      *deployment
	version string // of Programs
	text    string
	bits    int
}

// cookie tells programs apart; it is never 0.
func (c composed) cookie() uint64 {
	h := fnv.New64a()
	h.Write([]byte(c.text))
	return h.Sum64() | 1
}

// New returns a fabric. It connects when it is first needed.
func New(cfg Config) *Fabric {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	return &Fabric{cfg: cfg}
}

func (f *Fabric) library() library { return newLibrary(f.cfg.Programs.NFs()) }

// Close ends the session; the switch goes on.
func (f *Fabric) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.session == nil {
		return nil
	}
	err := f.session.Close()
	f.session = nil
	return err
}

// NFs lists the NF library.
func (f *Fabric) NFs(context.Context) ([]service.NFInfo, error) { return f.cfg.Programs.NFs(), nil }

// Check finds what is wrong with chains and rules without touching the switch.
func (f *Fabric) Check(_ context.Context, cfg service.SwitchConfig) error {
	lib := f.library()
	b := newBuilder(cfg)
	errs := []error{b.rules(lib, func(service.SwitchChain, string) bool { return true })}
	for _, c := range cfg.Chains {
		d, err := parseChain(c, lib)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		none := func(field string, path int) {
			if paths := len(d.Paths()); path > paths {
				errs = append(errs, &service.ChainError{Owner: c.Owner, Chain: c.Chain.Name, Field: field,
					Err: fmt.Errorf("no path %d; the chain has %d", path, paths)})
			}
		}
		none("path", c.Chain.Path)
		for i, m := range c.Chain.Match {
			none(fmt.Sprintf("match[%d].path", i), m.Path)
		}
	}
	_, err := b.matches()
	return errors.Join(append(errs, err)...)
}

// connect returns a live session, and learns what the switch runs: at the first time,
// when the switch was started again, and when someone else has given it a program.
func (f *Fabric) connect(ctx context.Context) (*client.Client, error) {
	if f.session != nil {
		cookie, err := f.session.Cookie(ctx)
		switch {
		case err == nil && cookie == f.cookie && f.session.Primary():
			return f.session, nil
		case err == nil && f.session.Primary():
			if err := f.learn(ctx, f.session); err != nil {
				return nil, err
			}
			return f.session, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		f.session.Close()
		f.session = nil
	}
	s, err := f.cfg.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.WaitPrimary(ctx), f.learn(ctx, s)); err != nil {
		s.Close()
		return nil, err
	}
	f.session = s
	return s, nil
}

// learn asks the switch for its program.
func (f *Fabric) learn(ctx context.Context, s *client.Client) error {
	p, err := s.Pipeline(ctx)
	if err != nil {
		return err
	}
	f.running, f.cookie, f.current, f.installed = nil, 0, "", nil
	if p != nil {
		f.running, f.cookie = deploymentOf(p.DeviceConfig), p.Cookie
	}
	return nil
}

// stages times the stages of a deployment and tells them as they end.
type stages struct {
	list []service.Stage
	tell func(service.Stage)
}

// run times one stage; the function returns what to say about it.
func (s *stages) run(name string, work func() (string, error)) error {
	start := time.Now()
	message, err := work()
	st := service.Stage{Name: name, Duration: time.Since(start), Message: message}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.list = append(s.list, st)
	if s.tell != nil {
		s.tell(st)
	}
	return nil
}

// merge plans the deployment, and composes its program unless the switch is known to run
// it. load tells that it does not.
func (f *Fabric) merge(cfg service.SwitchConfig, st *stages) (next deployment, load bool, err error) {
	version := f.cfg.Programs.Version()
	err = st.run("merge", func() (string, error) {
		var err error
		next, err = plan(f.running, cfg.Chains, f.library())
		return fmt.Sprintf("%d chains, %d nodes, %d tables", len(next.Graph.Chains), len(next.Graph.Nodes), next.Graph.Tables), err
	})
	if err != nil {
		return next, false, err
	}
	// A program that can check ports stays until another one is needed anyway.
	next.Guard = needsGuard(cfg) || sameNodes(f.running, &next) && f.running.Guard
	fits := sameProgram(f.running, &next)
	if fits && f.current == version {
		return next, false, nil
	}
	if f.composed.version != version || !sameProgram(f.composed.of, &next) {
		err = st.run("compose", func() (string, error) {
			text, bits, err := f.cfg.Programs.Compose(next.Graph, next.Guard)
			if err != nil {
				return "", err
			}
			f.composed = composed{of: &next, version: version, text: text, bits: bits}
			return fmt.Sprintf("%d lines of P4", strings.Count(text, "\n")), nil
		})
	}
	if err != nil {
		return next, false, err
	}
	// What runs may come from a controller with other programs.
	if fits && f.composed.cookie() == f.cookie {
		f.current = version
		return next, false, nil
	}
	return next, true, nil
}

// Prepare merges, composes and has the switch compile the program, so that Deploy
// finds it ready.
func (f *Fabric) Prepare(ctx context.Context, cfg service.SwitchConfig, progress func(service.Stage)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.connect(ctx)
	if err != nil {
		return err
	}
	st := &stages{tell: progress}
	next, load, err := f.merge(cfg, st)
	if err != nil || !load {
		return err
	}
	return st.run("compile", func() (string, error) {
		p, err := f.pipeline(next)
		if err != nil {
			return "", err
		}
		return f.cfg.Target, s.SetPipeline(ctx, client.Verify, p)
	})
}

// pipeline is the program that was composed last.
func (f *Fabric) pipeline(d deployment) (client.Pipeline, error) {
	d.NodeBits = f.composed.bits
	text, err := withDeployment(d, f.composed.text)
	if err != nil {
		return client.Pipeline{}, err
	}
	return client.Pipeline{DeviceConfig: text, Cookie: f.composed.cookie()}, nil
}

// Deploy makes the switch follow the configuration. Where something fails, what was
// written before is taken back, and the program that ran before runs again with its
// entries.
func (f *Fabric) Deploy(ctx context.Context, cfg service.SwitchConfig, progress func(service.Stage)) (service.SwitchReport, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.connect(ctx)
	if err != nil {
		return service.SwitchReport{}, err
	}
	st := &stages{tell: progress}
	next, load, err := f.merge(cfg, st)
	if err != nil {
		return service.SwitchReport{}, err
	}
	if load {
		next.NodeBits = f.composed.bits
	} else {
		next.NodeBits = f.running.NodeBits
	}
	// Whatever can be wrong with entries is found before anything changes.
	want, err := desired(cfg, next, f.library())
	if err != nil {
		return service.SwitchReport{}, err
	}
	if _, _, unfit, _ := policies(cfg); unfit != nil {
		f.cfg.Log.Warn("security groups that the switch has no room for", "error", unfit)
	}
	report := service.SwitchReport{Recompiled: load}
	var undo func() error
	if load {
		if undo, err = f.load(ctx, s, next, st); err != nil {
			return service.SwitchReport{}, err
		}
	}
	err = st.run("entries", func() (string, error) {
		c, err := f.write(ctx, s, want)
		report.EntriesAdded, report.EntriesChanged, report.EntriesDeleted = c.added, c.changed, c.deleted
		return fmt.Sprintf("%d added, %d changed, %d deleted", c.added, c.changed, c.deleted), err
	})
	if err != nil {
		f.installed = nil
		if undo != nil {
			err = errors.Join(err, undo())
		}
		return service.SwitchReport{}, err
	}
	f.running = &next
	report.Stages = st.list
	return report, nil
}

// load runs the composed program, with the state of what is unchanged. It returns
// what brings the program before back, with its entries: those of tables that only it
// has are lost by then.
func (f *Fabric) load(ctx context.Context, s *client.Client, next deployment, st *stages) (undo func() error, err error) {
	before, err := s.Pipeline(ctx)
	if err != nil {
		return nil, err
	}
	entries := f.installed
	if before != nil && entries == nil {
		if entries, err = read(ctx, s); err != nil {
			return nil, err
		}
	}
	wasCookie, wasCurrent := f.cookie, f.current
	err = st.run("load", func() (string, error) {
		p, err := f.pipeline(next)
		if err != nil {
			return "", err
		}
		return f.cfg.Target, replace(ctx, s, p)
	})
	if err != nil {
		return nil, err
	}
	f.installed, f.loadedAt = nil, time.Now()
	f.cookie, f.current = f.composed.cookie(), f.composed.version
	return func() error {
		if before == nil {
			return nil
		}
		// The context may be what has failed.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err := replace(ctx, s, *before); err != nil {
			return fmt.Errorf("the program that ran before cannot be loaded again: %w", err)
		}
		f.cookie, f.current, f.installed = wasCookie, wasCurrent, nil
		if _, err := f.write(ctx, s, entries); err != nil {
			return fmt.Errorf("the entries of the program that ran before cannot be written again: %w", err)
		}
		return nil
	}, nil
}

// replace runs a program with the state of what is unchanged. Entries that do not fit
// it (classifiers of more nodes than it has room for) make the switch refuse: then it
// begins empty, and gets its entries as any other switch.
func replace(ctx context.Context, s *client.Client, p client.Pipeline) error {
	err := s.SetPipeline(ctx, client.Reconcile, p)
	if errors.Is(err, target.ErrInvalid) {
		return s.SetPipeline(ctx, client.Commit, p) // a program that is wrong is refused again
	}
	return err
}

// write makes the entities on the switch those wanted, all or none.
func (f *Fabric) write(ctx context.Context, s *client.Client, want []client.Entity) (changes, error) {
	if f.installed == nil {
		have, err := read(ctx, s)
		if err != nil {
			return changes{}, err
		}
		f.installed = have
	}
	c := diff(f.installed, want)
	if len(c.updates) > 0 {
		if err := s.WriteAll(ctx, c.updates...); err != nil {
			return changes{}, err
		}
	}
	f.installed = want
	if f.installed == nil {
		f.installed = []client.Entity{}
	}
	return c, nil
}

// read returns the entries of all tables that are the fabric's, and the multicast
// groups. The tables of an NF that have no scope hold entries of the program.
func read(ctx context.Context, s *client.Client) ([]client.Entity, error) {
	schema, err := s.Schema()
	if err != nil {
		return nil, err
	}
	out := []client.Entity{}
	for _, t := range schema.Tables.All() {
		if !slices.Contains(backboneTables, t.Name()) && !slices.Contains(t.FieldNames(), scopeKey) {
			continue
		}
		es, err := s.Entries(ctx, t.Name())
		if err != nil {
			return nil, err
		}
		for _, e := range es {
			if !e.Const {
				out = append(out, e)
			}
		}
	}
	groups, err := s.Multicasts(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		out = append(out, g)
	}
	return out, nil
}
