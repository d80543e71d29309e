package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
)

// readManifest reads a service file; "-" is standard input.
func readManifest(cmd *cobra.Command, file string) (*catenav1.Manifest, error) {
	if file == "" {
		return nil, refuse("no file; give one with -f FILE (- for standard input)")
	}
	var text []byte
	var err error
	if file == "-" {
		file = "<stdin>"
		text, err = io.ReadAll(cmd.InOrStdin())
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, refuse("service file: %w", err)
	}
	return &catenav1.Manifest{Filename: file, Yaml: string(text)}, nil
}

// manifest reads a service file, for the project that --project names.
func (c *connection) manifest(cmd *cobra.Command, file string) (*catenav1.Manifest, error) {
	m, err := readManifest(cmd, file)
	if err == nil && c.set("project") {
		m.Project = c.project
	}
	return m, err
}

// ApplyCommand makes a service real.
func ApplyCommand() *cobra.Command {
	var conn connection
	var file, cloud string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "create a service, or change it to what the file says",
		Long: `Apply creates the service that the file describes, or changes it to what the file
says, and shows what happens until everything is ACTIVE. When something fails,
all that this call has made is removed again.`,
		Example: `  catena apply -f examples/shop.yaml
  catena apply -f examples/shop.yaml --json | jq .status
  sed s/10.10/10.9/g examples/shop.yaml | catena apply -f -
  catena apply -f examples/shop.yaml --cloud openstack
  catena apply -f examples/shop.yaml --os-cloud demo --address controller:7650 --tls-ca ca.pem`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, _ []string) error {
		m, err := conn.manifest(cmd, file)
		if err != nil {
			return err
		}
		if err := checkCloud(cmd, c, cloud); err != nil {
			return err
		}
		return apply(cmd, c, m, asJSON)
	})
	conn.flags(cmd)
	cmd.Flags().StringVar(&cloud, "cloud", "", "only if the controller works on this cloud: local or openstack")
	cmd.Flags().StringVarP(&file, "file", "f", "", "service file in YAML, - for standard input")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the events as JSON, one a line")
	return cmd
}

// checkCloud refuses to go on with a controller of another cloud than the one named.
func checkCloud(cmd *cobra.Command, c *clients, cloud string) error {
	if cloud == "" {
		return nil
	}
	v, err := c.platform.GetVersion(cmd.Context(), &catenav1.GetVersionRequest{})
	if err != nil {
		return err
	}
	if v.Cloud != cloud {
		return refuse("the controller works on cloud %s, not %s; start one with CATENA_CLOUD=%s, or name another with --address", v.Cloud, cloud, cloud)
	}
	return nil
}

func apply(cmd *cobra.Command, c *clients, m *catenav1.Manifest, asJSON bool) error {
	started := time.Now()
	stream, err := c.orchestrator.Apply(cmd.Context(), &catenav1.ApplyRequest{Desired: &catenav1.ApplyRequest_Manifest{Manifest: m}})
	if err != nil {
		return err
	}
	if err := follow(stream, shower(cmd.OutOrStdout(), asJSON)); err != nil {
		return err
	}
	if !asJSON {
		fmt.Fprintf(cmd.OutOrStdout(), "all ACTIVE after %s\n", duration(time.Since(started)))
	}
	return nil
}

// shower returns what shows events: progress, or JSON lines.
func shower(w io.Writer, asJSON bool) func(*catenav1.Event) error {
	if !asJSON {
		p := newProgress(w)
		return func(e *catenav1.Event) error {
			p.event(e)
			return nil
		}
	}
	return func(e *catenav1.Event) error {
		text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(e)
		if err != nil {
			return err
		}
		var v map[string]any
		if err := json.Unmarshal(text, &v); err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(v)
	}
}

// PlanCommand tells what apply would do.
func PlanCommand() *cobra.Command {
	var conn connection
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "plan -f FILE",
		Short:   "show the steps that apply would take, and take none",
		Example: "  catena plan -f examples/shop.yaml",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, args []string) error {
		if len(args) == 1 && file == "" {
			file = args[0]
		}
		m, err := conn.manifest(cmd, file)
		if err != nil {
			return err
		}
		plan, err := c.orchestrator.Plan(cmd.Context(), &catenav1.PlanRequest{Desired: &catenav1.PlanRequest_Manifest{Manifest: m}})
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(cmd.OutOrStdout(), plan)
		}
		if len(plan.GetSteps()) == 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "service %s/%s is as the file says; nothing to do\n", plan.GetProject(), plan.GetService())
			return nil
		}
		t := newTable(cmd.OutOrStdout(), "STEP", "KIND", "NAME", "AFTER", "WHY")
		for _, s := range plan.GetSteps() {
			t.row(s.GetAction(), s.GetKind(), s.GetName(), strings.Join(s.GetAfter(), " "), s.GetReason())
		}
		t.flush()
		return nil
	})
	conn.flags(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "service file in YAML, - for standard input")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// GetCommand shows services.
func GetCommand() *cobra.Command {
	var conn connection
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "get [SERVICE]",
		Short: "show the services, or one with all its objects",
		Example: `  catena get
  catena get shop
  catena get shop --json | jq '.objects[].name'`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, args []string) error {
		if len(args) == 1 {
			s, err := c.orchestrator.GetService(cmd.Context(), &catenav1.GetServiceRequest{Project: conn.project, Name: args[0]})
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), s)
			}
			showService(cmd.OutOrStdout(), s)
			return nil
		}
		project := conn.project
		if all {
			project = ""
		}
		l, err := c.orchestrator.ListServices(cmd.Context(), &catenav1.ListServicesRequest{Project: project})
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(cmd.OutOrStdout(), l)
		}
		t := newTable(cmd.OutOrStdout(), "PROJECT", "SERVICE", "STATUS", "NETWORKS", "SERVERS", "FUNCTIONS", "CHAINS")
		for _, s := range l.GetServices() {
			v := s.GetService()
			t.row(v.GetProject(), v.GetName(), statusWord(s.GetStatus()), len(v.GetNetworks()), len(v.GetServers()), len(v.GetFunctions()), len(v.GetChains()))
		}
		t.flush()
		return nil
	})
	conn.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVarP(&all, "all-projects", "A", false, "services of all projects")
	return cmd
}

func showService(w io.Writer, s *catenav1.ServiceState) {
	v := s.GetService()
	fmt.Fprintf(w, "service %s/%s: %s", v.GetProject(), v.GetName(), statusWord(s.GetStatus()))
	if s.GetMessage() != "" {
		fmt.Fprintf(w, " (%s)", s.GetMessage())
	}
	fmt.Fprintln(w)
	t := newTable(w, "KIND", "NAME", "STATUS", "ADDRESSES", "")
	for _, o := range s.GetObjects() {
		t.row(o.GetKind(), o.GetName(), statusWord(o.GetStatus()), strings.Join(o.GetAddresses(), " "), o.GetMessage())
	}
	t.flush()
}

// DeleteCommand removes services.
func DeleteCommand() *cobra.Command {
	var conn connection
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "delete SERVICE",
		Short:   "remove a service with everything that belongs to it",
		Example: "  catena delete shop",
		Args:    cobra.ExactArgs(1),
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, args []string) error {
		stream, err := c.orchestrator.DeleteService(cmd.Context(), &catenav1.DeleteServiceRequest{Project: conn.project, Name: args[0]})
		if err != nil {
			return err
		}
		return follow(stream, shower(cmd.OutOrStdout(), asJSON))
	})
	conn.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the events as JSON, one a line")
	return cmd
}

// WatchCommand shows events as they happen.
func WatchCommand() *cobra.Command {
	var conn connection
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "watch [SERVICE]",
		Short:   "show what happens to services from now on, until interrupted",
		Example: "  catena watch --json",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.RunE = withClients(&conn, func(cmd *cobra.Command, c *clients, args []string) error {
		req := &catenav1.WatchRequest{Project: conn.project}
		if len(args) == 1 {
			req.Service = args[0]
		}
		stream, err := c.orchestrator.Watch(cmd.Context(), req)
		if err == nil {
			err = follow(stream, shower(cmd.OutOrStdout(), asJSON))
		}
		if cmd.Context().Err() != nil {
			return nil // this is how it ends
		}
		return err
	})
	conn.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the events as JSON, one a line")
	return cmd
}
