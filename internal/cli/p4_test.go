package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const forward = `
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> x; }
struct headers { h_t h; }
struct metadata { }
parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h); transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    action out_(bit<9> port) { sm.egress_spec = port; }
    action drop() { mark_to_drop(sm); }
    table t { key = { hdr.h.x: exact; } actions = { out_; drop; } default_action = drop(); }
    apply { t.apply(); }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr.h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
`

// p4 runs the command in a folder with the files good.p4, bad.p4, pass.stf, fail.stf
// and in.pcap, and returns its exit code and output.
func p4(t *testing.T, dir string, args ...string) (code int, out, errOut string) {
	t.Helper()
	cmd := P4Command(nil, nil)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var o, e bytes.Buffer
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	for i, a := range args {
		if strings.Contains(a, ".") || a == "out" {
			args[i] = filepath.Join(dir, a)
		}
	}
	cmd.SetArgs(args)
	err := cmd.Execute()
	if err != nil {
		e.WriteString(Message(err))
	}
	return CodeOf(err), o.String(), e.String()
}

func p4Files(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	// A capture of two packets, 01 and 02, both at time 0.
	pcap := "\xd4\xc3\xb2\xa1\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x00\x00\x01\x00\x00\x00"
	for _, b := range []string{"\x01", "\x02"} {
		pcap += "\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00" + b
	}
	for name, text := range map[string]string{
		"good.p4": forward, "bad.p4": strings.Replace(forward, "sm.egress_spec = port", "sm.egress_spec = hdr", 1),
		"pass.stf": "add t h.x:1 out_(port:3)\npacket 1 01\nexpect 3 01 $\n",
		"fail.stf": "packet 1 01\nexpect 3 01 $\n", "broken.stf": "nonsense\n", "in.pcap": pcap,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestP4(t *testing.T) {
	dir := p4Files(t)
	for _, c := range []struct {
		args     string
		code     int
		out, err string // parts of what is printed
	}{
		{"check good.p4", 0, "", ""},
		{"check good.p4 --json", 0, "[]", ""},
		{"check good.p4 --dump-after lower", 0, "table t {", ""},
		{"check good.p4 --dump-after nothing", 2, "", "there is no pass"},
		{"check bad.p4", 2, "", "bad.p4:12:"},
		{"check bad.p4 --json", 2, `"line": 12`, "rejected"},
		{"check none.p4", 2, "", "none.p4"},
		{"stf good.p4 pass.stf", 0, "PASS", ""},
		{"stf good.p4 pass.stf --json", 0, `"passed": true`, ""},
		{"stf good.p4 pass.stf --trace", 0, "table I.t", ""},
		{"stf good.p4 fail.stf", 1, "fail.stf:2: port 3: packet 1 of 1 did not come", ""},
		{"stf good.p4 broken.stf", 1, "", "broken.stf:1: unknown command"},
		{"stf bad.p4 pass.stf", 2, "", "bad.p4:12:"},
		{"stf good.p4 pass.stf --target ebpf", 2, "", "without the kernel back end"},
		{"stf good.p4 pass.stf --target x", 2, "", "there is no target"},
		{"build good.p4 -o out --target bmv2", 0, "good.p4info.txtpb", ""},
		{"run good.p4 --pcap in.pcap --out out.pcapng --entries pass.stf", 0, "2 packets in, 1 out, 1 dropped", ""},
		{"run good.p4 --pcap in.pcap --entries pass.stf --trace", 0, "drop: at the end of ingress", ""},
		{"run good.p4 --pcap good.p4", 1, "", "good.p4"},
	} {
		code, out, errOut := p4(t, dir, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errOut, c.err) {
			t.Errorf("p4 %s: exit %d, want %d\n%s\n%s", c.args, code, c.code, out, errOut)
		}
	}
	for _, name := range []string{"good.p4info.txtpb", "good.p4info.bin", "good.p4"} {
		if s, err := os.Stat(filepath.Join(dir, "out", name)); err != nil || s.Size() == 0 {
			t.Errorf("build did not write %s: %v", name, err)
		}
	}
	// What comes out can go in again.
	code, out, errOut := p4(t, dir, "run", "good.p4", "--pcap", "out.pcapng", "--entries", "pass.stf", "--capture-ports")
	if code != 0 || !strings.Contains(out, "packet 1: port 1 (1 bytes) -> port 3 (1 bytes)") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
}
