package openstack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// catalogAge is how long names of images and flavors are believed.
const catalogAge = time.Minute

// catalog finds images, flavors and security groups by name. A name that is not known
// is looked for in the cloud again.
type catalog struct {
	session *Session

	mu      sync.Mutex
	images  nameList[image]
	flavors nameList[flavor]
	groups  nameList[group]
	outside nameList[group]
}

type image struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Guest string `json:"catena_guest"` // "1": it runs our scripts and tells when it is ready
}

type flavor struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// group is a security group of the project, or an external network.
type group struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// nameList is a list of things with names, and when it was read.
type nameList[T any] struct {
	list []T
	read time.Time
}

func (l *nameList[T]) old() bool { return time.Since(l.read) >= catalogAge }

func (l *nameList[T]) fill(ctx context.Context, read func(context.Context) ([]T, error)) error {
	list, err := read(ctx)
	if err == nil {
		l.list, l.read = list, time.Now()
	}
	return err
}

// find looks a name or id up, and reads the list again when it is old or does not have it.
// The error for a name that there is none of lists those that there are.
func find[T any](ctx context.Context, l *nameList[T], what, name string, nameOf func(T) (id, name string), read func(context.Context) ([]T, error)) (T, error) {
	at := func() int {
		return slices.IndexFunc(l.list, func(t T) bool { id, n := nameOf(t); return n == name || id == name })
	}
	if i := at(); i >= 0 && !l.old() {
		return l.list[i], nil
	}
	var none T
	if err := l.fill(ctx, read); err != nil {
		return none, fmt.Errorf("%s %q: %w", what, name, err)
	}
	if i := at(); i >= 0 {
		return l.list[i], nil
	}
	var have []string
	for _, t := range l.list {
		_, n := nameOf(t)
		have = append(have, n)
	}
	if len(have) == 0 {
		return none, fmt.Errorf("the cloud has no %s %q, nor any other", what, name)
	}
	slices.Sort(have)
	return none, fmt.Errorf("the cloud has no %s %q; it has %s", what, name, strings.Join(slices.Compact(have), ", "))
}

func (c *catalog) image(ctx context.Context, name string) (image, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return find(ctx, &c.images, "image", name, func(i image) (string, string) { return i.ID, i.Name }, c.readImages)
}

func (c *catalog) readImages(ctx context.Context) ([]image, error) {
	var answer struct{ Images []image }
	err := c.session.image.get(ctx, query("images", "status", "active", "limit", "1000"), &answer)
	return answer.Images, err
}

func (c *catalog) flavor(ctx context.Context, name string) (flavor, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return find(ctx, &c.flavors, "flavor", name, func(f flavor) (string, string) { return f.ID, f.Name }, c.readFlavors)
}

func (c *catalog) readFlavors(ctx context.Context) ([]flavor, error) {
	var answer struct{ Flavors []flavor }
	err := c.session.compute.get(ctx, "flavors/detail", &answer)
	return answer.Flavors, err
}

// warmTime bounds the reading ahead; who needs a list reads it with more patience.
const warmTime = 2 * time.Second

// warm reads images and flavors ahead of the servers that need them, where they are old.
func (c *catalog) warm(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), warmTime)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	// Who needs a list reads it again when this fails.
	if c.images.old() {
		_ = c.images.fill(ctx, c.readImages)
	}
	if c.flavors.old() {
		_ = c.flavors.fill(ctx, c.readFlavors)
	}
}

func (c *catalog) securityGroup(ctx context.Context, name string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, err := find(ctx, &c.groups, "security group", name, func(g group) (string, string) { return g.ID, g.Name }, func(ctx context.Context) ([]group, error) {
		var answer struct {
			Groups []group `json:"security_groups"`
		}
		err := c.session.network.get(ctx, "security-groups?fields=id&fields=name", &answer)
		return answer.Groups, err
	})
	return g.ID, err
}

// external finds an external network.
func (c *catalog) external(ctx context.Context, name string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := find(ctx, &c.outside, "external network", name, func(g group) (string, string) { return g.ID, g.Name }, func(ctx context.Context) ([]group, error) {
		var answer struct{ Networks []group }
		err := c.session.network.get(ctx, "networks?router:external=True&fields=id&fields=name", &answer)
		return answer.Networks, err
	})
	if err != nil && len(c.outside.list) == 0 && !c.outside.read.IsZero() {
		err = fmt.Errorf("%w; leave \"external\" and \"floating_ip\" out of the service file, or have an administrator make one (openstack network create --external NAME)", err)
	}
	return n.ID, err
}
