package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catena-nfv/catena/internal/agent"
	"github.com/catena-nfv/catena/internal/dataplane"
	fabric "github.com/catena-nfv/catena/internal/fabric/p4"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/nodeservice"
	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/p4rt/kernelswitch"
	p4rtserver "github.com/catena-nfv/catena/internal/p4rt/server"
	"github.com/catena-nfv/catena/internal/server"
	"github.com/catena-nfv/catena/internal/service"
	"github.com/catena-nfv/catena/internal/store"
)

// deviceID is the P4Runtime device id of a node's switch.
const deviceID = 1

// How long a shutdown waits: for calls to be answered, and for changes that run. A
// change that is cut off is taken up at the next start.
const (
	stopTimeout  = 3 * time.Second
	closeTimeout = 7 * time.Second
)

// stack is what runs in one process, closed in the opposite order.
type stack struct{ closers []func() error }

func (s *stack) push(f func() error) { s.closers = append(s.closers, f) }

func (s *stack) close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}

// node is the part that every node has: the switch with its P4Runtime server, and
// the agent.
type node struct {
	sw    *dataplane.Switch
	agent *agent.Agent
	// services answer DHCP, DNS and metadata; nil: nobody does.
	services atomic.Pointer[nodeservice.Server]
}

// startNode opens the switch, serves P4Runtime and starts the agent.
func startNode(ctx context.Context, o *options, lib *nf.Library, st *stack) (*node, error) {
	log := o.log
	sw, err := dataplane.OpenSwitch(dataplane.SwitchConfig{
		Name: o.switchName(), StateFile: filepath.Join(o.paths.State, "switch.json"),
		Mode: ebpf.Target(o.mode), Log: log.With("part", "switch"),
	})
	if err != nil {
		return nil, err
	}
	st.push(sw.Close)
	n := &node{sw: sw}
	device := kernelswitch.New(kernelswitch.Config{
		Switch: sw, Compile: lib.CompileText, Optimize: optimize,
		CacheDir: filepath.Join(o.paths.State, "cache"), PacketIn: n.packetIn,
		Progress: func(stage string) { log.Debug("switch", "stage", stage) },
	})
	rt, err := p4rtserver.New(ctx, p4rtserver.Config{
		DeviceID: deviceID, Device: device,
		Journal: filepath.Join(o.paths.State, "p4runtime.journal"), Log: log.With("part", "p4runtime"),
	})
	if err != nil {
		return nil, fmt.Errorf("P4Runtime: %w", err)
	}
	st.push(func() error { rt.Close(); return nil })
	if err := serveP4Runtime(ctx, rt, o, st); err != nil {
		return nil, err
	}
	a, err := agent.New(agent.Config{Switch: sw, StateFile: filepath.Join(o.paths.State, "agent.json"), LinkTimeout: o.linkTimeout(), Log: log.With("part", "agent")})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := a.Run(ctx); err != nil && ctx.Err() == nil {
			log.Error("agent ended", "error", err)
		}
	})
	st.push(func() error { cancel(); running.Wait(); return nil })
	n.agent = a
	return n, nil
}

// serveP4Runtime serves on the unix socket and, if asked for, on an address.
func serveP4Runtime(ctx context.Context, rt *p4rtserver.Server, o *options, st *stack) error {
	var listeners []net.Listener
	for _, address := range []string{"unix://" + o.paths.P4RuntimeSocket(), o.p4runtime} {
		if address == "" {
			continue
		}
		l, err := p4rtserver.Listen(address)
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
			return err
		}
		listeners = append(listeners, l)
	}
	// It serves until it is stopped here, not until the caller's context ends: the
	// orchestrator still needs the switch then.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		if err := rt.Serve(ctx, nil, listeners...); err != nil {
			o.log.Error("P4Runtime ended", "error", err)
		}
	})
	st.push(func() error { cancel(); running.Wait(); return nil })
	return nil
}

// serve runs controller, store, switch, agent and the local cloud until the
// context ends. ready is called when the API answers.
func serve(ctx context.Context, o *options, ready func()) (err error) {
	release, err := o.takeLock()
	if err != nil {
		return err
	}
	var st stack
	st.push(release)
	defer func() { err = errors.Join(err, st.close()) }()

	// etcd and the library take a moment each; they do not need one another.
	var db *store.Store
	var dbErr error
	var opening sync.WaitGroup
	opening.Go(func() { db, dbErr = store.Open(ctx, o.storeConfig()) })
	lib, libErr := nf.Open(o.nfDir())
	opening.Wait()
	if dbErr == nil {
		st.push(db.Close)
	}
	if err := errors.Join(dbErr, libErr); err != nil {
		return err
	}
	if err := dataplane.CleanCache(filepath.Join(o.paths.State, "cache")); err != nil {
		o.log.Warn("the cache is not cleaned", "error", err)
	}
	n, err := startNode(ctx, o, lib, &st)
	if err != nil {
		return err
	}
	if err := n.startServices(ctx, o, &st); err != nil {
		return err
	}
	cloud, err := openCloud(ctx, o)
	if err != nil {
		return err
	}
	st.push(cloud.Close)
	fab := fabric.New(fabric.Config{
		Connect: func(ctx context.Context) (*client.Client, error) {
			return client.Dial(ctx, client.Config{Target: "unix://" + o.paths.P4RuntimeSocket(), DeviceID: deviceID, Election: 1,
				Digest: func(d client.Digest) { logDigest(o.log, d) }})
		},
		Programs: newPrograms(o.nfDir(), lib, o.log), Name: backbone, Target: "kernel (" + o.mode + ")", Ports: n.ports, Log: o.log.With("part", "fabric"),
	})
	st.push(fab.Close)
	taps := agent.NewTaps(n.agent)
	var linked orch.Node = n.agent
	if o.cloud == cloudOpenStack {
		linked = taps
	}
	work := orch.Config{Cloud: cloud, Node: linked, Fabric: servedFabric{fab, n}, Store: db, Log: o.log.With("part", "orch")}
	o.adapt(&work)
	orchestrator := orch.New(work)
	st.push(func() error {
		within, done := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer done()
		return orchestrator.Close(within)
	})
	keeper, err := openMirror(ctx, o, db, orchestrator, taps)
	if err != nil {
		return err
	}
	runTaps(ctx, o, taps, &st)
	recovered := make(chan struct{})
	cfg := server.Config{
		Orchestrator: orchestrator, Socket: o.paths.Socket(), GRPC: o.grpc, HTTP: o.http, TokenFile: o.paths.TokenFile(), TLS: o.tls,
		Version: version, Cloud: o.cloud, Mirror: keeper, Ready: recovered, Log: o.log.With("part", "api"),
	}
	if verifier, services, err := o.tokens(); err != nil {
		return err
	} else if verifier != nil {
		cfg.Keystone, cfg.CloudServices = verifier, services
	}
	api, err := server.Start(cfg)
	if err != nil {
		return err
	}
	st.push(func() error {
		within, done := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer done()
		api.Stop(within)
		return nil
	})
	// A server that is made again needs its port's tap, and Neutron's word on it.
	if err := orchestrator.Recover(ctx); err != nil {
		o.log.Error("some services could not be taken up again", "error", err)
	}
	run(ctx, &st, keeper.Run)
	close(recovered)
	ready()
	<-ctx.Done()
	return nil
}

// logDigest writes what NFs report, such as the alerts of an IDS, to the log.
func logDigest(log *slog.Logger, d client.Digest) {
	for _, v := range d.Values {
		log.Info("digest", "part", "fabric", "name", d.Name, "values", fmt.Sprintf("%x", v))
	}
}

// ports reports the switch's ports under the names of the service's ports.
func (n *node) ports(context.Context) ([]service.PortState, error) {
	names := map[uint32]string{}
	for _, p := range n.agent.Ports() {
		names[p.Number] = p.Owner.String() + "/" + p.Port
	}
	var out []service.PortState
	for _, p := range n.sw.Ports() {
		out = append(out, service.PortState{
			Number: p.Number, Name: names[p.Number], Link: p.Link, Up: p.Up && p.Attached,
			RxPackets: p.RxPackets, RxBytes: p.RxBytes, RxDropped: p.RxDropped,
			TxPackets: p.TxPackets, TxBytes: p.TxBytes, TxDropped: p.TxDropped,
		})
	}
	return out, nil
}
