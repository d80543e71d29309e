package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/catena-nfv/catena/internal/cloud/local"
	"github.com/catena-nfv/catena/internal/cloud/openstack"
	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/service"
)

// The cloud drivers.
const (
	cloudLocal     = "local"
	cloudOpenStack = "openstack"
)

// On OpenStack a server takes longer, above all when many start on a small host, and a
// port's link appears only with its server.
const openstackPatience = 10 * time.Minute

func checkCloud(name string) error {
	if name != cloudLocal && name != cloudOpenStack {
		return refuse("cloud %q is unknown: use %s or %s", name, cloudLocal, cloudOpenStack)
	}
	return nil
}

// cloudDriver is a driver with what `catena down` needs.
type cloudDriver interface {
	orch.Cloud
	Purge(context.Context) error
	Close() error
}

// openCloud opens the driver, and remembers which one the state directory is for.
func openCloud(ctx context.Context, o *options) (cloudDriver, error) {
	used, err := o.usedCloud()
	if err != nil {
		return nil, err
	}
	if used != o.cloud {
		return nil, fmt.Errorf("the services in %s run on cloud %s, not %s; end them with `catena down` first, or set CATENA_STATE to another folder", o.paths.State, used, o.cloud)
	}
	log := o.log.With("part", "cloud")
	var driver cloudDriver
	if o.cloud == cloudLocal {
		driver, err = local.New(local.Config{StateDir: o.cloudDir(), FillChecksums: o.mode == string(ebpf.XDP), Log: log})
	} else {
		var cfg openstack.Config
		if cfg, err = openstackConfig(o.node); err == nil {
			cfg.Log = log
			driver, err = openstack.New(ctx, cfg)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(o.cloudFile(), []byte(o.cloud+"\n"), 0o644); err != nil {
		return nil, errors.Join(err, driver.Close())
	}
	return driver, nil
}

func (o *options) cloudFile() string { return filepath.Join(o.paths.State, "cloud.driver") }

// usedCloud is the cloud that the state directory was last used for, else the one that
// is asked for.
func (o *options) usedCloud() (string, error) {
	text, err := os.ReadFile(o.cloudFile())
	if errors.Is(err, os.ErrNotExist) {
		return o.cloud, nil
	}
	return strings.TrimSpace(string(text)), err
}

// openstackConfig reads the environment; see docs/operations.md.
func openstackConfig(node string) (openstack.Config, error) {
	cloud, err := keystone.Credentials("")
	if err != nil {
		return openstack.Config{}, err
	}
	cfg := openstack.Config{
		Cloud: cloud, Node: node,
		Instance:       env("CATENA_OPENSTACK_NAME", ""),
		Zone:           env("CATENA_OPENSTACK_ZONE", ""),
		FunctionImage:  env("CATENA_OPENSTACK_IMAGE", ""),
		FunctionFlavor: env("CATENA_OPENSTACK_FLAVOR", ""),
		KeyPair:        env("CATENA_OPENSTACK_KEYPAIR", ""),
		SecurityGroup:  env("CATENA_OPENSTACK_SECURITY_GROUP", ""),
		Notifications:  env("CATENA_OPENSTACK_NOTIFICATIONS", ""),
	}
	if cfg.Guests, err = openstackGuests(); err != nil {
		return cfg, err
	}
	if text := env("CATENA_OPENSTACK_PARALLEL", ""); text != "" {
		if cfg.Parallel, err = strconv.Atoi(text); err != nil || cfg.Parallel < 1 {
			return cfg, refuse("CATENA_OPENSTACK_PARALLEL=%q: give the number of requests at a time, from 1 on", text)
		}
	}
	return cfg, nil
}

// openstackGuests tells whether something runs in the cloud's servers: with Nova's fake
// driver nothing does, and ports never get a link.
func openstackGuests() (bool, error) {
	text := env("CATENA_OPENSTACK_GUESTS", "true")
	yes, err := strconv.ParseBool(text)
	if err != nil {
		return false, refuse("CATENA_OPENSTACK_GUESTS=%q: use true or false", text)
	}
	return yes, nil
}

func (o *options) linkTimeout() time.Duration {
	if o.cloud == cloudOpenStack {
		return openstackPatience
	}
	return 0
}

// adapt gives the orchestrator what the cloud needs beside its driver.
func (o *options) adapt(cfg *orch.Config) {
	if o.cloud != cloudOpenStack {
		return
	}
	cfg.StepTimeout = openstackPatience
	cfg.TrustFor = openstackTrust
	// The driver bounds its requests itself. A bound of steps would fill with ports that
	// wait for the links of servers that wait for a place.
	cfg.Parallel = 4096
	if guests, err := openstackGuests(); err == nil && !guests {
		cfg.Node = noLinks{}
	}
}

// openstackTrust: a look at all that a service has is five calls, which a cloud that is
// still busy with what it just made answers slowly.
const openstackTrust = 30 * time.Second

// noLinks is the node of a cloud whose ports have no links.
type noLinks struct{}

func (noLinks) Attach(context.Context, service.Owner, uint32, service.Port) error { return nil }
func (noLinks) Detach(context.Context, service.Owner, string) error               { return nil }
