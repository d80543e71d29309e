package fake

import (
	"net/http"
	"regexp"
	"strings"
)

var keyName = regexp.MustCompile(`^[A-Za-z0-9 _-]{1,255}$`)

// keyPairCalls answers for keypairs, which belong to users.
func (c *Cloud) keyPairCalls(handle func(string, handler)) {
	handle("GET /os-keypairs", func(who Identity, _ *http.Request) (int, any, *problem) {
		list := []object{}
		for _, k := range sorted(c.keyPairs[who.User]) {
			list = append(list, object{"keypair": k})
		}
		return http.StatusOK, object{"keypairs": list}, nil
	})
	handle("POST /os-keypairs", func(who Identity, r *http.Request) (int, any, *problem) {
		k, p := decode(r, "keypair")
		if p != nil {
			return 0, nil, p
		}
		name, public := text(k["name"]), text(k["public_key"])
		have := c.keyPairs[who.User]
		limit, limited := c.cfg.Quota["key_pairs"]
		switch {
		case !keyName.MatchString(name):
			return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Keypair data is invalid: Keypair name contains unsafe characters")
		case !strings.HasPrefix(public, "ssh-"):
			return 0, nil, refuse(http.StatusBadRequest, "badRequest", "Keypair data is invalid: failed to generate fingerprint")
		case limited && len(have) >= limit:
			return 0, nil, refuse(http.StatusForbidden, "forbidden", "Quota exceeded, too many key pairs.")
		case have[name] != nil:
			return 0, nil, refuse(http.StatusConflict, "conflictingRequest", "Key pair '%s' already exists.", name)
		}
		if have == nil {
			have = map[string]object{}
			c.keyPairs[who.User] = have
		}
		have[name] = object{"id": newID(), "name": name, "public_key": public, "type": "ssh"}
		return http.StatusCreated, object{"keypair": have[name]}, nil
	})
	handle("DELETE /os-keypairs/{name}", func(who Identity, r *http.Request) (int, any, *problem) {
		name := r.PathValue("name")
		if c.keyPairs[who.User][name] == nil {
			return 0, nil, refuse(http.StatusNotFound, "itemNotFound", "Keypair %s not found for user %s", name, who.User)
		}
		delete(c.keyPairs[who.User], name)
		return http.StatusNoContent, nil, nil
	})
	handle("GET /limits", func(who Identity, _ *http.Request) (int, any, *problem) {
		limit := func(name string) int {
			if n, limited := c.cfg.Quota[name]; limited {
				return n
			}
			return -1
		}
		return http.StatusOK, object{"limits": object{"absolute": object{"maxTotalKeypairs": limit("key_pairs"), "maxTotalInstances": limit("instances")}}}, nil
	})
}
