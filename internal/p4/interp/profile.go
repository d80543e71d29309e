package interp

import (
	"sort"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// profile is the content of an action profile or selector.
type profile struct {
	decl    *ir.Instance
	members map[uint32]target.Member
	groups  map[uint32]*group
}

type group struct{ target.Group }

func newProfile(i *ir.Instance) *profile {
	return &profile{decl: i, members: map[uint32]target.Member{}, groups: map[uint32]*group{}}
}

// expand lists the members by id, each as often as its weight says. A nil group has
// none.
func (g *group) expand() []uint32 {
	if g == nil {
		return nil
	}
	ms := append([]target.GroupMember(nil), g.Members...)
	sort.Slice(ms, func(i, j int) bool { return ms[i].ID < ms[j].ID })
	var out []uint32
	for _, m := range ms {
		for range m.Weight {
			out = append(out, m.ID)
		}
	}
	return out
}
