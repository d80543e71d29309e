package local

import (
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

func TestNames(t *testing.T) {
	n := newNames("ct", "/var/lib/catena")
	o := service.Owner{Project: "p.1", Service: "shop"}
	if got, want := n.netns(o, "web-1"), "ct"+n.instance+".p%2E1.shop.web-1"; got != want {
		t.Errorf("netns %q, want %q", got, want)
	}
	if got := n.link(o, "web-1.front"); len(got) != len("ctp")+8 {
		t.Errorf("link %q", got)
	}
	seen := map[string]bool{}
	for _, other := range []names{n, newNames("ct", "/var/lib/other")} {
		for _, owner := range []service.Owner{{Project: "a", Service: "b"}, {Project: "a.b", Service: "c"}, {Project: "a", Service: "b.c"}} {
			for _, device := range []string{"c", "d"} {
				for _, name := range []string{other.netns(owner, device), other.link(owner, device+".net"), other.alias(owner, device+".net")} {
					if seen[name] {
						t.Errorf("%q names two things", name)
					}
					seen[name] = true
				}
			}
		}
	}
}
