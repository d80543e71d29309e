package fake

import (
	"encoding/json"
	"net/http"
	"time"
)

// Identity is who a token belongs to.
type Identity struct {
	User, Project string
	Admin         bool
}

// identity answers for Keystone: any password is right, the user "admin" is an
// administrator, and the project is the one that is asked for.
func (c *Cloud) identity(mux *http.ServeMux) {
	mux.HandleFunc("GET /identity/v3", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(object{"version": object{"id": "v3.14", "status": "stable",
			"links": []object{{"rel": "self", "href": c.URL + "/identity/v3/"}}}})
	})
	mux.HandleFunc("POST /identity/v3/auth/tokens", c.issue)
	mux.HandleFunc("GET /identity/v3/auth/tokens", c.validate)
}

// unauthorized is Keystone's answer to whom it does not know.
func unauthorized(w http.ResponseWriter) {
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write([]byte(`{"error": {"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}}`))
}

// validate tells what a token stands for, to itself or to an administrator's.
func (c *Cloud) validate(w http.ResponseWriter, r *http.Request) {
	token := r.Header.Get("X-Subject-Token")
	c.mu.Lock()
	asker, known := c.tokens[r.Header.Get("X-Auth-Token")]
	who, ok := c.tokens[token]
	c.mu.Unlock()
	switch {
	case !known:
		unauthorized(w)
	case !ok || token != r.Header.Get("X-Auth-Token") && !asker.Admin:
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error": {"code": 404, "title": "Not Found", "message": "Could not recognize Fernet token"}}`))
	default:
		c.tell(w, http.StatusOK, token, who)
	}
}

func (c *Cloud) issue(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Auth struct {
			Identity struct {
				Password struct {
					User struct{ Name, Password string }
				}
				Credential struct{ ID, Secret string } `json:"application_credential"`
			}
			Scope struct{ Project struct{ Name, ID string } }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	id := body.Auth.Identity
	user := id.Password.User.Name
	if user == "" {
		user = id.Credential.ID
	}
	if user == "" || id.Password.User.Password == "" && id.Credential.Secret == "" {
		unauthorized(w)
		return
	}
	project := body.Auth.Scope.Project.Name
	if project == "" {
		project = "demo"
	}
	token := newID()
	who := Identity{User: user, Project: project, Admin: user == "admin"}
	c.mu.Lock()
	c.tokens[token] = who
	c.mu.Unlock()
	c.tell(w, http.StatusCreated, token, who)
}

// tell describes a token. Users and projects have their names as ids.
func (c *Cloud) tell(w http.ResponseWriter, status int, token string, who Identity) {
	role := "member"
	if who.Admin {
		role = "admin"
	}
	var catalog []object
	for _, s := range [][3]string{
		{"identity", "keystone", "/identity/v3"}, {"compute", "nova", "/compute/v2.1"}, {"network", "neutron", "/network"},
		{"image", "glance", "/image"}, {"placement", "placement", "/placement"},
	} {
		catalog = append(catalog, object{"type": s[0], "name": s[1], "id": s[1], "endpoints": []object{
			{"id": s[1], "interface": "public", "region": "RegionOne", "region_id": "RegionOne", "url": c.URL + s[2]},
		}})
	}
	w.Header().Set("X-Subject-Token", token)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"token": object{
		"methods": []string{"password"}, "expires_at": time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000000Z"),
		"user":    object{"id": who.User, "name": who.User, "domain": object{"id": "default", "name": "Default"}},
		"project": object{"id": who.Project, "name": who.Project, "domain": object{"id": "default", "name": "Default"}},
		"roles":   []object{{"id": role, "name": role}}, "catalog": catalog,
	}})
}

// ExpireTokens makes all tokens worthless.
func (c *Cloud) ExpireTokens() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens = map[string]Identity{}
}

// image answers for Glance.
func (c *Cloud) image(mux *http.ServeMux) {
	mux.HandleFunc("GET /image/v2/images", c.serve(false, func(_ Identity, r *http.Request) (int, any, *problem) {
		images := []object{}
		for _, i := range c.images {
			if name := r.URL.Query().Get("name"); name == "" || name == i["name"] {
				images = append(images, i)
			}
		}
		return http.StatusOK, object{"images": images}, nil
	}))
	mux.HandleFunc("GET /image/v2/images/{id}", c.serve(false, func(_ Identity, r *http.Request) (int, any, *problem) {
		for _, i := range c.images {
			if i["id"] == r.PathValue("id") {
				return http.StatusOK, i, nil
			}
		}
		return 0, nil, refuse(http.StatusNotFound, "itemNotFound", "No image found with ID %s", r.PathValue("id"))
	}))
}
