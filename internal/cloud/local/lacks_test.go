package local

import (
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

// An external network is refused before anything is made; the error names the router.
func TestLacks(t *testing.T) {
	s := &service.Service{Routers: []service.Router{{Name: "inner"}, {Name: "edge", External: "public"}}, KeyPairs: []service.KeyPair{{Name: "ops"}}}
	problems := (&Cloud{}).Lacks(s)
	if len(problems) != 1 || problems[0].Path != "routers[1].external" || !strings.Contains(problems[0].Message, `router "edge": the local cloud has no external networks`) {
		t.Errorf("problems: %+v", problems)
	}
}
