package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/catena-nfv/catena/internal/cli"
	"github.com/catena-nfv/catena/internal/cloud/local"
	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

// serveCommand runs the controller in the foreground.
func serveCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "run the controller, with the switch and agent of this node, until interrupted",
		Long: `Serve runs in the foreground and logs to standard error: the gRPC and REST APIs, the
store, the driver of the cloud, the agent and the switch with its P4Runtime server. What
it deployed stays when it ends, and is taken up again when it starts.`,
		Example: `  catena serve --debug
  catena serve --etcd http://10.0.0.5:2379
  OS_CLOUD=demo catena serve --cloud openstack --keystone http://keystone:5000/v3`, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkMachine(); err != nil {
				return err
			}
			if err := o.prepare(); err != nil {
				return err
			}
			return serve(cmd.Context(), &o, func() { o.log.Info("ready", "grpc", o.grpc, "http", o.http) })
		},
	}
	o.flags(cmd.Flags())
	return cmd
}

// platform is everything on this machine: the same binary in the background.
type platform struct{ options }

func newPlatform() *platform {
	p := &platform{}
	p.paths = cli.DefaultPaths()
	p.grpc, p.http = env("CATENA_GRPC", "127.0.0.1:7650"), env("CATENA_HTTP", "127.0.0.1:7651")
	p.mode, p.cloud = env("CATENA_MODE", "tc"), env("CATENA_CLOUD", cloudLocal)
	p.keystone = env("CATENA_KEYSTONE", "")
	return p
}

// checkMachine tells in one line what the machine lacks.
func checkMachine() error {
	if err := local.CheckMachine(local.Programs()...); err != nil {
		return &cli.ExitError{Code: cli.ExitRefused, Err: err}
	}
	return nil
}

func (p *platform) Check() error { return checkMachine() }

func (p *platform) Serve(ctx context.Context) error {
	if err := p.prepare(); err != nil {
		return err
	}
	return serve(ctx, &p.options, func() {})
}

// Start starts the controller as a process of its own session.
func (p *platform) Start(ctx context.Context) (bool, error) {
	if err := p.prepare(); err != nil {
		return false, err
	}
	if pid, err := p.runningPID(); err != nil || pid != 0 {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(p.logFile()), 0o755); err != nil {
		return false, err
	}
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return false, err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	cmd := exec.Command(self, "serve", "--mode", p.mode, "--cloud", p.cloud)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return false, fmt.Errorf("controller: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := p.waitReady(ctx, ended); err != nil {
		// Nothing half-started stays.
		_ = cmd.Process.Signal(syscall.SIGTERM)
		return false, err
	}
	return true, nil
}

const startTimeout = 30 * time.Second

func (p *platform) waitReady(ctx context.Context, ended chan error) error {
	conn, err := grpc.NewClient("unix://"+p.paths.Socket(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second}))
	if err != nil {
		return err
	}
	defer conn.Close()
	api := catenav1.NewPlatformClient(conn)
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		if _, err := os.Stat(p.paths.Socket()); err == nil {
			_, err := api.GetVersion(ctx, &catenav1.GetVersionRequest{})
			if err == nil {
				return nil
			}
			conn.ResetConnectBackoff()
		}
		select {
		case <-ended:
			return fmt.Errorf("the controller did not start:\n%s", p.lastLog())
		case <-ctx.Done():
			return fmt.Errorf("the controller does not answer after %s; its log is %s", startTimeout, p.logFile())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// lastLog returns the end of the controller's log.
func (p *platform) lastLog() string {
	text, err := os.ReadFile(p.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-5):], "\n  ")
}

// Stop ends the controller and removes what is left of it and of the services.
func (p *platform) Stop(ctx context.Context, w io.Writer) error {
	pid, err := p.runningPID()
	if err != nil {
		return err
	}
	if pid != 0 && pid != os.Getpid() {
		if err := p.end(ctx, pid); err != nil {
			return err
		}
		fmt.Fprintln(w, "controller stopped")
	}
	return p.purge(ctx, w)
}

// end asks a process to end, and makes it after a while.
func (p *platform) end(ctx context.Context, pid int) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("controller (process %d): %w", pid, err)
	}
	kill := time.After(15 * time.Second)
	for {
		if now, err := p.runningPID(); err != nil || now != pid {
			return err
		}
		select {
		case <-kill:
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("controller (process %d): %w", pid, err)
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// purge removes namespaces, processes, links, pinned programs and state.
func (p *platform) purge(ctx context.Context, w io.Writer) error {
	if _, err := os.Stat(p.paths.State); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintln(w, "nothing was running")
		return nil
	}
	var errs []error
	p.log = slog.New(slog.DiscardHandler)
	var err error
	if p.cloud, err = p.usedCloud(); err != nil {
		return err
	}
	cloud, err := openCloud(ctx, &p.options)
	if err != nil {
		return err
	}
	errs = append(errs, cloud.Purge(ctx), cloud.Close())
	sw, err := dataplane.OpenSwitch(dataplane.SwitchConfig{Name: p.switchName(), StateFile: filepath.Join(p.paths.State, "switch.json")})
	if err != nil {
		errs = append(errs, err)
	} else {
		errs = append(errs, sw.Destroy())
	}
	for _, f := range []string{p.storeDir(), p.cloudDir()} {
		errs = append(errs, os.RemoveAll(f))
	}
	for _, name := range []string{"agent.json", "cloud.driver", "p4runtime.journal", "controller.lock"} {
		if err := os.Remove(filepath.Join(p.paths.State, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	// Files that a controller was killed over before they got their names.
	unfinished, _ := filepath.Glob(filepath.Join(p.paths.State, ".tmp-*"))
	for _, f := range unfinished {
		errs = append(errs, os.Remove(f))
	}
	errs = append(errs, os.RemoveAll(p.paths.Run))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	kept := "the cache and the log"
	if files, _ := filepath.Glob(filepath.Join(p.nfDir(), "*.p4")); len(files) > 0 {
		kept += " and imported NFs"
	}
	fmt.Fprintf(w, "nothing is left but %s in %s\n", kept, p.paths.State)
	return nil
}

// Addresses are where the APIs are.
func (p *platform) Addresses() [][2]string {
	return [][2]string{
		{"gRPC", p.grpc + " and unix://" + p.paths.Socket()},
		{"REST", "http://" + p.http + "/v1/services"},
		{"UI", "http://" + p.http + "/" + p.tokenFragment()},
		{"OpenAPI", "http://" + p.http + "/openapi.json"},
		{"P4Runtime", "unix://" + p.paths.P4RuntimeSocket()},
		{"token", p.paths.TokenFile()},
	}
}

// tokenFragment lets a browser in: the page takes the token out of its address. Who
// can read this can read the token's file.
func (p *platform) tokenFragment() string {
	text, err := os.ReadFile(p.paths.TokenFile())
	if err != nil {
		return ""
	}
	token, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return "#token=" + url.QueryEscape(token)
}

// Prober sends traffic from namespaces of the local cloud.
func (p *platform) Prober(project, svc string) cli.Prober {
	if p.cloud != cloudLocal {
		return nil
	}
	return prober{dir: p.cloudDir(), owner: service.Owner{Project: project, Service: svc}}
}

type prober struct {
	dir   string
	owner service.Owner
}

func (p prober) in(instance string, do func(*netns.NS) error) error {
	ns, err := local.OpenInstance(local.Config{StateDir: p.dir}, p.owner, instance)
	if err != nil {
		return err
	}
	defer ns.Close()
	return do(ns)
}

func (p prober) HTTP(ctx context.Context, from, url string) (answered string, status int, err error) {
	err = p.in(from, func(ns *netns.NS) error {
		a, err := local.GetHTTP(ctx, ns, url)
		answered, status = a.Server, a.Status
		return err
	})
	return answered, status, err
}

func (p prober) TCP(ctx context.Context, from string, to netip.AddrPort) error {
	return p.in(from, func(ns *netns.NS) error { return local.DialTCP(ctx, ns, to) })
}

func (p prober) DNS(ctx context.Context, from string, server netip.AddrPort, name string) (addrs []netip.Addr, err error) {
	err = p.in(from, func(ns *netns.NS) error {
		addrs, err = local.LookupA(ctx, ns, server, name)
		return err
	})
	return addrs, err
}
