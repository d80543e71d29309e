package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/cli"
)

// catena runs the command with the library of an empty state directory, and wants an
// exit code.
func catena(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	err := cmd.ExecuteContext(t.Context())
	if got := cli.CodeOf(err); got != code {
		t.Fatalf("catena %s: exit code %d, want %d: %v\n%s%s", strings.Join(args, " "), got, code, err, stdout.String(), stderr.String())
	}
	var exit *cli.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.Err == nil) {
		stderr.WriteString(cli.Message(err))
	}
	return stdout.String(), stderr.String()
}

// files writes files into a new working directory.
func files(t *testing.T, all map[string]string) {
	t.Helper()
	t.Setenv("CATENA_STATE", t.TempDir())
	t.Chdir(t.TempDir())
	for name, text := range all {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var requestFiles = map[string]string{
	"dc.sfc":  "IDS before Firewall before NAT before L3fwd\n",
	"two.sfc": "Firewall before IDS\nEnd_of_Request\nFirewall then LB or NAT and branch_end=Firewall#2\n",
	"bad.sfc": "IDS before Wall,\nWall before Nothing\n",
}

func TestChainCompile(t *testing.T) {
	files(t, requestFiles)
	out, _ := catena(t, 0, "chain", "compile", "dc.sfc", "two.sfc", "--target", "bmv2", "--backbone", "wire", "-o", "out")
	for _, want := range []string{"merge ", "compose ", "print ", "3 chains", "out/chains.p4\n", "out/chains.p4info.txtpb", "room for 64 nodes"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	text, err := os.ReadFile("out/chains.p4")
	if err != nil {
		t.Fatal(err)
	}
	// For bmv2 no table is applied in two places.
	for _, line := range strings.Split(string(text), "\n") {
		if strings.Contains(line, ".apply()") && strings.Count(string(text), strings.TrimSpace(line)) > 1 {
			t.Errorf("twice: %s", line)
		}
	}
	if _, errs := catena(t, 0, "p4", "check", "out/chains.p4"); errs != "" {
		t.Error(errs)
	}

	out, _ = catena(t, 0, "chain", "compile", "dc.sfc", "--json", "-o", "one")
	var report struct {
		Backbone, Target string
		Graph            chain.Graph
		Tables           int
		NodeBits         int `json:"node_bits"`
		Files            []string
		Stages           []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	var stages []string
	for _, s := range report.Stages {
		stages = append(stages, s.Name)
	}
	if report.Backbone != "vrouter" || report.Target != "ebpf" || len(report.Graph.Nodes) != 4 || report.NodeBits != 64 ||
		report.Tables != 13 || strings.Join(stages, " ") != "merge compose print compile" {
		t.Errorf("%s", out)
	}
	for _, name := range []string{"dc.p4", "dc.p4info.bin", "dc.c", "dc.tc.o"} {
		file := filepath.Join("one", name)
		if info, err := os.Stat(file); err != nil || info.Size() == 0 || !slices.Contains(report.Files, file) {
			t.Errorf("%s: %v, listed: %v", file, err, report.Files)
		}
	}
}

func TestChainVerify(t *testing.T) {
	files(t, requestFiles)
	out, _ := catena(t, 0, "chain", "verify", "dc.sfc", "two.sfc", "--packets", "40")
	for _, want := range []string{"dc, path 1: IDS Firewall NAT L3fwd\n", "two-2, path 2: Firewall NAT Firewall\n", "15 of 15 actions", "merged program and NFs: equal for"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	target := "interp"
	if os.Geteuid() == 0 {
		target = "ebpf"
	}
	out, _ = catena(t, 0, "chain", "verify", "two.sfc", "--packets", "20", "--target", target, "--strategy", "lcs", "--json")
	var report verifyJSON
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	if !report.Equal || len(report.Comparisons) != map[string]int{"interp": 1, "ebpf": 2}[target] || len(report.Comparisons[0].Paths) != 3 || report.Comparisons[0].Packets < 3*40 {
		t.Errorf("%s", out)
	}
}

type verifyJSON struct {
	Equal       bool
	Comparisons []struct {
		What           string
		Packets, Rules int
		Paths          []struct{ Chain string }
		Counterexample *struct {
			Data  string
			Want  []string
			Got   []string
			Trace []string
		}
	}
}

// TestChainVerifyDiffers imports an NF that changes a header without which others do not
// find what they look for: the merged program differs from the NFs alone.
func TestChainVerifyDiffers(t *testing.T) {
	files(t, map[string]string{
		"Hide.p4": `#include <core.p4>
#include <v1model.p4>
#include "headers.p4"
struct metadata { @shared l4_t l4; }
#include "l4.p4"
control HideIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        hdr.ethernet.ether_type = 0x9999;
        @standalone { sm.egress_spec = sm.ingress_port ^ 3; }
    }
}
V1Switch(L4Parser(), L4VerifyChecksum(), HideIngress(), L4Egress(), L4ComputeChecksum(), L4Deparser()) main;
`,
		"good.sfc": "NAT before Hide\n", "bad.sfc": "Hide before NAT\n",
	})
	catena(t, 0, "nf", "import", "Hide.p4")
	catena(t, 0, "chain", "verify", "good.sfc", "--packets", "30")
	out, _ := catena(t, 1, "chain", "verify", "bad.sfc", "--packets", "30")
	for _, want := range []string{"DIFFERENT after", "chain bad, path 1: Hide NAT\npacket on port ", "rules:\n    NAT.", "the NFs one after the other:\n    port ", "the merged program:\n    port ", "trace of the NFs:\n    Hide: receive", "trace of the merged program:\n    receive"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out, _ = catena(t, 1, "chain", "verify", "bad.sfc", "--packets", "30", "--json")
	var report verifyJSON
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	c := report.Comparisons[0].Counterexample
	if report.Equal || c == nil || slices.Equal(c.Want, c.Got) || len(c.Trace) == 0 || len(c.Data) > 2*40 {
		t.Errorf("%s", out)
	}
}

func TestChainProgramErrors(t *testing.T) {
	files(t, requestFiles)
	for _, tt := range []struct{ args, want string }{
		{"compile bad.sfc", `bad.sfc:1:12: error: no NF "Wall"; the library has Firewall, IDS, L2fwd, L3fwd, LB, NAT`},
		{"verify bad.sfc", `error: no NF "Nothing"`},
		{"compile nowhere.sfc", "nowhere.sfc"},
		{"compile dc.sfc --backbone wall", `no backbone "wall"; there are l2, vrouter, vrouter-guard, wire`},
		{"compile dc.sfc --target asic", `--target "asic" is unknown: use ebpf or bmv2`},
		{"verify dc.sfc --target bmv2", `--target "bmv2" is unknown: use interp or ebpf`},
		{"compile dc.sfc --strategy best", `--strategy "best" is unknown`},
		{"verify dc.sfc --packets 0", "--packets is a number from 1 on"},
		{"verify dc.sfc --max-loops 0", "--max-loops"},
		{"compile", "requires at least 1 arg"},
	} {
		_, errs := catena(t, 2, append([]string{"chain"}, strings.Fields(tt.args)...)...)
		if !strings.Contains(errs, tt.want) {
			t.Errorf("%s: %s, want %q", tt.args, errs, tt.want)
		}
	}
	if left, _ := filepath.Glob("*.p4"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
