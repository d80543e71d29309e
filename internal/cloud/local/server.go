package local

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/catena-nfv/catena/internal/cloud/guest"
	"github.com/catena-nfv/catena/internal/netns"
	"github.com/catena-nfv/catena/internal/service"
)

// commandSettles is how long a command of the user, of which nothing is known,
// must run to count as started.
const commandSettles = 100 * time.Millisecond

// serverInstance runs the command that the user gave, or httpServer.
func serverInstance(o service.Owner, spec service.ServerSpec, httpServer []string) instance {
	inst := instance{owner: o, kind: service.KindServer, name: spec.Name, ports: spec.Ports}
	if len(spec.Ports) == 0 {
		return inst // refused by create
	}
	if len(spec.Command) > 0 {
		inst.args = spec.Command
		started := time.Time{}
		inst.ready = func(context.Context, *netns.NS) error {
			if started.IsZero() {
				started = time.Now()
			}
			if time.Since(started) < commandSettles {
				return fmt.Errorf("it has not run for %s yet", commandSettles)
			}
			return nil
		}
		return inst
	}
	inst.args = append(httpServer[:len(httpServer):len(httpServer)],
		"--name", spec.Name, "--listen", fmt.Sprintf("0.0.0.0:%d", spec.Port))
	url := fmt.Sprintf("http://%s%s", netip.AddrPortFrom(spec.Ports[0].IP.Addr(), uint16(spec.Port)), guest.HealthPath)
	inst.ready = func(ctx context.Context, ns *netns.NS) error {
		answer, err := GetHTTP(ctx, ns, url)
		if err != nil {
			return err
		}
		if answer.Status != http.StatusOK || answer.Server != spec.Name {
			return fmt.Errorf("%s answered %d %s", url, answer.Status, strings.TrimSpace(answer.Body))
		}
		return nil
	}
	return inst
}
