package reference

import (
	"context"
	"errors"
	"fmt"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// Redirect is the bare redirect between two interfaces, attached.
type Redirect struct{ links []link.Link }

// Connect attaches redirect.c to two interfaces, so that what comes in at one goes out at the other. With peer,
// packets skip the queue of the other veth (bpf_redirect_peer).
func Connect(ctx context.Context, a, b int, peer bool) (*Redirect, error) {
	spec, err := Compile(ctx, "redirect.c")
	if err != nil {
		return nil, err
	}
	r := &Redirect{}
	for _, way := range [][2]int{{a, b}, {b, a}} {
		if err := r.attach(spec.Copy(), way[0], way[1], peer); err != nil {
			return nil, errors.Join(fmt.Errorf("redirect from interface %d to %d: %w", way[0], way[1], err), r.Close())
		}
	}
	return r, nil
}

func (r *Redirect) attach(spec *cebpf.CollectionSpec, from, to int, peer bool) error {
	if err := spec.Variables["to"].Set(uint32(to)); err != nil {
		return err
	}
	c, err := cebpf.NewCollection(spec)
	if err != nil {
		return err
	}
	defer c.Close()
	name := "redirect"
	if peer {
		name = "redirect_peer"
	}
	l, err := link.AttachTCX(link.TCXOptions{Interface: from, Program: c.Programs[name], Attach: cebpf.AttachTCXIngress})
	if err != nil {
		return err
	}
	r.links = append(r.links, l)
	return nil
}

// Close detaches the program.
func (r *Redirect) Close() error {
	var errs []error
	for _, l := range r.links {
		errs = append(errs, l.Close())
	}
	r.links = nil
	return errors.Join(errs...)
}
