package e2e

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/netns"
)

// in runs a command inside a namespace and returns what it says.
func in(t *testing.T, ns *netns.NS, command ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Fatalf("%v; run scripts/install-deps test", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out strings.Builder
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := ns.Start(cmd); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	return out.String(), err
}

// secured is a service whose server web lets clients in, on port 80. webRules and
// clientNetwork are YAML.
func secured(webRules, clientNetwork string) string {
	return `
name: sg
networks:
  - {name: front, subnet: 10.71.1.0/24}
  - {name: back, subnet: 10.71.2.0/24}
routers:
  - {name: r, networks: [front, back]}
security_groups:
  - name: web
    rules: [` + webRules + `]
  - name: clients
    rules:
      - {direction: ingress, protocol: icmp, icmp_type: 8}
servers:
  - {name: web, networks: [{network: back, ip: 10.71.2.10}], security_groups: [web]}
  - {name: client, networks: [` + clientNetwork + `], security_groups: [clients]}
  - {name: stranger, networks: [{network: front, ip: 10.71.1.20}]}
`
}

const (
	letClientsIn = "{direction: ingress, protocol: tcp, ports: 80, remote_group: clients}"
	clientAlone  = "{network: front, ip: 10.71.1.10}"
	clientPair   = "{network: front, ip: 10.71.1.10, allowed_addresses: [10.71.1.77]}"
)

// TestSecurityGroups has real programs meet security groups: rules by group, answers,
// connections that outlive their rule, false addresses and address pairs.
func TestSecurityGroups(t *testing.T) {
	p := newPlatform(t)
	p.must("up", "--bare")
	p.mustInput(secured(letClientsIn, clientAlone), "apply", "-f", "-")
	web, client, stranger := p.instance("sg", "web"), p.instance("sg", "client"), p.instance("sg", "stranger")
	const webURL, strangerURL = "http://10.71.2.10/", "http://10.71.1.20/"

	p.answers(client, webURL)
	if connects(stranger, "10.71.2.10:80") {
		t.Error("a stranger gets in")
	}
	if connects(client, "10.71.2.10:81") {
		t.Error("a port that no rule is about is open")
	}
	p.answers(web, strangerURL) // a group without egress rules lets everything out
	p.answers(client, strangerURL)
	ping := func(from *netns.NS, to string) bool {
		out, _ := in(t, from, "busybox", "ping", "-c", "1", "-W", "1", to)
		return strings.Contains(out, " 1 packets received")
	}
	for _, x := range []struct {
		from *netns.NS
		name string
		to   string
		want bool
	}{{stranger, "stranger", "10.71.1.10", true}, {stranger, "stranger", "10.71.2.10", false}, {web, "web", "10.71.1.20", true}, {client, "client", "10.71.2.10", false}} {
		if ping(x.from, x.to) != x.want {
			t.Errorf("ping from %s to %s: not %t", x.name, x.to, x.want)
		}
	}

	// A false address, until it is an allowed one.
	if out, err := in(t, client, "ip", "addr", "add", "10.71.1.77/24", "dev", "eth0"); err != nil {
		t.Fatal(out)
	}
	as77 := func() bool {
		out, _ := in(t, client, "curl", "-s", "--max-time", "1", "--interface", "10.71.1.77", strangerURL)
		return strings.Contains(out, "stranger")
	}
	if as77() {
		t.Error("the client gets through with an address that is not its own")
	}
	if out := p.mustInput(secured(letClientsIn, clientPair), "apply", "-f", "-"); loaded.MatchString(out) {
		t.Errorf("a program was loaded for an address pair:\n%s", out)
	}
	if !as77() {
		t.Error("the client does not get through with an allowed address")
	}

	// A connection ends with the rule that allowed it, and goes on with the next one.
	conn, err := client.DialContext(t.Context(), "tcp", "10.71.2.10:80")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request := func(wait time.Duration) error { return ask(conn, wait) }
	if err := request(2 * time.Second); err != nil {
		t.Fatal(err)
	}
	p.mustInput(secured("", clientPair), "apply", "-f", "-")
	if err := request(500 * time.Millisecond); err == nil {
		t.Error("a connection outlives the rule that allowed it")
	}
	if connects(client, "10.71.2.10:80") {
		t.Error("a new connection needs no rule")
	}
	p.mustInput(secured(letClientsIn, clientPair), "apply", "-f", "-")
	if err := request(10 * time.Second); err != nil {
		t.Errorf("the connection does not go on: %v", err)
	}
	p.must("delete", "sg")
}

// ask does one GET over a connection that stays open.
func ask(conn net.Conn, wait time.Duration) error {
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodGet, "http://web/", nil)
	if err != nil {
		return err
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err
}
