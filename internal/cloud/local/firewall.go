package local

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

const rulesetFile = "firewall.nft"

// firewall fills in an instance that filters with nftables what reaches and what
// crosses it. There is no process: the kernel holds the ruleset.
func firewall(inst *instance, spec service.FirewallSpec) {
	inst.files = map[string]string{rulesetFile: firewallRuleset(spec)}
	inst.setUp = func(ctx context.Context, ns *netns.NS, dir string) error {
		// A one-armed router must not tell its neighbours to go around it.
		err := ns.Do(func() error {
			for file, value := range map[string]string{
				"ip_forward": "1", "conf/all/send_redirects": "0", "conf/default/send_redirects": "0",
			} {
				if err := netns.Sysctl("net/ipv4/"+file, value); err != nil {
					return err
				}
			}
			for i := range inst.ports {
				if err := netns.Sysctl(fmt.Sprintf("net/ipv4/conf/eth%d/send_redirects", i), "0"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return runInside(ctx, ns, dir, "nft", "-f", rulesetFile)
	}
}

// firewallRuleset writes the whole ruleset as one nftables transaction: it takes
// the place of an earlier one between two packets, and connections stay.
//
// Rules see a packet as its sender made it: a published port is translated
// before filtering, so destinations are those of connection tracking's original
// direction.
func firewallRuleset(spec service.FirewallSpec) string {
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		b.WriteString(strings.Repeat("\t", indent))
		fmt.Fprintf(&b, format, args...)
		b.WriteByte('\n')
	}
	line(0, "table inet catena")
	line(0, "delete table inet catena")
	line(0, "table inet catena {")
	line(1, "chain decide {")
	line(2, "ct state established,related accept")
	line(2, `ct state invalid counter drop comment "invalid"`)
	for i, r := range spec.Rules {
		line(2, `%scounter %s comment "rule %d"`, firewallMatch(r), r.Action, i+1)
	}
	if len(spec.Publish) > 0 {
		line(2, `ct status dnat counter accept comment "published"`)
	}
	policy := spec.Policy
	if policy == "" {
		policy = "drop"
	}
	line(2, `counter %s comment "policy"`, policy)
	line(1, "}")
	line(1, "chain input {")
	line(2, "type filter hook input priority filter; policy drop;")
	line(2, `iifname "lo" accept`)
	line(2, "goto decide")
	line(1, "}")
	line(1, "chain forward {")
	line(2, "type filter hook forward priority filter; policy drop;")
	line(2, "goto decide")
	line(1, "}")
	if len(spec.Publish) > 0 {
		line(1, "chain publish {")
		line(2, "type nat hook prerouting priority dstnat; policy accept;")
		for _, p := range spec.Publish {
			protocol := p.Protocol
			if protocol == "" {
				protocol = "tcp"
			}
			line(2, `fib daddr type local %s dport %d dnat ip to %s comment "%s"`, protocol, p.Port, p.To.Addr, p.To.Name)
		}
		line(1, "}")
		// The target's way back leads to its router or straight to the client, not
		// through here; with our address as the source it does.
		line(1, "chain comeback {")
		line(2, "type nat hook postrouting priority srcnat; policy accept;")
		line(2, "ct status dnat masquerade")
		line(1, "}")
	}
	line(0, "}")
	return b.String()
}

// firewallMatch writes the conditions of a rule, each followed by a space.
func firewallMatch(r service.FirewallRule) string {
	var b strings.Builder
	if r.Source.IsValid() {
		fmt.Fprintf(&b, "ip saddr %s ", r.Source)
	}
	if r.Destination.IsValid() {
		fmt.Fprintf(&b, "ct original ip daddr %s ", r.Destination)
	}
	if r.Protocol != "" {
		fmt.Fprintf(&b, "meta l4proto %s ", r.Protocol)
	}
	if !r.Ports.IsZero() {
		fmt.Fprintf(&b, "ct original proto-dst %s ", r.Ports)
	}
	return b.String()
}

// runInside runs a program in a namespace to its end; its output is the error's text.
func runInside(ctx context.Context, ns *netns.NS, dir, program string, args ...string) error {
	path, err := findProgram(program)
	if err != nil {
		return err
	}
	var out strings.Builder
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = []string{"PATH=" + searchPath, "LANG=C.UTF-8"}
	if err := ns.Start(cmd); err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, strings.Join(strings.Fields(out.String()), " "))
	}
	return nil
}
