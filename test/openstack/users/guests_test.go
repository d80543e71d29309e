package users

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/catena-nfv/catena/test/openstack/deployment"
)

// client is what the asking guest runs: every two seconds it tells on the console
// whom it reaches. Its arguments are NAME=COMMAND's own words.
const client = `#!/bin/sh
i=0
while :; do
    i=$((i + 1))
    line="ROUND $i"
%s    echo "$line END"
    sleep 1
done
`

// ask makes the client's program: name → command that succeeds when it is reached.
func ask(commands [][2]string) string {
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "    if %s >/dev/null 2>&1; then line=\"$line %s=yes\"; else line=\"$line %s=no\"; fi\n", c[1], c[0], c[0])
	}
	return fmt.Sprintf(client, b.String())
}

// boot starts a server of the cloud's image on a network, with an address there or, for "",
// any.
func (r *rig) boot(name, network, ip, group, userData string) string {
	r.t.Helper()
	image, flavor := r.find("image", "catena"), r.find("flavor", "small")
	nic := object{"uuid": network}
	if ip != "" {
		nic["fixed_ip"] = ip
	}
	out, err := r.call(r.compute, http.MethodPost, "servers", object{"server": object{
		"name": r.name + "-" + name, "imageRef": image, "flavorRef": flavor, "user_data": base64.StdEncoding.EncodeToString([]byte(userData)),
		"networks": []object{nic}, "security_groups": []object{{"name": group}},
	}})
	if err != nil {
		r.t.Fatalf("server %s: %v", name, err)
	}
	id := out["server"].(object)["id"].(string)
	r.t.Cleanup(func() {
		r.remove(r.compute, "servers/"+id)
		r.gone(id)
	})
	return id
}

// gone waits until a server that was deleted is not there any more; its port is in use so
// long.
func (r *rig) gone(id string) {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		if _, err := r.call(r.compute, http.MethodGet, "servers/"+id, nil); err != nil {
			return
		}
	}
	r.t.Errorf("server %s is not deleted", id)
}

// find returns the id of an image or flavor.
func (r *rig) find(kind, name string) string {
	r.t.Helper()
	path := "flavors"
	if kind == "image" {
		path = "images" // Nova's own list of images ended with microversion 2.35
	}
	c := *r.compute
	if kind == "image" {
		c.Microversion = "2.1"
	}
	out, err := r.call(&c, http.MethodGet, path, nil)
	if err != nil {
		r.t.Fatalf("%s: %v", path, err)
	}
	for _, o := range out[path].([]any) {
		if o.(object)["name"] == name {
			return o.(object)["id"].(string)
		}
	}
	r.t.Fatalf("there is no %s %q", kind, name)
	return ""
}

// active waits until the server is ACTIVE.
func (r *rig) active(name, id string) {
	r.t.Helper()
	begun := time.Now()
	eventually(r.t, "server "+name, 4*time.Minute, func() (bool, string) {
		out, err := r.call(r.compute, http.MethodGet, "servers/"+id, nil)
		if err != nil {
			return false, err.Error()
		}
		s := out["server"].(object)
		if s["status"] == "ERROR" {
			r.t.Fatalf("server %s: %v", name, s["fault"])
		}
		return s["status"] == "ACTIVE", fmt.Sprint(s["status"], " ", s["OS-EXT-STS:task_state"])
	})
	r.t.Logf("%s: ACTIVE after %v more", name, time.Since(begun).Round(100*time.Millisecond))
}

// console returns the last lines that a server wrote.
func (r *rig) console(id string, lines int) string {
	out, err := r.call(r.compute, http.MethodPost, "servers/"+id+"/action", object{"os-getConsoleOutput": object{"length": lines}})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(out["output"])
}

// sees waits until a whole round of the client's has this outcome, and began after now.
func (r *rig) sees(what, id string, within time.Duration, want string) {
	r.t.Helper()
	r.round(what, id, within, want, 2)
}

// round waits for a round of the client's with this outcome, at least so many after the
// one that was the last at first.
func (r *rig) round(what, id string, within time.Duration, want string, after int) {
	r.t.Helper()
	var first int
	eventually(r.t, what+": "+want, within, func() (bool, string) {
		text := r.console(id, 40)
		all := strings.Split(text, "\n")
		for i := len(all) - 1; i >= 0; i-- {
			line := strings.TrimSpace(all[i])
			var round int
			if n, _ := fmt.Sscanf(line, "ROUND %d", &round); n != 1 || !strings.HasSuffix(line, " END") {
				continue
			}
			if first == 0 {
				first = round
			}
			got := strings.TrimSuffix(strings.SplitN(line, " ", 3)[2], " END")
			// The one after first may have begun before we asked.
			return got == want && round >= first+after, line
		}
		return false, text
	})
}

// TestServers starts servers as a plain user does, on two networks of a router and one
// without, and has them talk; also after the controller was killed, and while it is away.
func TestServers(t *testing.T) {
	user := login(t, "", "guests")
	d := controller(t)
	netA, subA := user.subnet("a", 84)
	netB, subB := user.subnet("b", 85)
	netC, _ := user.subnet("c", 86)
	user.router("r", subA, subB)
	user.group("web", 80)
	server := "#!/bin/sh\ncatena-http -name %s -listen :81 &\nexec catena-http -name %s\n"
	near := user.boot("near", netA, "10.84.0.20", user.name+"-web", fmt.Sprintf(server, "near", "near"))
	far := user.boot("far", netB, "10.85.0.20", user.name+"-web", fmt.Sprintf(server, "far", "far"))
	other := user.boot("other", netC, "10.86.0.20", user.name+"-web", fmt.Sprintf(server, "other", "other"))
	asking := user.boot("asking", netA, "10.84.0.10", user.name+"-web", ask([][2]string{
		{"ping-near", "ping -c 1 -W 2 10.84.0.20"}, {"ping-far", "ping -c 1 -W 2 10.85.0.20"}, {"ping-gateway", "ping -c 1 -W 2 10.84.0.1"},
		{"near", "curl -fs -m 3 http://10.84.0.20/"}, {"far", "curl -fs -m 3 http://10.85.0.20/"},
		{"refused", "curl -fs -m 2 http://10.84.0.20:81/"}, {"other", "curl -fs -m 2 http://10.86.0.20/"},
		{"metadata", "curl -fs -m 10 http://169.254.169.254/openstack/latest/meta_data.json"},
	}))
	for name, id := range map[string]string{"near": near, "far": far, "other": other, "asking": asking} {
		user.active(name, id)
	}
	const all = "ping-near=yes ping-far=yes ping-gateway=yes near=yes far=yes refused=no other=no metadata=yes"
	user.sees("at first", asking, 3*time.Minute, all)

	d.Crash(deployment.Controller)
	defer d.Return(deployment.Controller)
	// Metadata needs the node's agent.
	user.sees("while the controller is away", asking, time.Minute, strings.Replace(all, "metadata=yes", "metadata=no", 1))
	late := user.boot("late", netB, "10.85.0.30", user.name+"-web", fmt.Sprintf(server, "late", "late"))
	time.Sleep(5 * time.Second)
	d.Return(deployment.Controller)
	// A server that was begun without a controller comes to its port, too.
	user.active("late", late)
	user.sees("after the controller is back", asking, time.Minute, all)
}
