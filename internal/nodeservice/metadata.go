package nodeservice

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"path"
	"sort"
	"strings"
)

// metadataHandler answers a virtual machine's questions about itself: it passes them on
// to nova's metadata service, or without one answers them.
type metadataHandler struct {
	who    func(netip.Addr) (*port, *view)
	nova   *url.URL // nil: the document is the node's own
	secret []byte   // that nova shares with Neutron (metadata_proxy_shared_secret)
	log    *slog.Logger
}

// novaHeaders are those by which nova knows who asks; a client's own are removed.
var novaHeaders = []string{
	"X-Instance-ID", "X-Instance-ID-Signature", "X-Tenant-ID", "X-Provider-ID", "X-Provider-Signature", "X-Metadata-Provider",
	"X-Metadata-Provider-Signature", "X-LB-ID",
}

func (h *metadataHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	p, _ := h.who(from.Addr())
	if p == nil {
		http.Error(w, "no port is known for this address", http.StatusNotFound)
		return
	}
	if h.nova != nil {
		h.forward(w, r, p)
		return
	}
	documents(p).ServeHTTP(w, r)
}

// forward asks nova, as Neutron's metadata agent does.
func (h *metadataHandler) forward(w http.ResponseWriter, r *http.Request, p *port) {
	if p.InstanceID == "" {
		http.Error(w, "the port belongs to no instance", http.StatusNotFound)
		return
	}
	mac := hmac.New(sha256.New, h.secret)
	mac.Write([]byte(p.InstanceID))
	proxy := httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(h.nova)
			r.Out.Host = r.In.Host
			for _, name := range novaHeaders {
				r.Out.Header.Del(name)
			}
			r.Out.Header.Set("X-Instance-ID", p.InstanceID)
			r.Out.Header.Set("X-Tenant-ID", p.ProjectID)
			r.Out.Header.Set("X-Instance-ID-Signature", hex.EncodeToString(mac.Sum(nil)))
			r.Out.Header.Set("X-Forwarded-For", p.Port.IP.Addr().String())
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			h.log.Warn("metadata", "nova", h.nova.String(), "port", p.Port.Name, "error", err)
			http.Error(w, "nova's metadata service does not answer", http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r)
}

// documents is the tree of a port's metadata, in the forms of EC2 and OpenStack as far
// as the node knows the instance.
func documents(p *port) http.Handler {
	name := p.hostName()
	full := name
	if p.network.Domain != "" {
		full += "." + p.network.Domain
	}
	address := ""
	if p.Port.IP.IsValid() {
		address = p.Port.IP.Addr().String()
	}
	openstack, err := json.MarshalIndent(map[string]any{
		"uuid": p.InstanceID, "name": name, "hostname": full, "project_id": p.ProjectID,
	}, "", "  ")
	if err != nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		})
	}
	files := map[string]string{
		"openstack/latest/meta_data.json": string(openstack) + "\n",
		"latest/meta-data/instance-id":    p.InstanceID,
		"latest/meta-data/hostname":       full,
		"latest/meta-data/local-hostname": full,
		"latest/meta-data/local-ipv4":     address,
		"latest/meta-data/mac":            p.Port.MAC.String(),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "metadata can only be read", http.StatusMethodNotAllowed)
			return
		}
		at := strings.Trim(path.Clean("/"+r.URL.Path), "/")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if text, ok := files[at]; ok {
			if strings.HasSuffix(at, ".json") {
				w.Header().Set("Content-Type", "application/json")
			}
			w.Write([]byte(text))
			return
		}
		list := entriesBelow(files, at)
		if len(list) == 0 {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(strings.Join(list, "\n")))
	})
}

// entriesBelow lists what is in a folder, folders with a slash.
func entriesBelow(files map[string]string, folder string) []string {
	seen := map[string]bool{}
	for f := range files {
		rest, ok := strings.CutPrefix("/"+f, strings.TrimSuffix("/"+folder, "/")+"/")
		if !ok {
			continue
		}
		name, _, deeper := strings.Cut(rest, "/")
		if deeper {
			name += "/"
		}
		seen[name] = true
	}
	out := make([]string, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}
