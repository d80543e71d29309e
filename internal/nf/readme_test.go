package nf_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/service"
)

var (
	heading   = regexp.MustCompile("^### `([^`]+)`$")
	keyRow    = regexp.MustCompile("^\\| `([^`]+)` \\| (exact|lpm|ternary|range|optional) \\| (\\d+) \\|")
	actionRow = regexp.MustCompile("^\\| `([^`]+)` \\| ([^|]*)\\|")
	parameter = regexp.MustCompile("`([^`]+)` \\((\\d+)\\)")
)

// describe lists tables, keys, actions and parameters in lines, as a page does.
func describe(n service.NFInfo) []string {
	var out []string
	for _, t := range n.Tables {
		out = append(out, "table "+t.Name)
		for _, k := range t.Keys {
			out = append(out, fmt.Sprintf("key %s %s %d", k.Name, k.Match, k.Bits))
		}
		for _, a := range t.Actions {
			line := "action " + a.Name
			for _, p := range a.Params {
				line += fmt.Sprintf(" %s %d", p.Name, p.Bits)
			}
			out = append(out, line)
		}
	}
	return out
}

// page reads the same off a page.
func page(text string) []string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if m := heading.FindStringSubmatch(line); m != nil {
			out = append(out, "table "+m[1])
		} else if m := keyRow.FindStringSubmatch(line); m != nil {
			out = append(out, strings.Join(append([]string{"key"}, m[1:]...), " "))
		} else if m := actionRow.FindStringSubmatch(line); m != nil {
			row := "action " + m[1]
			for _, p := range parameter.FindAllStringSubmatch(m[2], -1) {
				row += " " + p[1] + " " + p[2]
			}
			out = append(out, row)
		}
	}
	return out
}

// TestPages compares each NF's page with its program: the same tables, keys, actions and
// parameters, in the same order, and the manifest's words in the title.
func TestPages(t *testing.T) {
	for _, n := range open(t).All() {
		text, err := nf.File(n.Folder + "/README.md")
		if err != nil {
			t.Fatal(err)
		}
		want, got := strings.Join(describe(n.Info), "\n"), strings.Join(page(string(text)), "\n")
		if got != want {
			t.Errorf("%s: the page says\n%s\nthe program has\n%s", n.Name, got, want)
		}
		title, _, _ := strings.Cut(string(text), "\n")
		if !strings.HasPrefix(title, "# "+n.Name+": ") {
			t.Errorf("%s: the page's title is %q", n.Name, title)
		}
	}
}
