package progen_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sort"
	"strings"
	"testing/fstest"

	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/compile"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/pass"
	"github.com/catena-nfv/catena/internal/p4/progen"
	"github.com/catena-nfv/catena/internal/p4/stf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// failure is what went wrong with a program.
type failure struct {
	kind   string // what a smaller program has to share
	detail string
}

// recorder notes what a device does.
type recorder struct {
	target.Device
	log []string
}

func (r *recorder) Inject(p target.Packet) ([]target.Packet, error) {
	out, err := r.Device.Inject(p)
	line := fmt.Sprintf("packet %d %x:", p.Port, p.Data)
	if err != nil {
		line += " " + err.Error()
	}
	var lines []string
	for _, o := range out {
		lines = append(lines, fmt.Sprintf("\n  port %d %x", o.Port, o.Data))
	}
	sort.Strings(lines) // between copies there is no order
	for _, d := range r.Device.Digests() {
		lines = append(lines, fmt.Sprintf("\n  digest %s %x", d.Name, d.Values))
	}
	r.log = append(r.log, line+strings.Join(lines, ""))
	return out, err
}

// observe runs a script on a device and tells all that came of it, a line a packet,
// then the state that is left.
func observe(script []string, p *ir.Program, d target.Device) ([]string, error) {
	var lines []string
	for _, line := range script {
		var cut target.CloneSession
		cut.Replicas = make([]target.Replica, 1)
		if n, _ := fmt.Sscanf(line, "mirroring_add_cut %d %d %d", &cut.ID, &cut.Replicas[0].Port, &cut.Truncate); n != 3 {
			lines = append(lines, line)
		} else if err := d.WriteClone(target.Insert, cut); err != nil {
			return nil, err
		}
	}
	s, err := stf.Parse("script", strings.Join(lines, "\n")+"\n")
	if err != nil {
		return nil, err
	}
	rec := &recorder{Device: d}
	for _, f := range stf.Run(s, p, rec).Failures {
		if strings.Contains(f.Message, "limit reached") {
			rec.log = append(rec.log, f.Message)
		}
	}
	return append(rec.log, state(p, d)...), nil
}

// state tells what counters, direct ones too, and registers hold that is not zero: what is never used
// may have gone from a program.
func state(p *ir.Program, d target.Device) []string {
	seen := map[string]bool{}
	var out []string
	for _, c := range p.Controls() {
		for _, t := range c.Tables {
			if t.Counter == nil || seen[t.FullName] {
				continue
			}
			seen[t.FullName] = true
			entries, _, err := d.ReadEntries(t.FullName)
			if err != nil {
				out = append(out, t.FullName+": "+err.Error())
			}
			for _, e := range entries {
				if e.Counter != nil && *e.Counter != (target.Counter{}) {
					out = append(out, fmt.Sprint(target.Identity(e), " ", *e.Counter))
				}
			}
		}
		for _, x := range c.Instances {
			if seen[x.FullName] {
				continue
			}
			seen[x.FullName] = true
			for i := range min(x.Size, 8) {
				line := ""
				switch x.Kind {
				case ir.KindCounter:
					if v, err := d.ReadCounter(x.FullName, i); err != nil || v != (target.Counter{}) {
						line = fmt.Sprint(" ", v, err)
					}
				case ir.KindRegister:
					v, err := d.ReadRegister(x.FullName, i)
					if err != nil {
						line = fmt.Sprint(" ", err)
					}
					for _, b := range v {
						if s := strings.TrimLeft(string(b), "\x00"); s != "" {
							line += fmt.Sprintf(" %x", s)
						}
					}
				}
				if line != "" {
					out = append(out, fmt.Sprintf("%s[%d]%s", x.FullName, i, line))
				}
			}
		}
	}
	sort.Strings(out)
	return out
}

func front(text string) (*ir.Program, *diag.FileSet, *failure) {
	p, fset, diags := compile.File("p.p4", compile.Options{FS: fstest.MapFS{"p.p4": {Data: []byte(text)}}})
	if err := diags.Err(fset); err != nil {
		var errs diag.List
		for _, d := range diags {
			if d.Severity == diag.Error {
				errs = append(errs, d)
			}
		}
		return nil, nil, &failure{"rejected " + string(errs[0].Code), errs.Err(fset).Error()}
	}
	if err := ir.Verify(p); err != nil {
		return nil, nil, &failure{"malformed", err.Error()}
	}
	return p, fset, nil
}

// compare says where two observations part.
func compare(way string, want, got []string) *failure {
	for i := range want {
		if i >= len(got) || want[i] != got[i] {
			g := "nothing"
			if i < len(got) {
				g = got[i]
			}
			return &failure{"differs " + way, fmt.Sprintf("expected %s\ngot      %s", want[i], g)}
		}
	}
	if len(got) > len(want) {
		return &failure{"differs " + way, "more: " + got[len(want)]}
	}
	return nil
}

// ways says what to compare with.
type ways struct {
	hooks []ebpf.Target
	way   string // in which the kernel's program is laid out; "": the first that it takes
	stats *stats
}

type stats struct {
	programs, loaded, unsupported int
	ways                          map[string]int // in which programs were loaded
	beyond                        []string       // what was told of programs that are beyond a limit
}

func newStats() *stats { return &stats{ways: map[string]int{}} }

// check runs a case every way. It returns nil if all agree.
func (w ways) check(c progen.Case) (f *failure) {
	stage := "front end"
	defer func() {
		if e := recover(); e != nil {
			f = &failure{"panic in " + stage, fmt.Sprintf("%v\n%s", e, debug.Stack())}
		}
	}()
	text := c.Program.String()
	p, files, f := front(text)
	if f != nil {
		return f
	}
	stage = "interpreter"
	reference := func(p *ir.Program) ([]string, *failure) {
		d, err := interp.New(p, interp.Options{})
		if err != nil {
			return nil, &failure{"interpreter", err.Error()}
		}
		log, err := observe(c.Script, p, d)
		if err != nil {
			return nil, &failure{"script", err.Error()}
		}
		return log, nil
	}
	want, f := reference(p)
	if f != nil {
		return f
	}
	for _, line := range want {
		if strings.Contains(line, "limit reached") || strings.Contains(line, "script:") {
			return &failure{"script", line}
		}
	}
	again := func(way string, p *ir.Program) *failure {
		stage = "printing " + way
		text, err := p4text.Print(p)
		if err != nil {
			return &failure{"cannot print " + way, err.Error()}
		}
		q, _, f := front(text)
		if f != nil {
			return &failure{"printed " + way + " " + f.kind, f.detail + "\n" + text}
		}
		got, f := reference(q)
		if f != nil {
			return f
		}
		if f := compare("printed "+way, want, got); f != nil {
			f.detail += "\n" + text
			return f
		}
		return nil
	}
	if f := again("as lowered", p); f != nil {
		return f
	}
	stage = "passes"
	if diags := pass.Run(p, pass.Options{Verify: true}); diags.HasErrors() {
		return &failure{"passes", diags[0].Message}
	}
	got, f := reference(p)
	if f != nil {
		return f
	}
	if f := compare("behind the passes", want, got); f != nil {
		return f
	}
	if f := again("behind the passes", p); f != nil {
		return f
	}
	if len(w.hooks) == 0 {
		return nil
	}
	stage = "ebpf"
	spec, diags := ebpf.Generate(p, files)
	w.stats.programs++
	if diags.HasErrors() {
		w.stats.unsupported++
		if ebpf.IsUnsupported(diags[0]) {
			return nil
		}
		return &failure{"ebpf", diags[0].Message}
	}
	for _, hook := range w.hooks {
		if spec.Targets[hook] != "" {
			continue
		}
		d, f := w.load(spec, hook)
		if f != nil && f.kind == beyondLimits {
			w.stats.beyond = append(w.stats.beyond, f.detail)
			continue
		}
		if f != nil {
			return f
		}
		w.stats.loaded++
		got, err := observe(c.Script, p, d)
		d.Close()
		if err != nil {
			return &failure{"script", err.Error()}
		}
		if f := compare("on "+string(hook), want, got); f != nil {
			return f
		}
	}
	return nil
}

func (w ways) load(spec *ebpf.Spec, hook ebpf.Target) (*dataplane.TestDevice, *failure) {
	obj, err := dataplane.Build(context.Background(), spec, dataplane.BuildOptions{Targets: []ebpf.Target{hook}, Test: true, Way: w.way})
	if err != nil {
		return nil, refused("clang", err)
	}
	p, err := dataplane.Load(context.Background(), obj, dataplane.LoadOptions{})
	if err != nil {
		return nil, refused("verifier", err)
	}
	w.stats.ways[obj.Way(hook)]++
	d, err := dataplane.OpenTestDevice(p, hook)
	if err != nil {
		p.Close()
		return nil, &failure{"device", err.Error()}
	}
	return d, nil
}

// beyondLimits is the kind of failure that is none: a limit of the kernel, told with its place.
const beyondLimits = "beyond limits"

func refused(who string, err error) *failure {
	var r *dataplane.Refusal
	if errors.As(err, &r) && r.Limit != nil && r.Line > 0 {
		return &failure{beyondLimits, err.Error()}
	}
	return &failure{who, err.Error()}
}
