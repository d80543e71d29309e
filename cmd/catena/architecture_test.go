package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/catena-nfv/catena/internal/dataplane"
	backend "github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/syntax"
	"github.com/catena-nfv/catena/internal/p4/tool"
)

// TestArchitecturePage compares what docs/architecture.md shows of the way of one field,
// from its source to instructions, with what the compiler makes of docs/ttl.p4. With
// -update it writes the page.
func TestArchitecturePage(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	source := filepath.Join(docs, "ttl.p4")
	stages := map[string]string{}

	prog, diags := syntax.ParseFile(diag.NewFileSet(), source, syntax.Options{})
	if diags.HasErrors() {
		t.Fatal(diags[0].Message)
	}
	for _, d := range prog.Decls {
		if c, ok := d.(*syntax.Control); ok && c.Name.Text == "I" {
			branch := c.Body.Stmts[1].(*syntax.If)
			stages["tree"] = tree(branch.Then.(*syntax.Block).Stmts[0])
		}
	}
	c, err := tool.Compile(tool.Source{Path: source})
	if err != nil {
		t.Fatal(err)
	}
	ir.Walk(c.Program.Ingress.Body.Body, func(s ir.Stmt) {
		if i, ok := s.(*ir.If); ok {
			stages["ir"] = tree(i.Then[0])
		}
	})
	names := tool.Stages()
	text, err := tool.Dump(c, names[len(names)-1])
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = strings.Cut(text, "control ") // behind the types
	stages["passes"] = about(text)
	p, err := optimize(c.Program)
	if err != nil {
		t.Fatal(err)
	}
	spec, diags := backend.Generate(p, nil) // without #line
	if diags.HasErrors() {
		t.Fatal(diags.Err(c.Files))
	}
	stages["c"] = about(spec.Source)
	obj, err := dataplane.Build(context.Background(), spec, dataplane.BuildOptions{Targets: []backend.Target{backend.TC}})
	if err != nil {
		t.Fatal(err)
	}
	stages["bpf"] = instructions(t, spec.Source, obj.ELF[backend.TC])

	file := filepath.Join(docs, "architecture.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	want := regexp.MustCompile("(?s)(<!-- (\\w+) -->\n```\\w*\n)(.*?)(```\n)").ReplaceAllStringFunc(string(page), func(block string) string {
		open, rest, _ := strings.Cut(block, "```")
		lang, _, _ := strings.Cut(rest, "\n")
		name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(open), "<!-- "), " -->")
		if stages[name] == "" {
			t.Errorf("%s shows %q, which is not there", file, name)
		}
		found++
		if name == "bpf" && !*update {
			return block // it differs from one clang to the next
		}
		return open + "```" + lang + "\n" + stages[name] + "```\n"
	})
	if found != len(stages) {
		t.Errorf("%s shows %d of %d stages", file, found, len(stages))
	}
	if want == string(page) {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s shows what the compiler no longer makes; run this test with -update", file)
}

// about gives the lines of a text that are about the field.
func about(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, "ttl") {
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	return b.String()
}

// tree prints the nodes of a syntax tree or of the IR, a line each.
func tree(node any) string {
	var b strings.Builder
	var visit func(v reflect.Value, label string, depth int)
	visit = func(v reflect.Value, label string, depth int) {
		s := v.Elem()
		fmt.Fprintf(&b, "%s%s%s", strings.Repeat("  ", depth), label, v.Type())
		var kids []int
		for i := range s.NumField() {
			f, x := s.Type().Field(i), s.Field(i)
			switch x.Kind() {
			case reflect.Interface:
				if f.Name != "T" && !x.IsNil() && x.Elem().Kind() == reflect.Pointer {
					kids = append(kids, i)
				}
			case reflect.Pointer:
				if n := reflect.Indirect(x).FieldByName("Name"); f.Name == "Field" || f.Name == "Var" {
					fmt.Fprintf(&b, " %s", n)
				} else if n, ok := x.Interface().(fmt.Stringer); ok && f.Name == "Value" {
					fmt.Fprintf(&b, " %s", n)
				}
			case reflect.Struct:
				if n, ok := x.Interface().(syntax.Name); ok {
					b.WriteString(" " + n.Text)
				}
				if p, ok := x.Interface().(syntax.Path); ok {
					b.WriteString(" " + p.Name.Text)
				}
			default:
				if f.Name == "Op" && s.Type().Name() == "Binary" {
					fmt.Fprintf(&b, " %v", x.Interface())
				}
			}
		}
		b.WriteByte('\n')
		for _, i := range kids {
			visit(s.Field(i).Elem(), s.Type().Field(i).Name+": ", depth+1)
		}
	}
	visit(reflect.ValueOf(node), "", 0)
	return b.String()
}

// instructions prints the instructions that come from the lines of the C text that are
// about the field.
func instructions(t *testing.T, source string, elf []byte) string {
	lines := strings.Split(source, "\n")
	coll, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(elf))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range coll.Programs {
		ours, offset := false, 0
		for _, ins := range p.Instructions {
			if src, ok := ins.Source().(*btf.Line); ok && src.LineNumber() > 0 && int(src.LineNumber()) <= len(lines) {
				line := strings.TrimSpace(lines[src.LineNumber()-1])
				if ours = strings.Contains(line, "ttl"); ours {
					fmt.Fprintf(&b, "; %s\n", line)
				}
			}
			if ours {
				fmt.Fprintf(&b, "%4d: %v\n", offset, ins)
			}
			offset += int(ins.Size()) / 8
		}
	}
	return b.String()
}
