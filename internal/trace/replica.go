package trace

import (
	"context"
	"errors"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/p4rt/server"
	"github.com/catena-nfv/catena/internal/p4rt/softswitch"
)

// Compile turns the text of a device configuration into a program.
type Compile func(ctx context.Context, text []byte) (*ir.Program, *diag.FileSet, error)

// Step is one step of a packet, and where in the program it is: FILE:LINE:COLUMN, ""
// for none.
type Step struct {
	interp.Event
	At string
}

// Replica is a copy of a switch at the time when it was opened.
type Replica struct {
	device *softswitch.Device
	client *client.Client
	stop   func()

	fset  *diag.FileSet
	steps []Step
}

// Open copies what a switch runs. The error wraps target.ErrNotFound when it runs
// nothing.
func Open(ctx context.Context, from *client.Client, compile Compile) (_ *Replica, err error) {
	p, err := from.Pipeline(ctx)
	if err != nil {
		return nil, err
	}
	if p == nil {
		_, err := from.Schema()
		return nil, err
	}
	r := &Replica{}
	r.device = softswitch.New(softswitch.Config{
		Compile: func(ctx context.Context, text []byte) (*ir.Program, error) {
			prog, fset, err := compile(ctx, text)
			r.fset = fset
			return prog, err
		},
		Options: interp.Options{Tracer: r},
	})
	srv, err := server.New(ctx, server.Config{DeviceID: 1, Device: r.device})
	if err != nil {
		return nil, err
	}
	l := bufconn.Listen(1 << 20)
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { _ = srv.Serve(life, nil, l) }) // it ends when it is stopped
	r.stop = func() { cancel(); running.Wait(); srv.Close() }
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	r.client, err = client.Dial(ctx, client.Config{Target: "passthrough:///replica", Election: 1, Dial: []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
	}})
	if err != nil {
		return nil, err
	}
	if err := r.client.SetPipeline(ctx, client.Commit, client.Pipeline{DeviceConfig: p.DeviceConfig}); err != nil {
		return nil, err
	}
	return r, copyState(ctx, from, r.client)
}

// Close frees the copy.
func (r *Replica) Close() error {
	var err error
	if r.client != nil {
		err = r.client.Close()
	}
	r.stop()
	return err
}

// Trace implements interp.Tracer.
func (r *Replica) Trace(e interp.Event) {
	s := Step{Event: e}
	if e.Span != (diag.Span{}) {
		s.At = r.fset.Position(e.Span).String()
	}
	r.steps = append(r.steps, s)
}

// Send runs a packet that arrives on a port through the copy, and returns its steps
// and what leaves on which port. State that the packet changes stays changed for the
// next one. Packets to the controller are only among the steps.
func (r *Replica) Send(p target.Packet) ([]Step, []target.Packet, error) {
	r.steps = nil
	out, err := r.device.Send(p.Port, p.Data)
	return r.steps, out, err
}
