package local

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/catena-nfv/catena/internal/cloud/guest"
	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

const rulesetFile = "firewall.nft"

// firewall fills in an instance that filters with nftables what reaches and what
// crosses it. There is no process: the kernel holds the ruleset.
func firewall(inst *instance, spec service.FirewallSpec) {
	inst.files = map[string]string{rulesetFile: guest.Ruleset(spec)}
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
