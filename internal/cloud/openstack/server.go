package openstack

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/catena-nfv/catena/internal/cloud/openstack/watch"
	"github.com/catena-nfv/catena/internal/service"
)

// CreateServer starts a server on its ports, or makes the one that there is what is asked
// for: with another script it is rebuilt, on its ports and with its id; with another
// image, flavor or port it is replaced.
func (c *Cloud) CreateServer(ctx context.Context, o service.Owner, spec service.ServerSpec) error {
	keyPair := spec.Key
	if spec.KeyPair != "" {
		keyPair = c.marks.keyPair(o, spec.KeyPair)
	}
	return named(service.KindServer, spec.Name, c.createInstance(ctx, o, instance{
		key: key{service.KindServer, spec.Name}, image: spec.Image, flavor: spec.Flavor, ports: spec.Ports,
		script: serverScript(spec), keyPair: keyPair,
	}))
}

// CreateFunction starts a function, or gives the one that there is its configuration.
func (c *Cloud) CreateFunction(ctx context.Context, o service.Owner, spec service.FunctionSpec) error {
	script, err := functionScript(spec)
	if err == nil {
		err = c.createInstance(ctx, o, instance{
			key: key{service.KindFunction, spec.Name}, image: c.cfg.FunctionImage, flavor: c.cfg.FunctionFlavor, ports: spec.Ports,
			script: script,
		})
	}
	return named(service.KindFunction, spec.Name, err)
}

// instance is a Nova server to be made.
type instance struct {
	key           key
	image, flavor string // names or ids
	ports         []service.Port
	script        script
	keyPair       string // by its name in Nova; "": that of the driver's configuration
}

// maxUserData is Nova's limit for user data in base64.
const maxUserData = 65535

// order is an instance in the cloud's words.
type order struct {
	image, flavor string // ids
	ports         []string
	userData      string
	metadata      map[string]string
	guest         bool // it tells when it is ready
}

func (c *Cloud) order(ctx context.Context, o service.Owner, in instance) (order, error) {
	img, err := c.catalog.image(ctx, in.image)
	if err != nil && in.key.kind == service.KindFunction {
		err = fmt.Errorf("%w; CATENA_OPENSTACK_IMAGE names that of functions", err)
	}
	if err != nil {
		return order{}, err
	}
	fl, err := c.catalog.flavor(ctx, in.flavor)
	if err != nil && in.key.kind == service.KindFunction {
		err = fmt.Errorf("%w; CATENA_OPENSTACK_FLAVOR names that of functions", err)
	}
	if err != nil {
		return order{}, err
	}
	out := order{image: img.ID, flavor: fl.ID, guest: c.cfg.Guests && img.Guest == "1"}
	for _, p := range in.ports {
		out.ports = append(out.ports, p.ID)
	}
	fixed := []any{img.ID, fl.ID, out.ports}
	if in.keyPair != "" {
		fixed = append(fixed, in.keyPair)
	}
	base, err := digest(fixed...)
	if err != nil {
		return order{}, err
	}
	out.userData = base64.StdEncoding.EncodeToString([]byte(in.script.text))
	if len(out.userData) > maxUserData {
		return order{}, fmt.Errorf("its configuration of %d bytes does not fit into user data (%d)", len(in.script.text), maxUserData/4*3)
	}
	out.metadata = map[string]string{
		metaOwner: o.String(), metaKind: string(in.key.kind), metaBase: base, metaScript: in.script.digest,
	}
	if out.guest {
		out.metadata[metaGuest] = guestBooting
	}
	return out, nil
}

func (c *Cloud) createInstance(ctx context.Context, o service.Owner, in instance) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(in.ports) == 0 {
		return errors.New("it has no ports")
	}
	ask, err := c.order(ctx, o, in)
	if err != nil {
		return err
	}
	var id string
	ready := false
	err = c.ensure(ctx, o, in.key, func(inv *inventory) (err error) {
		if inv != nil {
			if id, ready, err = c.adapt(ctx, inv.named(in.key), ask); err != nil || id != "" {
				return err
			}
		}
		id, err = c.boot(ctx, o, in, ask)
		return err
	})
	switch {
	case isStatus(err, http.StatusBadRequest) && strings.Contains(err.Error(), "key_name"):
		err = fmt.Errorf("keypair %q: %w; the user has none of this name (openstack keypair list)", cmp.Or(in.keyPair, c.cfg.KeyPair), err)
	case isStatus(err, http.StatusBadRequest, http.StatusConflict):
		err = c.blamePorts(ctx, o, in, err)
	}
	if err != nil || ready {
		return err
	}
	if _, err := c.waitActive(ctx, id); err != nil {
		return err
	}
	if !ask.guest {
		return nil
	}
	return c.waitGuest(ctx, id, in.script.digest)
}

// boot asks for a new server.
func (c *Cloud) boot(ctx context.Context, o service.Owner, in instance, ask order) (id string, err error) {
	networks := []map[string]string{}
	for _, p := range ask.ports {
		networks = append(networks, map[string]string{"port": p})
	}
	attributes := map[string]any{
		"name": in.key.name, "imageRef": ask.image, "flavorRef": ask.flavor, "networks": networks,
		"user_data": ask.userData, "config_drive": true, "metadata": ask.metadata, "tags": c.marks.tags(o),
	}
	if c.cfg.Zone != "" {
		attributes["availability_zone"] = c.cfg.Zone
	}
	if name := cmp.Or(in.keyPair, c.cfg.KeyPair); name != "" {
		attributes["key_name"] = name
	}
	var made struct{ Server server }
	err = c.session.compute.post(ctx, "servers", body("server", attributes), &made)
	return made.Server.ID, err
}

// adapt makes a server that there is what is asked for. An empty id says that there is
// none (any more) that can become that; ready that nothing has to be waited for.
func (c *Cloud) adapt(ctx context.Context, have []server, ask order) (id string, ready bool, err error) {
	for i, s := range have {
		fits := i == 0 && s.Metadata[metaBase] == ask.metadata[metaBase] && s.TaskState != "deleting" &&
			(s.Status == "ACTIVE" || s.Status == "BUILD" || s.Status == "REBUILD" || s.Status == "SHUTOFF")
		if !fits {
			if err := c.removeServer(ctx, s.ID); err != nil {
				return "", false, err
			}
			continue
		}
		id = s.ID
		if s.Status == "BUILD" || s.Status == "REBUILD" {
			built, err := c.waitActive(ctx, s.ID)
			if err != nil && !built {
				return "", false, err
			}
			if err != nil { // it became nothing: begin anew
				if err := c.removeServer(ctx, s.ID); err != nil {
					return "", false, err
				}
				id = ""
				continue
			}
		}
		guest, _ := guestState(s.Metadata[metaGuest])
		switch {
		case s.Metadata[metaScript] != ask.metadata[metaScript], guest == guestFailed:
			err = c.session.compute.post(ctx, "servers/"+s.ID+"/action", map[string]any{"rebuild": map[string]any{
				"imageRef": ask.image, "user_data": ask.userData, "metadata": ask.metadata,
			}}, nil)
		case s.Status == "SHUTOFF":
			err = c.session.compute.post(ctx, "servers/"+s.ID+"/action", map[string]any{"os-start": nil}, nil)
		default:
			ready = s.Status == "ACTIVE" && guest != guestBooting
		}
		if err != nil {
			return "", false, err
		}
	}
	return id, ready, nil
}

// blamePorts finds out whether a server was refused because of its ports: Nova names
// them by their ids.
func (c *Cloud) blamePorts(ctx context.Context, o service.Owner, in instance, cause error) error {
	inv, err := c.look(ctx, o)
	if err != nil {
		return cause
	}
	for _, p := range in.ports {
		have, ok := inv.port(p.Name)
		switch {
		case !ok:
			return fmt.Errorf("port %q does not exist (any more): %w", p.Name, cause)
		case have.ID != p.ID:
			return fmt.Errorf("port %q was made again, with another id: %w", p.Name, cause)
		case have.DeviceID != "":
			return fmt.Errorf("port %q belongs to server %s: %w", p.Name, have.DeviceID, cause)
		}
	}
	return cause
}

// deleteServer removes the servers of that kind and name, and waits until they are gone.
func (c *Cloud) deleteServer(ctx context.Context, o service.Owner, kind service.Kind, name string) error {
	id := key{kind, name}
	inv, err := c.recall(ctx, o, id)
	if err != nil {
		return err
	}
	for _, s := range inv.named(id) {
		if err := c.removeServer(ctx, s.ID); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cloud) removeServer(ctx context.Context, id string) error {
	for attempt := 0; ; attempt++ {
		err := persist(ctx, busyPatience, func() error { return c.session.compute.remove(ctx, "servers/"+id) }, isBusy)
		if err == nil {
			err = c.waitGone(ctx, id)
		}
		if !errors.Is(err, errStays) || attempt == 2 {
			if errors.Is(err, errStays) {
				err = fmt.Errorf("the compute service does not delete it; try `openstack server delete --force %s`", id)
			}
			return err
		}
	}
}

// waitActive waits until Nova is done with a server, built; the error tells why it is not
// ACTIVE then, or why the wait ended before.
func (c *Cloud) waitActive(ctx context.Context, id string) (built bool, err error) {
	err = c.watch.Follow(ctx, []string{id}, func(s watch.Server) (more bool, err error) {
		switch {
		case s.Gone:
			err = errors.New("it was deleted")
		case s.TaskState != "" || s.Status == "BUILD" || s.Status == "REBUILD" || s.Status == "REBOOT":
			return true, nil
		case s.Status == "ERROR" && s.Fault.Message != "":
			err = &faultError{s.Fault.Message}
		case s.Status == "ERROR":
			err = c.fault(ctx, id)
		case s.Status != "ACTIVE":
			err = fmt.Errorf("it is %s", s.Status)
		}
		built = true
		return false, err
	})
	return built, err
}

// fault is why a server is in ERROR.
func (c *Cloud) fault(ctx context.Context, id string) error {
	why := watch.Fault(ctx, func(ctx context.Context) (string, error) {
		var answer struct {
			Server struct{ Fault struct{ Message string } }
		}
		err := c.session.compute.get(ctx, "servers/"+id, &answer)
		return answer.Server.Fault.Message, err
	})
	if why == "" {
		return fmt.Errorf("it is in ERROR, and Nova does not say why; see the log of nova-compute for %s", id)
	}
	return &faultError{why}
}

// waitGone waits until a server is deleted; errStays when Nova gave that up.
func (c *Cloud) waitGone(ctx context.Context, id string) error {
	return c.watch.Follow(ctx, []string{id}, func(s watch.Server) (more bool, err error) {
		if s.Status == "ERROR" && s.TaskState == "" {
			return false, errStays
		}
		return !s.Gone, nil
	})
}

// errStays is the error for a server that is deleted and does not go.
var errStays = errors.New("it is not gone")

// faultError is why Nova could not build a server.
type faultError struct{ message string }

func (e *faultError) Error() string {
	text := "it is in ERROR: " + e.message
	if way := (&APIError{Status: 400, Message: e.message}).wayOut(); way != "" {
		text += "; " + way
	}
	return text
}
