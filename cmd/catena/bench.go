package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/catena-nfv/catena/bench/throughput"
	"github.com/catena-nfv/catena/internal/cli"
	fabric "github.com/catena-nfv/catena/internal/fabric/p4"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/service"
)

// openBenchSwitch makes a switch with its own P4Runtime server and fabric: what a
// node has, without cloud and controller.
func openBenchSwitch(ctx context.Context, name string) (throughput.Switch, error) {
	dir, err := os.MkdirTemp("", "catena-bench-")
	if err != nil {
		return nil, err
	}
	b := &benchSwitch{}
	b.push(func() error { return os.RemoveAll(dir) })
	o := &options{paths: cli.Paths{State: dir, Run: dir}, mode: env("CATENA_MODE", "tc"), name: "bench-" + name, log: slog.New(slog.DiscardHandler)}
	lib, err := nf.Open("")
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	b.node, err = startNode(ctx, o, lib, &b.stack)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("switch %s: %w", name, err), b.close())
	}
	b.Fabric = fabric.New(fabric.Config{
		Connect: func(ctx context.Context) (*client.Client, error) {
			return client.Dial(ctx, client.Config{Target: "unix://" + o.paths.P4RuntimeSocket(), DeviceID: deviceID, Election: 1})
		},
		Programs: newPrograms("", lib, o.log), Name: backbone, Target: "kernel (" + o.mode + ")", Ports: b.node.ports,
	})
	b.push(b.Fabric.Close)
	return b, nil
}

type benchSwitch struct {
	*fabric.Fabric
	stack
	node *node
}

func (b *benchSwitch) Attach(ctx context.Context, number uint32, link string) error {
	return b.node.sw.AddPort(ctx, number, link)
}

// Close leaves nothing of the switch.
func (b *benchSwitch) Close() error {
	return errors.Join(b.node.sw.Destroy(), b.close())
}

func (b *benchSwitch) Deploy(ctx context.Context, cfg service.SwitchConfig) (service.SwitchReport, error) {
	return b.Fabric.Deploy(ctx, cfg, nil)
}
