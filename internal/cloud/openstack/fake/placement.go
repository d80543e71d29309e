package fake

import (
	"fmt"
	"net/http"
)

// placement answers for Placement: each host has the same inventory, and each server
// uses its flavor.
func (c *Cloud) placement(mux *http.ServeMux) {
	handle := func(pattern string, admin bool, h handler) {
		mux.HandleFunc("GET /placement"+pattern, c.serve(false, func(who Identity, r *http.Request) (int, any, *problem) {
			if admin && !who.Admin {
				return 0, nil, refuse(http.StatusForbidden, "forbidden", "Access was denied to this resource.")
			}
			return h(who, r)
		}))
	}
	handle("/usages", false, func(_ Identity, r *http.Request) (int, any, *problem) {
		var version int
		if n, _ := fmt.Sscanf(r.Header.Get("OpenStack-API-Version"), "placement 1.%d", &version); n == 0 || version < 9 {
			return 0, nil, refuse(http.StatusNotFound, "itemNotFound", "The resource could not be found.")
		}
		return http.StatusOK, object{"usages": c.used(func(s *server) bool { return s.project == r.URL.Query().Get("project_id") })}, nil
	})
	handle("/allocations/{consumer}", true, func(_ Identity, r *http.Request) (int, any, *problem) {
		out := object{}
		if s := c.servers[r.PathValue("consumer")]; s != nil && s.deleted.IsZero() {
			out[text(s.view["OS-EXT-SRV-ATTR:host"])] = object{"resources": c.used(func(o *server) bool { return o == s })}
		}
		return http.StatusOK, object{"allocations": out}, nil
	})
	handle("/resource_providers", true, func(Identity, *http.Request) (int, any, *problem) {
		var all []object
		for _, h := range c.cfg.Hosts {
			all = append(all, object{"uuid": h, "name": h, "generation": 1})
		}
		return http.StatusOK, object{"resource_providers": all}, nil
	})
	handle("/resource_providers/{id}/inventories", true, func(Identity, *http.Request) (int, any, *problem) {
		of := func(total int, ratio float64) object {
			return object{"total": total, "reserved": 0, "allocation_ratio": ratio}
		}
		return http.StatusOK, object{"inventories": object{"VCPU": of(4, 16), "MEMORY_MB": of(8192, 1.5), "DISK_GB": of(100, 1)}}, nil
	})
	handle("/resource_providers/{id}/usages", true, func(_ Identity, r *http.Request) (int, any, *problem) {
		return http.StatusOK, object{"usages": c.used(func(s *server) bool { return s.view["OS-EXT-SRV-ATTR:host"] == r.PathValue("id") })}, nil
	})
}

// used sums the flavors of servers.
func (c *Cloud) used(counts func(*server) bool) map[string]int {
	sum := map[string]int{"VCPU": 0, "MEMORY_MB": 0, "DISK_GB": 0}
	for _, s := range c.servers {
		if !s.deleted.IsZero() || !counts(s) {
			continue
		}
		for _, f := range c.flavors {
			if f["name"] == s.view["flavor"].(object)["original_name"] {
				sum["VCPU"] += f["vcpus"].(int)
				sum["MEMORY_MB"] += f["ram"].(int)
				sum["DISK_GB"] += f["disk"].(int)
			}
		}
	}
	return sum
}
