package openstack

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/catena-nfv/catena/internal/service"
)

// Most services have no security groups, keypairs or floating IPs. They are listed only
// for owners of whom somebody has asked for them, or made any, and then as one more
// list each, beside the others.

// optionalKind is the kind that has to be listed for objects of a kind; "": they are in
// what is listed anyway.
func optionalKind(k service.Kind) service.Kind {
	switch k {
	case service.KindSecurityGroup, service.KindSecurityRules:
		return service.KindSecurityGroup
	case service.KindKeyPair, service.KindFloatingIP:
		return k
	}
	return ""
}

// also has the kinds be listed for an owner from now on.
func (k *known) also(kinds ...service.Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.include(kinds...)
}

// include is also with the lock held.
func (k *known) include(kinds ...service.Kind) {
	for _, kind := range kinds {
		if o := optionalKind(kind); o != "" && !slices.Contains(k.listed, o) {
			k.listed = append(slices.Clone(k.listed), o)
		}
	}
}

// covers tells whether an inventory is right about objects of a kind.
func (inv *inventory) covers(k service.Kind) bool {
	o := optionalKind(k)
	return o == "" || slices.Contains(inv.listed, o)
}

// listOptional starts the lists of optional kinds. Groups and floating IPs have what they
// are for behind their owner's mark, so the cloud cannot choose them: there are few.
func (c *Cloud) listOptional(ctx context.Context, group *errgroup.Group, o service.Owner, inv *inventory) {
	for _, kind := range inv.listed {
		switch kind {
		case service.KindSecurityGroup:
			group.Go(func() error {
				var answer struct {
					Groups []securityGroup `json:"security_groups"`
				}
				err := c.session.network.get(ctx, "security-groups", &answer)
				inv.groups = slices.DeleteFunc(answer.Groups, func(g securityGroup) bool { return len(c.marks.wordsOf(o, g.Description)) == 0 })
				return err
			})
		case service.KindKeyPair:
			group.Go(func() (err error) {
				inv.keyPairs, err = c.listKeyPairs(ctx, o)
				return err
			})
		case service.KindFloatingIP:
			group.Go(func() error {
				var answer struct{ Floatingips []floatingIP }
				err := c.session.network.get(ctx, "floatingips", &answer)
				for _, f := range answer.Floatingips {
					if words := c.marks.wordsOf(o, f.Description); len(words) > 0 {
						f.Name = words[len(words)-1]
						inv.floating = append(inv.floating, f)
					}
				}
				return err
			})
		}
	}
}

// widen has those be listed that stand in the way of a deletion, though nobody has asked
// for them: a driver that was started anew is told to delete a router first.
func (c *Cloud) widen(o service.Owner, err error) {
	if isStatus(err, http.StatusConflict) && strings.Contains(strings.ToLower(err.Error()), "floating ip") {
		c.of(o).also(service.KindFloatingIP)
	}
}

// Lacks tells what a service cannot have on any OpenStack.
func (c *Cloud) Lacks(s *service.Service) []service.Problem {
	var out []service.Problem
	for i, g := range s.SecurityGroups {
		if g.Name == "default" {
			out = append(out, service.Problem{
				Path: "security_groups[" + strconv.Itoa(i) + "].name", Code: service.CodeValue,
				Message: `security group "default": every project of an OpenStack has one of this name already; choose another`,
			})
		}
	}
	return out
}
