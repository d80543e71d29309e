// Package deployment reaches the parts of the cloud that deploy/openstack made on this
// machine: its supervised services, its database, and its administrator's command line.
// Tests use it to break what no client of an API could break.
package deployment

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/keystone"
)

// Deployment is the cloud of this machine.
type Deployment struct {
	t     *testing.T
	State string // CATENA_OPENSTACK_STATE
}

// Find skips the test when the cloud that the environment names (OS_CLOUD …) is not one
// that deploy/openstack made here.
func Find(t *testing.T) *Deployment {
	t.Helper()
	d := &Deployment{t: t, State: cmp.Or(os.Getenv("CATENA_OPENSTACK_STATE"), "/var/lib/catena-openstack")}
	if _, err := os.Stat(d.State + "/service"); err != nil {
		t.Skipf("deploy/openstack has made no cloud on this machine: %v", err)
	}
	cloud, err := keystone.Credentials("")
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(cloud.Auth.IdentityEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.ReadFile(filepath.Join(d.State, "service", "keystone", "run"))
	if err != nil || !strings.Contains(string(run), " "+at.Host+" ") {
		t.Skipf("the cloud at %s is not the one in %s (%v)", at.Host, d.State, err)
	}
	return d
}

// With gives the deployment to a subtest.
func (d *Deployment) With(t *testing.T) *Deployment { return &Deployment{t, d.State} }

// PID is the process of a supervised service; 0: it does not run at this moment.
func (d *Deployment) PID(service string) int {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.State, "service", service, "supervise", "pid"))
	if err != nil {
		d.t.Fatal(err)
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// Kill ends a service as a power failure does (SIGKILL); its supervisor starts it again.
// Workers that it has forked end with it, or a moment later.
func (d *Deployment) Kill(service string) {
	d.t.Helper()
	pid := d.PID(service)
	if pid == 0 {
		d.t.Fatalf("%s does not run", service)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		d.t.Fatalf("kill %s (%d): %v", service, pid, err)
	}
}

// Has tells whether the deployment runs a service.
func (d *Deployment) Has(service string) bool {
	_, err := os.Stat(filepath.Join(d.State, "service", service, "supervise"))
	return err == nil
}

// Broken takes a table of a database away while it runs do: whoever asks the service that
// it belongs to hears of an internal error (500).
func (d *Deployment) Broken(database, table string, do func()) {
	d.t.Helper()
	name := database + "." + table
	if err := d.SQL("rename table " + name + " to " + name + "_away"); err != nil {
		d.t.Fatal(err)
	}
	defer func() {
		d.t.Helper()
		if err := d.SQL("rename table " + name + "_away to " + name); err != nil {
			d.t.Errorf("the cloud stays broken: %v", err)
		}
	}()
	do()
}

// SetQuota limits the project of the user that the environment names until the test ends.
func (d *Deployment) SetQuota(resource string, limit int) {
	d.t.Helper()
	cloud, err := keystone.Credentials("")
	if err != nil {
		d.t.Fatal(err)
	}
	project := cmp.Or(cloud.Auth.Scope.ProjectName, cloud.Auth.TenantName)
	set := func(value string) { d.MustAdmin("quota", "set", "--force", "--"+resource, value, project) }
	was := strings.TrimSpace(d.MustAdmin("quota", "show", "-f", "value", "-c", resource, project))
	set(strconv.Itoa(limit))
	d.t.Cleanup(func() { set(was) })
}

// SQL runs statements as the database's administrator.
func (d *Deployment) SQL(statements string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "mariadb", "--socket="+d.State+"/run/mysql.sock", "-e", statements).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", statements, err, bytes.TrimSpace(out))
	}
	return nil
}

// Admin runs the OpenStack command line as the cloud's administrator.
func (d *Deployment) Admin(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/openstack", args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "OS_CLIENT_CONFIG_FILE="+d.State+"/clouds.yaml", "OS_CLOUD=admin")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("openstack %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

// MustAdmin is Admin for what cannot fail.
func (d *Deployment) MustAdmin(args ...string) string {
	d.t.Helper()
	out, err := d.Admin(args...)
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}
