package openstack

import (
	"context"
	"net/url"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// keyPair as Nova shows it. It is a user's, not a project's, and has nothing that could
// carry a mark but its name; see marks.keyPair.
type keyPair struct {
	Name      string `json:"name"` // in the service
	PublicKey string `json:"public_key"`
}

func (c *Cloud) listKeyPairs(ctx context.Context, o service.Owner) ([]keyPair, error) {
	var answer struct {
		List []struct {
			KeyPair keyPair `json:"keypair"`
		} `json:"keypairs"`
	}
	if err := c.session.compute.get(ctx, "os-keypairs", &answer); err != nil {
		return nil, err
	}
	var out []keyPair
	for _, k := range answer.List {
		if owner, name, ours := c.marks.ownerOfKeyPair(k.KeyPair.Name); ours && owner == o {
			out = append(out, keyPair{name, k.KeyPair.PublicKey})
		}
	}
	return out, nil
}

// CreateKeyPair gives Nova the key. One of that name with another key is replaced.
func (c *Cloud) CreateKeyPair(ctx context.Context, o service.Owner, k service.KeyPair) error {
	name := c.marks.keyPair(o, k.Name)
	return named(service.KindKeyPair, k.Name, c.ensure(ctx, o, key{service.KindKeyPair, k.Name}, func(inv *inventory) error {
		if inv != nil {
			for _, have := range inv.keyPairs {
				if have.Name == k.Name && strings.TrimSpace(have.PublicKey) == strings.TrimSpace(k.PublicKey) {
					return nil
				}
			}
			if err := c.session.compute.remove(ctx, "os-keypairs/"+url.PathEscape(name)); err != nil {
				return err
			}
		}
		return c.session.compute.post(ctx, "os-keypairs", body("keypair", map[string]any{"name": name, "public_key": k.PublicKey, "type": "ssh"}), nil)
	}))
}

func (c *Cloud) deleteKeyPair(ctx context.Context, o service.Owner, name string) error {
	return c.dismantle(ctx, o, key{service.KindKeyPair, name}, func(inv *inventory) error {
		for _, k := range inv.keyPairs {
			if k.Name != name {
				continue
			}
			if err := c.session.compute.remove(ctx, "os-keypairs/"+url.PathEscape(c.marks.keyPair(o, name))); err != nil {
				return err
			}
		}
		return nil
	})
}
