package nf_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/nf"
)

// guard is a program like that of docs/nf-authoring.md, in several files.
const (
	guardMain = `#include <core.p4>
#include <v1model.p4>
#include "headers.p4"
#include "parts/limits.p4"
struct metadata { @shared l4_t l4; }
#include "l4.p4"
control GuardIngress(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    action drop() { mark_to_drop(standard_metadata); }
    table limits {
        key = { hdr.ipv4.ttl: ternary @name("ttl"); }
        actions = { drop; NoAction; }
        default_action = NoAction();
        size = LIMITS;
    }
    apply {
        if (hdr.ipv4.isValid() && hdr.ipv4.ttl < least) { limits.apply(); }
        @standalone { standard_metadata.egress_spec = standard_metadata.ingress_port ^ 3; }
    }
}
V1Switch(L4Parser(), L4VerifyChecksum(), GuardIngress(), L4Egress(), L4ComputeChecksum(), L4Deparser()) main;
`
	guardLimits = `#ifndef LIMITS
#include "../parts/size.p4"
#include "limits.p4"
const bit<8> least = 5;
#endif`
	guardSize = "#define LIMITS 64\n"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func openDir(t *testing.T, dir string) *nf.Library {
	t.Helper()
	l, err := nf.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func find(l *nf.Library, name string) *nf.NF {
	for _, n := range l.All() {
		if n.Name == name {
			return n
		}
	}
	return nil
}

func fine(*nf.NF) error { return nil }

// TestImport imports a program with files beside it, which then go away.
func TestImport(t *testing.T) {
	lib, from := filepath.Join(t.TempDir(), "state", "nf"), t.TempDir()
	write(t, from, map[string]string{"Guard.p4": guardMain, "parts/limits.p4": guardLimits, "parts/size.p4": guardSize})
	checked := ""
	info, err := openDir(t, lib).Import(io.Discard, filepath.Join(from, "Guard.p4"), func(n *nf.NF) error { checked = n.Name; return nil })
	if err != nil {
		t.Fatal(err)
	}
	if checked != "Guard" || len(info.Tables) != 1 || info.Tables[0].Size != 64 {
		t.Errorf("checked %q, tables %+v", checked, info.Tables)
	}
	if err := os.RemoveAll(from); err != nil {
		t.Fatal(err)
	}
	l := openDir(t, lib)
	n := find(l, "Guard")
	if n == nil || n.Program == nil || n.Folder != "" {
		t.Fatalf("%+v", n)
	}
	// Positions are those of the files that were imported.
	if p := l.FileSet().Position(n.Program.Ingress.Tables[0].Span); p.Line != 9 || filepath.Base(p.Filename) != "Guard.p4" {
		t.Errorf("the table stands at %s", p)
	}
	if _, err := l.Import(io.Discard, filepath.Join(lib, "Guard.p4"), fine); err != nil {
		t.Errorf("imported again: %v", err)
	}
	left, err := os.ReadDir(lib)
	if err != nil || len(left) != 1 {
		t.Errorf("in the folder are %v %v", left, err)
	}
}

// TestImportKeepsTheLibrary imports NFs that are called like the library's own files:
// others must go on including these.
func TestImportKeepsTheLibrary(t *testing.T) {
	lib, from := t.TempDir(), t.TempDir()
	write(t, from, map[string]string{"l4.p4": "#include \"other.p4\"\n", "other.p4": guardMain, "headers.p4": ""})
	source, err := nf.File("nat/nat.p4")
	if err != nil {
		t.Fatal(err)
	}
	write(t, from, map[string]string{"a/l4.p4": string(source), "b/MyNAT.p4": string(source)})
	l := openDir(t, lib)
	for _, file := range []string{"b/MyNAT.p4"} {
		if _, err := l.Import(io.Discard, filepath.Join(from, file), fine); err != nil {
			t.Fatal(err)
		}
	}
	// A text that includes itself under the library's name cannot be meant.
	if _, err := l.Import(io.Discard, filepath.Join(from, "a/l4.p4"), fine); err == nil {
		t.Error("a program that includes itself was imported")
	}
	write(t, lib, map[string]string{"headers.p4.bak": "", "sub/headers.p4": "nonsense"})
	if find(openDir(t, lib), "MyNAT") == nil {
		t.Error("MyNAT is gone")
	}
}

// TestWorkingDirectory opens the library where files are called like its own.
func TestWorkingDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"headers.p4": "nonsense", "firewall/headers.p4": "nonsense", "firewall/l4.p4": "nonsense", "backbone/sfc.p4": "nonsense"})
	t.Chdir(dir)
	l := openDir(t, "")
	if _, err := l.Backbone("wire"); err != nil {
		t.Error(err)
	}
}

func TestImportErrors(t *testing.T) {
	from := t.TempDir()
	write(t, from, map[string]string{
		"Broken.p4":   strings.NewReplacer(`#include "parts/limits.p4"`, "", "LIMITS", "4", "ttl < least", "tl < 5").Replace(guardMain),
		"Alone.p4":    guardMain, // without parts/
		"Firewall.p4": strings.Replace(guardMain, `#include "parts/limits.p4"`, "", 1),
		"my-nf.p4":    guardMain,
		"Macro.p4":    "#define LIMITS_FILE \"limits2.p4\"\n" + strings.Replace(guardMain, `#include "parts/limits.p4"`, "#include LIMITS_FILE", 1),
		"limits2.p4":  "#define LIMITS 4\nconst bit<8> least = 5;\n",
		"Refused.p4":  strings.NewReplacer(`#include "parts/limits.p4"`, "", "LIMITS", "4", "least", "5").Replace(guardMain),
	})
	refused := errors.New("it cannot be joined")
	for _, tt := range []struct {
		file, want string
		check      func(*nf.NF) error
	}{
		{"Broken.p4", `Broken.p4:16:`, fine},
		{"Alone.p4", "limits.p4", fine},
		{"Firewall.p4", "there is an NF Firewall in the library already", fine},
		{"my-nf.p4", "cannot be the name of an NF", fine},
		{"Macro.p4", "does not compile away from the files that it includes", fine},
		{"Refused.p4", "it cannot be joined", func(*nf.NF) error { return refused }},
		{"Nowhere.p4", "no such file", fine},
	} {
		lib := filepath.Join(t.TempDir(), "nf")
		_, err := openDir(t, lib).Import(io.Discard, filepath.Join(from, tt.file), tt.check)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.file, err, tt.want)
		}
		if left, _ := filepath.Glob(filepath.Join(lib, "*")); len(left) > 0 {
			t.Errorf("%s: left behind: %v", tt.file, left)
		}
		if hidden, _ := filepath.Glob(filepath.Join(lib, ".*")); len(hidden) > 0 {
			t.Errorf("%s: left behind: %v", tt.file, hidden)
		}
		if find(openDir(t, lib), strings.TrimSuffix(tt.file, ".p4")) != nil && tt.file != "Firewall.p4" {
			t.Errorf("%s is in the library", tt.file)
		}
	}
	if _, err := openDir(t, "").Import(io.Discard, filepath.Join(from, "Refused.p4"), fine); err == nil {
		t.Error("imported into a library without a folder")
	}
}

// TestRules checks which tables take rules: not those that have entries of the program,
// nor those with an action profile.
func TestRules(t *testing.T) {
	lib, from := t.TempDir(), t.TempDir()
	write(t, from, map[string]string{"Own.p4": strings.NewReplacer(`#include "parts/limits.p4"`, "", "LIMITS", "4", "least", "5",
		"    table limits {", `    action_profile(4) some;
    table chosen { key = { hdr.ipv4.ttl: exact @name("ttl"); } actions = { drop; } implementation = some; }
    table fixed { key = { hdr.ipv4.ttl: exact @name("ttl"); } actions = { drop; NoAction; } const entries = { 1: drop(); } default_action = NoAction(); }
    table first { key = { hdr.ipv4.ttl: exact @name("ttl"); } actions = { drop; NoAction; } entries = { 1: drop(); } default_action = NoAction(); }
    table limits {`, "limits.apply();", "limits.apply(); chosen.apply(); fixed.apply(); first.apply();").Replace(guardMain)})
	info, err := openDir(t, lib).Import(io.Discard, filepath.Join(from, "Own.p4"), fine)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Tables) != 1 || info.Tables[0].Name != "limits" {
		t.Errorf("tables %+v", info.Tables)
	}
}
