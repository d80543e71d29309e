package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/catena-nfv/catena/internal/cloud/openstack/watch"
	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/internal/service"
)

// Config of a driver. Only Cloud must be set.
type Config struct {
	// Cloud is where the cloud is, and as whom to use it.
	Cloud keystone.Cloud
	// Instance tells what this controller makes from what others make in the same
	// project; "catena" by default. It begins tags and descriptions.
	Instance string
	// Zone is the availability zone of servers, or ZONE:HOST, which only an
	// administrator may ask for. Empty: the cloud decides.
	Zone string
	// Node is the node whose switch has the ports: by default the host that Zone
	// names, otherwise this machine.
	Node string
	// FunctionImage and FunctionFlavor are what functions run on; "catena" and "small"
	// by default.
	FunctionImage, FunctionFlavor string
	// KeyPair is put into servers, if set.
	KeyPair string
	// SecurityGroup is the name of the group that the ports of servers get. Empty: port
	// security is off on them. On ports of functions, which forward what others send, it
	// is off in any case.
	SecurityGroup string
	// Guests says that something runs in servers (it does not with Nova's fake driver):
	// an instance counts as ACTIVE when its guest says that it is ready, provided that
	// its image has the property catena_guest.
	Guests bool
	// Parallel bounds the requests that run at the same time; default 8.
	Parallel int
	// Outage is how long an API may fail before that is an error; default 1 minute.
	Outage time.Duration
	// Notifications is the URL of the message queue where Nova notifies (amqp://…);
	// without it, or while it cannot be reached, servers are listed instead.
	Notifications string
	// Trace records the requests, if set.
	Trace *Trace
	// Log is slog.Default() by default.
	Log *slog.Logger
}

func (cfg *Config) complete() error {
	cfg.Instance = cmp.Or(cfg.Instance, "catena")
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`).MatchString(cfg.Instance) {
		return fmt.Errorf("the controller's name %q is not made of 1 to 40 letters, digits, - and _", cfg.Instance)
	}
	if _, host, pinned := strings.Cut(cfg.Zone, ":"); pinned {
		cfg.Node = cmp.Or(cfg.Node, host)
	}
	if cfg.Node == "" {
		name, err := os.Hostname()
		if err != nil {
			return err
		}
		cfg.Node = name
	}
	cfg.FunctionImage = cmp.Or(cfg.FunctionImage, "catena")
	cfg.FunctionFlavor = cmp.Or(cfg.FunctionFlavor, "small")
	cfg.Parallel = cmp.Or(cfg.Parallel, 8)
	cfg.Outage = cmp.Or(cfg.Outage, time.Minute)
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	return nil
}

// deleteTimeout bounds a deletion, which goes on when its context has ended.
const deleteTimeout = 3 * time.Minute

// busyPatience is how long a deletion waits for what stands in its way. A Neutron under
// load has refused to delete a network for 55 s after its last port was gone.
const busyPatience = 2 * time.Minute

// Cloud is the driver. Its methods may be called at the same time for different objects.
type Cloud struct {
	cfg     Config
	session *Session
	marks   marks
	ports   *batch[portRequest, port]
	watch   *watch.Watch
	console console
	catalog catalog
	close   context.CancelFunc
	running sync.WaitGroup

	maxMTU atomic.Int64 // 0: not known

	mu    sync.Mutex
	known map[service.Owner]*known
}

// New logs in. It makes nothing; what an earlier driver left is found in the cloud.
func New(ctx context.Context, cfg Config) (*Cloud, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("openstack: %w", err)
	}
	session, err := Connect(ctx, SessionConfig{Cloud: cfg.Cloud, Parallel: cfg.Parallel, Outage: cfg.Outage, Trace: cfg.Trace})
	if err != nil {
		return nil, fmt.Errorf("openstack: %w", err)
	}
	c := &Cloud{cfg: cfg, session: session, marks: marks{cfg.Instance}, known: map[service.Owner]*known{}}
	c.console = console{session: session, first: bootTime, limit: rate.NewLimiter(consoleRate, 2)}
	c.catalog.session = session
	c.ports = &batch[portRequest, port]{lanes: portLanes, pick: nextPorts, do: c.postPorts}
	c.watch = watch.New(watch.Config{List: session.serverList, Patience: cfg.Outage})
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.close = cancel
	if cfg.Notifications != "" {
		c.running.Go(func() { c.follow(background, cfg.Notifications) })
	}
	return c, nil
}

// Close ends the driver; what it made stays.
func (c *Cloud) Close() error {
	c.close()
	c.running.Wait()
	c.session.Close()
	return nil
}

// Delete removes all objects of that kind and name, and what would keep them from going.
func (c *Cloud) Delete(ctx context.Context, o service.Owner, kind service.Kind, name string) error {
	// A rollback happens because a context has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deleteTimeout)
	defer cancel()
	var err error
	switch kind {
	case service.KindNetwork:
		err = c.deleteNetwork(ctx, o, name)
	case service.KindRouter:
		err = c.deleteRouter(ctx, o, name)
	case service.KindPort:
		err = c.deletePort(ctx, o, name)
	case service.KindServer, service.KindFunction:
		err = c.deleteServer(ctx, o, kind, name)
	case service.KindSecurityGroup:
		err = c.deleteSecurityGroup(ctx, o, name)
	case service.KindSecurityRules: // the cloud removes them with their group
	case service.KindKeyPair:
		err = c.deleteKeyPair(ctx, o, name)
	case service.KindFloatingIP:
		err = c.deleteFloatingIP(ctx, o, name)
	default:
		err = errors.New("OpenStack has no objects of this kind")
	}
	if err == nil {
		c.forget(o, key{kind, name})
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
