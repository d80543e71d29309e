package users

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/cloud/openstack"
	"github.com/catena-nfv/catena/internal/keystone"
	"github.com/catena-nfv/catena/internal/mirror"
	"github.com/catena-nfv/catena/test/openstack/deployment"
)

// root is the folder of the repository.
const root = "../../.."

// command runs a program in the repository's folder, as a user does.
func command(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func catena(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command("bin/catena", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// decode reads what a command prints as JSON.
func decode(t *testing.T, text string, out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), out); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// state is what a service must leave as it was.
type state struct {
	cloud   openstack.Snapshot // the project's resources
	links   []string           // of the host
	entries map[string]int     // of the switch's maps
	tables  string             // of the switch
}

// look takes stock. Unless the tests have the cloud for themselves
// (CATENA_TEST_OPENSTACK_ALONE), only what the controller has marked counts, and the switch
// does not.
func look(t *testing.T, d *deployment.Deployment) state {
	t.Helper()
	cloud, err := keystone.Credentials("")
	if err != nil {
		t.Fatal(err)
	}
	session, err := openstack.Connect(t.Context(), openstack.SessionConfig{Cloud: cloud})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var s state
	if s.cloud, err = session.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("CATENA_TEST_OPENSTACK_ALONE") == "" {
		s.cloud = s.cloud.Only("catena")
		return s
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		s.links = append(s.links, l.Name)
	}
	slices.Sort(s.links)
	s.entries, s.tables = d.Entries(), catena(t, "switch", "tables")
	return s
}

// differences tells what is not as it was. Tables of an NF stay in the program when the
// last chain that uses it is gone, so a table that is new and empty is none.
func (s state) differences(now state) []string {
	out := s.cloud.Diff(now.cloud)
	if !slices.Equal(s.links, now.links) {
		out = append(out, fmt.Sprintf("the host's links are %v and were %v", now.links, s.links))
	}
	names := maps.Clone(s.entries)
	maps.Copy(names, now.entries)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if s.entries[name] != now.entries[name] {
			out = append(out, fmt.Sprintf("map %s has %d entries and had %d", name, now.entries[name], s.entries[name]))
		}
	}
	for _, line := range strings.Split(now.tables, "\n") {
		if line != "" && !strings.Contains(line, ": 0 entries") && !strings.Contains(s.tables, line) {
			out = append(out, "the switch's tables have "+line)
		}
	}
	return out
}

// TestTwoCommands is `make openstack && catena apply -f examples/shop.yaml --cloud openstack`,
// with real servers: what the service says of itself, what the cloud says of it, HTTP
// through the chain, what the chain refuses, its counters; and that `catena delete` leaves
// cloud and host as they were.
func TestTwoCommands(t *testing.T) {
	user := login(t, "", "guests")
	d := controller(t)
	if os.Getenv("CATENA_TEST_OPENSTACK_ALONE") != "" {
		if _, err := command("make", "openstack"); err != nil {
			t.Fatal(err)
		}
	}
	before := look(t, d)
	begun := time.Now()
	out := catena(t, "apply", "-f", "examples/shop.yaml", "--cloud", "openstack")
	deleted := false
	t.Cleanup(func() {
		if !deleted {
			_, _ = command("bin/catena", "delete", "shop")
		}
	})
	t.Logf("ACTIVE after %s", time.Since(begun).Round(100*time.Millisecond))
	if !strings.Contains(out, "all ACTIVE") {
		t.Errorf("apply:\n%s", out)
	}
	var shop struct {
		Objects []struct {
			Kind, Name, Status, ID string
			Addresses              []string
		}
	}
	decode(t, catena(t, "get", "shop", "--json"), &shop)
	addresses := map[string]string{} // of servers and functions
	networks := map[string]bool{}
	for _, o := range shop.Objects {
		if o.Status != "ACTIVE" {
			t.Errorf("%s %s is %s", o.Kind, o.Name, o.Status)
		}
		switch o.Kind {
		case "server", "function":
			addresses[o.Name], _, _ = strings.Cut(o.Addresses[0], "/")
		case "network":
			networks[o.Name] = true
		}
	}
	sameInCloud(t, addresses, networks)

	network := user.networkID("shop", "front")
	asking := user.boot("asking", network, "", "default", ask([][2]string{
		{"lb", "curl -fs -m 5 http://" + addresses["lb"] + "/"},
		{"fw", "curl -fs -m 5 http://" + addresses["fw"] + "/"},
		{"web-1", "curl -fs -m 5 http://" + addresses["web-1"] + "/"},
		{"both", `test "$(for i in 1 2 3 4; do curl -fs -m 5 http://` + addresses["lb"] + `/ | grep -o 'web-[12]'; done | sort -u | wc -l)" = 2`},
		{"dns", "nslookup www.shop.internal " + addresses["dns"]},
		{"ping", "ping -c 1 -W 3 " + addresses["web-2"]},
		{"ssh", "nc -z -w 3 " + addresses["web-1"] + " 22"},
		{"telnet", "nc -z -w 3 " + addresses["web-2"] + " 23"},
		{"fw-81", "nc -z -w 3 " + addresses["fw"] + " 81"},
	}))
	user.active("asking", asking)
	user.round("the client", asking, 5*time.Minute,
		"lb=yes fw=yes web-1=yes both=yes dns=yes ping=yes ssh=no telnet=no fw-81=no", 0)
	counted(t)

	user.remove(user.compute, "servers/"+asking)
	user.gone(asking)
	catena(t, "delete", "shop")
	deleted = true
	// The switch and the host follow Neutron within a moment.
	eventually(t, "after the deletion, cloud and host", 30*time.Second, func() (bool, string) {
		differences := before.differences(look(t, d))
		return len(differences) == 0, strings.Join(differences, "\n")
	})
	for _, o := range shop.Objects {
		for _, link := range []string{mirror.LinkName(o.ID), mirror.BridgeName(o.ID)} {
			if _, err := net.InterfaceByName(link); err == nil {
				t.Errorf("link %s of %s %s is left", link, o.Kind, o.Name)
			}
		}
	}
}

// sameInCloud compares what the service has with what OpenStack's command line lists.
func sameInCloud(t *testing.T, addresses map[string]string, networks map[string]bool) {
	t.Helper()
	list := func(what string) []map[string]any {
		t.Helper()
		out, err := command("/usr/bin/openstack", what, "list", "-f", "json")
		if err != nil {
			t.Fatal(err)
		}
		var rows []map[string]any
		decode(t, out, &rows)
		return rows
	}
	servers := map[string]string{}
	for _, row := range list("server") {
		servers[fmt.Sprint(row["Name"])] = fmt.Sprint(row["Status"], " ", row["Networks"])
	}
	for name, address := range addresses {
		if got := servers[name]; !strings.HasPrefix(got, "ACTIVE ") || !strings.Contains(got, address) {
			t.Errorf("openstack server list: %s is %q; it is ACTIVE at %s", name, got, address)
		}
	}
	listed := map[string]bool{}
	for _, row := range list("network") {
		listed[fmt.Sprint(row["Name"])] = true
	}
	for name := range networks {
		if !listed[name] {
			t.Errorf("openstack network list has no %s: %v", name, listed)
		}
	}
}

// counted looks that the chain's NFs have seen packets, and that the firewall has refused some.
func counted(t *testing.T) {
	t.Helper()
	var s struct {
		NFs []struct {
			NF               string
			Packets, Dropped string
		}
		Chains []struct{ Packets string }
	}
	decode(t, catena(t, "switch", "nfs", "--json"), &s)
	seen := map[string]bool{}
	for _, nf := range s.NFs {
		seen[nf.NF] = nf.Packets != "0"
		if nf.NF == "Firewall" && nf.Dropped == "0" {
			t.Error("the chain's firewall has refused nothing")
		}
	}
	for _, nf := range []string{"IDS", "Firewall", "NAT", "L3fwd"} {
		if !seen[nf] {
			t.Errorf("NF %s has seen no packet", nf)
		}
	}
}

// networkID finds a network of a service by its name: others may have the same.
func (r *rig) networkID(service, name string) string {
	r.t.Helper()
	query := url.Values{"fields": {"id"}, "name": {name}, "description": {"catena service default/" + service}}
	out, err := r.call(r.network, http.MethodGet, "networks?"+query.Encode(), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	all := out["networks"].([]any)
	if len(all) != 1 {
		r.t.Fatalf("there are %d networks %q", len(all), name)
	}
	return all[0].(object)["id"].(string)
}
