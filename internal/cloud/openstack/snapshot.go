package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Snapshot is everything that a user sees in a project, to be compared with another one:
// "kind id" → the resource as JSON, but for what changes by itself.
type Snapshot map[string]string

// volatile are attributes that change without anybody's doing.
var volatile = []string{
	"updated_at", "updated", "revision_number", "status", "OS-EXT-STS:task_state", "last_seen", "progress", "links",
}

// Snapshot reads networks, subnets, routers, ports, security groups, floating IPs,
// servers, server groups, key pairs, images and flavors.
func (s *Session) Snapshot(ctx context.Context) (Snapshot, error) {
	lists := []struct {
		kind, path string
		api        *api
	}{
		{"networks", "networks", s.network}, {"subnets", "subnets", s.network}, {"routers", "routers", s.network},
		{"ports", "ports", s.network}, {"security_groups", "security-groups", s.network}, {"floatingips", "floatingips", s.network},
		{"servers", "servers/detail", s.compute}, {"server_groups", "os-server-groups", s.compute}, {"keypairs", "os-keypairs", s.compute},
		{"flavors", "flavors/detail", s.compute}, {"images", "images", s.image},
	}
	results := make([][]map[string]any, len(lists))
	group, ctx := errgroup.WithContext(ctx)
	for i, l := range lists {
		group.Go(func() error {
			var answer map[string]json.RawMessage
			if err := l.api.get(ctx, l.path, &answer); err != nil {
				return err
			}
			return json.Unmarshal(answer[l.kind], &results[i])
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	out := Snapshot{}
	for i, l := range lists {
		for _, r := range results[i] {
			if inner, ok := r["keypair"].(map[string]any); ok {
				r = inner
			}
			if r["status"] == "DELETED" { // Nova lists a server for a moment longer
				continue
			}
			id := r["id"]
			if id == nil {
				id = r["name"]
			}
			for _, v := range volatile {
				delete(r, v)
			}
			text, err := json.Marshal(r)
			if err != nil {
				return nil, fmt.Errorf("snapshot: %s %v: %w", l.kind, id, err)
			}
			out[fmt.Sprintf("%s %v", l.kind, id)] = string(text)
		}
	}
	return out, nil
}

// Diff lists what is new in another snapshot, is missing there, or differs; sorted.
func (s Snapshot) Diff(other Snapshot) []string {
	var out []string
	for key, text := range other {
		switch was, ok := s[key]; {
		case !ok:
			out = append(out, "new: "+key+" "+text)
		case was != text:
			out = append(out, "changed: "+key+" "+was+" to "+text)
		}
	}
	for key := range maps.Keys(s) {
		if _, ok := other[key]; !ok {
			out = append(out, "missing: "+key+" "+s[key])
		}
	}
	slices.Sort(out)
	return out
}

// Only keeps what a controller's mark is on, and the ports of routers that have it.
func (s Snapshot) Only(instance string) Snapshot {
	out := Snapshot{}
	for key, text := range s {
		tagged := strings.HasPrefix(key, "keypairs "+instance+"_") ||
			strings.HasPrefix(key, "servers ") && strings.Contains(text, `"`+instance+`"`)
		if tagged || strings.Contains(text, `"`+marks{instance}.prefix()) {
			out[key] = text
		}
	}
	for key, text := range s {
		_, device, _ := strings.Cut(text, `"device_id":"`)
		device, _, _ = strings.Cut(device, `"`)
		if _, ours := out["routers "+device]; ours && strings.HasPrefix(key, "ports ") {
			out[key] = text
		}
	}
	return out
}
