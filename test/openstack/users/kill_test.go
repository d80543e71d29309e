package users

import (
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/test/openstack/deployment"
)

// TestKillAgent kills the process that is controller, agent and switch while real servers
// start on its ports. Its supervisor starts it again, and it finishes the service or rolls
// it back; then the service is deployed, if it is not, and deleted, and nothing is left.
func TestKillAgent(t *testing.T) {
	login(t, "", "guests")
	d := controller(t)
	const service = "usecase1"
	before := look(t, d)
	applied := make(chan string, 1)
	go func() {
		out, _ := command("bin/catena", "apply", "-f", "examples/"+service+".yaml", "--cloud", "openstack")
		applied <- out
	}()
	t.Cleanup(func() { _, _ = command("bin/catena", "delete", service) })
	eventually(t, "a tap on the switch", 5*time.Minute, func() (bool, string) {
		out, err := command("bin/catena", "switch", "ports")
		return err == nil && strings.Contains(out, "default/"+service+"/"), out
	})
	d.Kill(deployment.Controller)
	t.Logf("killed; apply ended so:\n%s", lastLine(<-applied))
	deployed := false
	eventually(t, "the service is whole or gone", 6*time.Minute, func() (bool, string) {
		out, err := command("bin/catena", "get", service)
		deployed = err == nil
		settled := deployed && strings.Contains(out, "service default/"+service+": ACTIVE") || strings.Contains(out, "not found")
		return settled, out
	})
	t.Logf("then it is deployed: %v", deployed)
	if !deployed {
		catena(t, "apply", "-f", "examples/"+service+".yaml")
	}
	catena(t, "delete", service)
	eventually(t, "after the deletion, cloud and host", 30*time.Second, func() (bool, string) {
		differences := before.differences(look(t, d))
		return len(differences) == 0, strings.Join(differences, "\n")
	})
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
