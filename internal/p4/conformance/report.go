package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4/tool"
)

// Target is a way of running programs.
type Target struct {
	Name string // as the page calls it
	Open func(*tool.Compiled) (target.Device, error)
}

// Targets are the interpreter and, where there is a kernel back end, its hooks.
func Targets(k tool.Kernel) []Target {
	out := []Target{{"interp", func(c *tool.Compiled) (target.Device, error) { return interp.New(c.Program, interp.Options{}) }}}
	if k == nil {
		return out
	}
	for _, hook := range tool.Hooks {
		out = append(out, Target{"ebpf, " + strings.ToUpper(hook), func(c *tool.Compiled) (target.Device, error) {
			return k.Device(c, hook)
		}})
	}
	return out
}

// CorpusHeading begins the part of the page that is about programs from elsewhere.
const CorpusHeading = "## The public compiler's test programs\n"

// Write writes the page docs/p4-conformance.md: how the targets do on the programs of
// own, a folder like this package's testdata, and on those of corpus, if it is not "".
func Write(w io.Writer, own, corpus string, targets []Target) error {
	var b bytes.Buffer
	b.WriteString("# P4_16 conformance\n\nWritten by `catena p4 conformance internal/p4/conformance/testdata ../shared/corpus`; a test compares it with what the\n" +
		"command prints. Each program is compiled, loaded on each target, and run through its packet script. *unsupported* means that\n" +
		"the compiler says so, at the place in the program; nothing is left to the kernel's verifier.\n\n")
	if err := ownPart(&b, own, targets); err != nil {
		return err
	}
	if corpus != "" {
		if err := corpusPart(&b, corpus, targets); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// results are the outcomes of the programs of a folder, by program and target.
type results struct {
	programs []string
	by       map[string][]tool.Outcome
}

// collect runs a folder on all targets. Programs to be rejected need just one.
func collect(dir string, targets []Target) (*results, error) {
	r := &results{by: map[string][]tool.Outcome{}}
	for _, t := range targets {
		all, err := tool.Corpus(dir, t.Open)
		if err != nil {
			return nil, fmt.Errorf("%s on %s: %w", dir, t.Name, err)
		}
		for _, o := range all {
			if r.by[o.Program] == nil {
				r.programs = append(r.programs, o.Program)
			}
			r.by[o.Program] = append(r.by[o.Program], o)
		}
	}
	sort.Strings(r.programs)
	return r, nil
}

func ownPart(b *bytes.Buffer, dir string, targets []Target) error {
	run, err := collect(filepath.Join(dir, "run"), targets)
	if err != nil {
		return err
	}
	b.WriteString("## The project's own programs\n\n| program | what it is about |")
	tableHead(b, targets)
	for _, p := range run.programs {
		about, err := firstParagraph(filepath.Join(dir, "run", p))
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "| %s | %s |", strings.TrimSuffix(p, ".txtar"), about)
		for _, o := range run.by[p] {
			fmt.Fprintf(b, " %s |", cell(o))
		}
		b.WriteByte('\n')
	}
	refused, err := collect(filepath.Join(dir, "reject"), targets[:1])
	if err != nil {
		return err
	}
	b.WriteString("\nPrograms that must be refused, by what they break:\n\n| programs | what they break | refused |\n|---|---|---|\n")
	for _, f := range refused.folders() {
		about, err := firstParagraph(filepath.Join(dir, "reject", f))
		if err != nil {
			return err
		}
		passed, total := refused.sum(f, 0)
		fmt.Fprintf(b, "| %s | %s | %d of %d |\n", strings.TrimSuffix(f, ".txtar"), about, passed, total)
	}
	b.WriteByte('\n')
	return nil
}

func corpusPart(b *bytes.Buffer, dir string, targets []Target) error {
	r, err := collect(dir, targets)
	if err != nil {
		return err
	}
	set, err := digest(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "%s\nThe set whose files have the digest %s.\n\n| folder | programs |", CorpusHeading, set)
	tableHead(b, targets)
	for _, f := range r.folders() {
		_, total := r.sum(f, 0)
		fmt.Fprintf(b, "| %s | %d |", f, total)
		for i := range targets {
			passed, _ := r.sum(f, i)
			fmt.Fprintf(b, " %d (%.1f %%) |", passed, 100*float64(passed)/float64(total))
		}
		b.WriteByte('\n')
	}
	var missed strings.Builder
	for _, p := range r.programs {
		for i, o := range r.by[p] {
			if o.Verdict == "pass" || path.Dir(p) == "reject" && i > 0 {
				continue
			}
			name := targets[i].Name
			if path.Dir(p) == "reject" {
				name = "all"
			}
			fmt.Fprintf(&missed, "| %s | %s | %s | %s |\n", p, name, o.Verdict, o.Detail)
		}
	}
	if missed.Len() > 0 {
		b.WriteString("\nWhat does not pass:\n\n| program | target | outcome | reason |\n|---|---|---|---|\n" + missed.String())
	}
	return nil
}

// digest tells sets of programs apart, by the names and contents of their files.
func digest(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		fmt.Fprintf(h, "%s %d\n", filepath.ToSlash(rel), len(text))
		h.Write(text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:6]), err
}

// SameSet tells whether two pages are about the same set of programs from elsewhere.
func SameSet(a, b string) bool {
	set := regexp.MustCompile(`(?m)^The set whose files have the digest .*$`)
	return set.FindString(a) == set.FindString(b)
}

func tableHead(b *bytes.Buffer, targets []Target) {
	line := "|---|---|"
	for _, t := range targets {
		b.WriteString(" " + t.Name + " |")
		line += "---|"
	}
	b.WriteString("\n" + line + "\n")
}

func cell(o tool.Outcome) string {
	if o.Detail == "" {
		return o.Verdict
	}
	return o.Verdict + ": " + o.Detail
}

// folders lists the folders, or archives of several programs, in order.
func (r *results) folders() []string {
	var out []string
	for _, p := range r.programs {
		if d := path.Dir(p); len(out) == 0 || out[len(out)-1] != d {
			out = append(out, d)
		}
	}
	return out
}

// sum counts the programs of a folder that pass on target i, and all.
func (r *results) sum(folder string, i int) (passed, total int) {
	for _, p := range r.programs {
		if path.Dir(p) != folder {
			continue
		}
		total++
		if i < len(r.by[p]) && r.by[p][i].Verdict == "pass" {
			passed++
		}
	}
	return passed, total
}

// firstParagraph is what an archive says about itself.
func firstParagraph(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	text, _, _ := strings.Cut(string(data), "\n-- ")
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`), nil
}
