package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/cli"
)

func TestCheckMode(t *testing.T) {
	for _, x := range []struct{ mode, backbone, want string }{
		{"tc", "vrouter", ""},
		{"xdp", "vrouter", `mode xdp: the backbone "vrouter" cannot run on XDP: it multicasts packets, and XDP cannot copy a packet; use mode tc`},
		{"xdp", "l2", `the backbone "l2" cannot run on XDP`},
		{"xdp", "wire", ""},
		{"dpdk", "wire", `mode "dpdk": use tc or xdp`},
	} {
		err := checkMode(x.mode, x.backbone)
		if x.want == "" && err == nil {
			continue
		}
		var exit *cli.ExitError
		if err == nil || x.want == "" || !strings.Contains(err.Error(), x.want) || !errors.As(err, &exit) || exit.Code != cli.ExitRefused {
			t.Errorf("%s, %s: %v, want %q", x.mode, x.backbone, err, x.want)
		}
	}
}

// TestRefusedModeLeavesNothing checks that the mode is refused before a folder is made.
func TestRefusedModeLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	o := options{mode: "xdp", paths: cli.Paths{State: filepath.Join(dir, "state"), Run: filepath.Join(dir, "run")}}
	if err := o.prepare(); err == nil {
		t.Fatal("accepted")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
