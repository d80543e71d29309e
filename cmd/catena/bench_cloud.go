package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/catena-nfv/catena/bench/orchestration"
	"github.com/catena-nfv/catena/internal/cli"
	"github.com/catena-nfv/catena/internal/keystone"
)

// benchAccess reads how the cloud is reached: the same variables as the driver's.
func benchAccess() (orchestration.Access, error) {
	cloud, err := keystone.Credentials("")
	return orchestration.Access{
		Cloud: cloud, Zone: env("CATENA_OPENSTACK_ZONE", ""),
		FunctionImage: env("CATENA_OPENSTACK_IMAGE", "catena"), FunctionFlavor: env("CATENA_OPENSTACK_FLAVOR", "small"),
	}, err
}

// startBenchController runs the whole controller on OpenStack, with state, switch and
// addresses of its own. Close removes all of it.
func startBenchController(ctx context.Context, a orchestration.Access) (*orchestration.Endpoint, error) {
	dir, err := os.MkdirTemp("", "catena-bench-")
	if err != nil {
		return nil, err
	}
	// ACTIVE is what the cloud says, on all platforms; whether guests are ready is asked
	// afterwards.
	for name, value := range map[string]string{"CATENA_OPENSTACK_GUESTS": "false", "CATENA_OPENSTACK_NAME": env("CATENA_OPENSTACK_NAME", "bench")} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	p := &platform{options{
		paths: cli.Paths{State: dir, Run: dir}, mode: env("CATENA_MODE", "tc"), cloud: cloudOpenStack, node: env("CATENA_NODE", ""),
	}}
	for _, address := range []*string{&p.grpc, &p.http} {
		if *address, err = freeAddress(); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	if err := p.prepare(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	log, err := os.Create(cmp.Or(os.Getenv("CATENA_BENCH_LOG"), os.DevNull))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p.log = slog.New(slog.NewTextHandler(log, nil))
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- serve(ctx, &p.options, func() { close(ready) }) }()
	remove := func(err error) error {
		cancel()
		return errors.Join(err, p.purge(context.WithoutCancel(ctx), io.Discard), os.RemoveAll(dir), log.Close())
	}
	select {
	case <-ready:
	case err := <-ended:
		return nil, remove(err)
	}
	token, err := os.ReadFile(p.paths.TokenFile())
	if err != nil {
		cancel()
		return nil, remove(errors.Join(err, <-ended))
	}
	return &orchestration.Endpoint{GRPC: p.grpc, HTTP: p.http, Token: strings.TrimSpace(string(token)), Close: func() error {
		cancel()
		return remove(<-ended)
	}}, nil
}

// freeAddress finds a port on loopback that nobody listens at.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}
