// Package image tests the guest image in an emulated machine of its own, without a cloud.
package image

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// script runs what guests are for: each check is one line of the console.
const script = `#!/bin/sh
# catena-guest 1
check() { name=$1; shift; if "$@" >/tmp/out 2>&1; then echo "check $name: ok"; else echo "check $name: failed: $(tail -n 3 /tmp/out | tr '\n' ' ')"; fi; }
try() { n=0; until "$@"; do n=$((n + 1)); [ $n -lt 40 ] || return 1; sleep 0.25; done; }
catena-http --name web --listen 127.0.0.1:8080 >/dev/null 2>&1 &
cat >/tmp/haproxy.cfg <<X
defaults
    mode http
    timeout connect 2s
    timeout client 5s
    timeout server 5s
frontend f
    bind 127.0.0.1:80
    default_backend b
backend b
    server web 127.0.0.1:8080
X
haproxy -D -f /tmp/haproxy.cfg
echo '10.9.8.7 www.shop.internal' >/tmp/hosts
check dnsmasq dnsmasq --user=root --no-resolv --no-hosts --addn-hosts=/tmp/hosts --listen-address=127.0.0.1 --bind-interfaces
check loadbalancer try sh -c 'curl -fs -m 2 http://127.0.0.1/ | grep -q "^web 127.0.0.1:8080 request"'
check tcp nc -z -w 1 127.0.0.1 8080
check dns sh -c 'nslookup www.shop.internal 127.0.0.1 | grep -q 10.9.8.7'
check firewall nft -f - <<X
table inet t {
	chain input {
		type filter hook input priority filter; policy accept;
		ct state established,related accept
		tcp dport 8080 counter reject
	}
	chain publish {
		type nat hook prerouting priority dstnat;
		fib daddr type local tcp dport 443 dnat ip to 10.9.8.7:80
	}
	chain comeback {
		type nat hook postrouting priority srcnat;
		ct status dnat masquerade
	}
}
X
check refused sh -c '! nc -z -w 1 127.0.0.1 8080'
check hostname [ "$(hostname)" = g1 ]
check interface sh -c 'ip link show eth0 | grep -q 02:00:00:00:00:01'
poweroff
`

// TestBoot starts the image that `make openstack` built, with a config drive, and has the
// guest try its programs. CATENA_TEST_OPENSTACK must be set.
func TestBoot(t *testing.T) {
	if os.Getenv("CATENA_TEST_OPENSTACK") == "" {
		t.Skip("CATENA_TEST_OPENSTACK is not set: no image to test")
	}
	state := os.Getenv("CATENA_OPENSTACK_STATE")
	if state == "" {
		state = "/var/lib/catena-openstack"
	}
	image, dir := filepath.Join(state, "image"), t.TempDir()
	drive := filepath.Join(dir, "drive", "openstack", "latest")
	if err := os.MkdirAll(drive, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"user_data": script, "meta_data.json": `{"hostname": "g1.novalocal"}`} {
		if err := os.WriteFile(filepath.Join(drive, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	disk, config := filepath.Join(dir, "root.qcow2"), filepath.Join(dir, "config.iso")
	run(ctx, t, "qemu-img", "create", "-q", "-f", "qcow2", "-b", filepath.Join(image, "root.raw"), "-F", "raw", disk)
	run(ctx, t, "genisoimage", "-quiet", "-l", "-r", "-J", "-V", "config-2", "-o", config, filepath.Join(dir, "drive"))

	qemu := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "tcg", "-cpu", "qemu64", "-m", "192",
		"-kernel", filepath.Join(image, "vmlinuz"), "-initrd", filepath.Join(image, "initrd"),
		"-append", "console=ttyS0 root=/dev/vda quiet panic=1",
		"-drive", "file="+disk+",if=virtio", "-cdrom", config, "-netdev", "user,id=n,restrict=on",
		"-device", "virtio-net-pci,netdev=n,mac=02:00:00:00:00:01", "-device", "virtio-rng-pci",
		"-display", "none", "-monitor", "none", "-serial", "stdio", "-no-reboot")
	console, err := qemu.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := qemu.Start(); err != nil {
		t.Fatal(err)
	}
	ok := map[string]bool{}
	lines := bufio.NewScanner(console)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if after, found := strings.CutPrefix(line, "catena-guest: up after "); found {
			booted, err := strconv.ParseFloat(strings.TrimSuffix(after, " s"), 64)
			if err != nil {
				t.Errorf("console: %q", line)
			}
			t.Logf("user data ran %.1f s after the start of QEMU, %.1f s after that of the kernel", time.Since(start).Seconds(), booted)
		}
		if name, found := strings.CutPrefix(line, "check "); found {
			name, result, _ := strings.Cut(name, ": ")
			ok[name] = result == "ok"
			if !ok[name] {
				t.Errorf("%s: %s", name, result)
			}
		}
	}
	if err := qemu.Wait(); err != nil {
		t.Errorf("the guest did not power off: %v", err)
	}
	for _, name := range []string{"loadbalancer", "tcp", "dnsmasq", "dns", "firewall", "refused", "hostname", "interface"} {
		if _, said := ok[name]; !said {
			t.Errorf("nothing was heard of check %q", name)
		}
	}
	// The CPU time of the whole run bounds that of the boot, whatever else runs on the machine.
	if used := qemu.ProcessState.UserTime() + qemu.ProcessState.SystemTime(); used > 25*time.Second {
		t.Errorf("the guest took %v of CPU time", used)
	} else {
		t.Logf("CPU time of boot and checks: %v", used)
	}
}

func run(ctx context.Context, t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", program, err, out)
	}
}
