package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
)

// Platform is the whole of Catena on this machine.
type Platform interface {
	// Check tells in one line what the machine lacks.
	Check() error
	// Own refuses when the controller that answers is that of another platform.
	Own() error
	// Start starts the controller in the background and returns when its API
	// answers; it does nothing when it runs already.
	Start(ctx context.Context) (started bool, err error)
	// Serve is the controller; it returns when the context ends.
	Serve(ctx context.Context) error
	// Stop ends the controller and removes whatever it and the services have left
	// on this machine, but for the cache.
	Stop(ctx context.Context, w io.Writer) error
	// Prober sends traffic from the instances of a service; nil where they are out of reach.
	Prober(project, service string) Prober
	// Addresses are the places of the APIs, by name, in the order to show them.
	Addresses() [][2]string
}

// UpCommand starts the platform, deploys a service and shows that it works.
func UpCommand(p Platform, example string) *cobra.Command {
	var conn connection
	var file string
	var foreground, bare bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "start the platform on this machine, deploy an example, send traffic through it",
		Long: `Up starts controller, store, agent and switch on this machine (its own cloud, or with
CATENA_CLOUD=openstack the OpenStack of OS_CLOUD),
deploys a service (examples/shop.yaml), sends real packets through its chain and
prints what happened. It ends, the platform stays; ` + "`catena down`" + ` removes it.`,
		Example: `  catena up
  catena up -f my-service.yaml
  catena up --bare            # only the platform, no service
  catena up --foreground      # stay, with the log on screen; ^C takes it down`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := p.Check(); err != nil {
			return refuse("%w", err)
		}
		if err := p.Own(); err != nil {
			return refuse("%w", err)
		}
		m := &catenav1.Manifest{Filename: "examples/shop.yaml", Yaml: example}
		if file != "" {
			var err error
			if m, err = readManifest(cmd, file); err != nil {
				return err
			}
		}
		if bare {
			m = nil
		}
		u := &up{cmd: cmd, w: cmd.OutOrStdout(), p: p, conn: &conn}
		if foreground {
			return u.foreground(m)
		}
		start := time.Now()
		started, err := p.Start(cmd.Context())
		if err != nil {
			return err
		}
		if started {
			fmt.Fprintf(u.w, "controller, store, switch and agent run after %s\n", duration(time.Since(start)))
		} else {
			fmt.Fprintln(u.w, "the platform runs already")
		}
		return u.deploy(m)
	}
	conn.flags(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "deploy this service instead of the example")
	cmd.Flags().BoolVar(&bare, "bare", false, "deploy nothing")
	cmd.Flags().BoolVar(&foreground, "foreground", false, "stay in the foreground, take everything down at the end")
	return cmd
}

type up struct {
	cmd  *cobra.Command
	w    io.Writer
	p    Platform
	conn *connection
}

// foreground serves in this process until it is interrupted, then takes all down.
func (u *up) foreground(m *catenav1.Manifest) error {
	ctx, cancel := context.WithCancel(u.cmd.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- u.p.Serve(ctx) }()
	err := u.wait(ctx, served)
	if err == nil {
		err = u.deploy(m)
	}
	if err == nil {
		fmt.Fprintln(u.w, "\nserving; ^C takes everything down")
		<-ctx.Done()
	}
	cancel()
	err = errors.Join(err, <-served)
	stop, done := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer done()
	return errors.Join(err, u.p.Stop(stop, u.w))
}

// wait waits until the API of the controller in this process answers.
func (u *up) wait(ctx context.Context, served chan error) error {
	c, err := u.conn.dial(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	for {
		if _, err := c.platform.GetVersion(ctx, &catenav1.GetVersionRequest{}); err == nil {
			return nil
		}
		select {
		case err := <-served:
			served <- nil
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// deploy applies the service, sends traffic and sums up.
func (u *up) deploy(m *catenav1.Manifest) error {
	c, err := u.conn.dial(u.cmd.Context())
	if err != nil {
		return err
	}
	defer c.close()
	ctx := u.cmd.Context()
	if m == nil {
		u.addresses()
		return nil
	}
	fmt.Fprintf(u.w, "\ndeploying %s\n", m.GetFilename())
	start := time.Now()
	stream, err := c.orchestrator.Apply(ctx, &catenav1.ApplyRequest{Desired: &catenav1.ApplyRequest_Manifest{Manifest: m}})
	if err != nil {
		return err
	}
	show := newProgress(u.w)
	var project, name string
	err = follow(stream, func(e *catenav1.Event) error {
		project, name = e.GetProject(), e.GetService()
		show.event(e)
		return nil
	})
	if err != nil {
		return err
	}
	took := time.Since(start)
	s, err := c.orchestrator.GetService(ctx, &catenav1.GetServiceRequest{Project: project, Name: name})
	if err != nil {
		return err
	}
	var sum outcome
	if prober := u.p.Prober(project, name); prober != nil {
		fmt.Fprintln(u.w, "\nsending traffic")
		sum = send(ctx, u.w, prober, probes(s))
	} else {
		fmt.Fprintln(u.w, "\nno traffic is sent: the instances are servers of a cloud, out of reach from here")
	}
	sw, err := c.sw.GetSwitch(ctx, &catenav1.GetSwitchRequest{})
	if err != nil {
		return err
	}
	u.summary(s, sw, sum, took)
	if sum.Failed > 0 {
		return fmt.Errorf("%d probes failed; the platform is left up to look at", sum.Failed)
	}
	return nil
}

func (u *up) summary(s *catenav1.ServiceState, sw *catenav1.SwitchState, sum outcome, took time.Duration) {
	fmt.Fprintln(u.w, "\nsummary")
	kinds := map[string]int{}
	var order []string
	for _, o := range s.GetObjects() {
		if kinds[o.GetKind()] == 0 {
			order = append(order, o.GetKind())
		}
		kinds[o.GetKind()]++
	}
	fmt.Fprintf(u.w, "  service %s/%s is %s:", s.GetService().GetProject(), s.GetService().GetName(), statusWord(s.GetStatus()))
	for i, k := range order {
		sep := ","
		if i == 0 {
			sep = ""
		}
		fmt.Fprintf(u.w, "%s %d %s", sep, kinds[k], plural(k, kinds[k]))
	}
	fmt.Fprintln(u.w)
	for _, n := range sw.GetNfs() {
		fmt.Fprintf(u.w, "  NF %-10s node %d: %s packets, %s bytes, %s dropped\n", n.GetNf(), n.GetNode(), quantity(n.GetPackets()), quantity(n.GetBytes()), quantity(n.GetDropped()))
	}
	fmt.Fprintf(u.w, "  %d HTTP answers, %d DNS answers, %d connections refused by the chain\n", sum.HTTPAnswers, sum.DNSAnswers, sum.Refused)
	u.addresses()
	fmt.Fprintf(u.w, "  from request to ACTIVE: %s\n", duration(took))
}

func (u *up) addresses() {
	for _, a := range u.p.Addresses() {
		fmt.Fprintf(u.w, "  %-12s %s\n", a[0], a[1])
	}
}

func plural(noun string, n int) string {
	if n == 1 {
		return noun
	}
	if noun == "switch" {
		return "switches"
	}
	return noun + "s"
}

// DownCommand stops the platform.
func DownCommand(p Platform) *cobra.Command {
	var conn connection
	cmd := &cobra.Command{
		Use:   "down",
		Short: "stop the platform and remove everything that it made on this machine",
		Long: `Down deletes all services, stops the controller, and removes what is left:
namespaces, links, pinned programs, processes, sockets. Only the cache of compiled
programs stays in the state directory.`,
		Example: "  catena down", Args: cobra.NoArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if os.Geteuid() != 0 {
			return refuse("root is needed (run it with sudo)")
		}
		if err := p.Own(); err != nil {
			return err
		}
		return errors.Join(deleteAll(cmd, &conn), p.Stop(cmd.Context(), cmd.OutOrStdout()))
	}
	conn.flags(cmd)
	return cmd
}

// deleteAll deletes all services, if there is a controller to ask.
func deleteAll(cmd *cobra.Command, conn *connection) error {
	c, err := conn.dial(cmd.Context())
	if err != nil {
		return err
	}
	defer c.close()
	ctx, cancel := context.WithTimeout(cmd.Context(), 60*time.Second)
	defer cancel()
	l, err := c.orchestrator.ListServices(ctx, &catenav1.ListServicesRequest{})
	if err != nil {
		return nil // no controller: Stop removes what is there
	}
	show := shower(cmd.OutOrStdout(), false)
	for _, s := range l.GetServices() {
		stream, err := c.orchestrator.DeleteService(ctx, &catenav1.DeleteServiceRequest{
			Project: s.GetService().GetProject(), Name: s.GetService().GetName(),
		})
		if err == nil {
			err = follow(stream, show)
		}
		if err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "service %s: %s; removing what is left\n", s.GetService().GetName(), Message(err))
		}
	}
	return nil
}
