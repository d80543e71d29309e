package dataplane

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/dataplane/tables"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/diag"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// Refusal is the error of a program that the kernel does not take in any way. It says where in the P4 text, and why:
// mostly because it is beyond a limit of the kernel; it then wraps target.ErrUnsupported.
type Refusal struct {
	Program string
	Target  ebpf.Target
	Limit   *ebpf.Limit // nil: none that is known, which is a fault of the compiler
	Message string      // what the program needs
	// File and Line are the place in the P4 text, line 0: unknown.
	File string
	Line int
	// Log is what clang or the verifier said, and LogFile where that is kept; "": nowhere.
	Log     []string
	LogFile string

	// Where in the C text: a line of it, a function or a map, or the last of maps in the order of the text that fits.
	line int
	name string
	maps []string
}

func (r *Refusal) Error() string {
	at := ""
	if r.Line > 0 {
		at = fmt.Sprintf("%s:%d: ", r.File, r.Line)
	}
	d := r.Diagnostic(nil)
	text := fmt.Sprintf("%sprogram %q cannot run on %s: %s [%s]", at, r.Program, r.Target, d.Message, d.Code)
	for _, n := range d.Notes {
		text += "\n\t" + n.Message
	}
	return text
}

func (r *Refusal) Unwrap() error {
	if r.Limit == nil {
		return nil
	}
	return target.ErrUnsupported
}

// Diagnostic is the refusal as what the compiler says of the program. files are those of the program; nil: without a
// place.
func (r *Refusal) Diagnostic(files *diag.FileSet) *diag.Diagnostic {
	var at diag.Span
	if files != nil {
		at = files.Line(r.File, r.Line)
	}
	d := &diag.Diagnostic{Span: at, Code: ebpf.Refused, Message: r.Message}
	if r.Limit != nil {
		d = r.Limit.Diagnostic(at, r.Message)
	} else {
		d.Note(diag.Span{}, "this is a fault of the compiler: please report it, with the program")
	}
	if r.LogFile != "" {
		d.Note(diag.Span{}, "what was said is in %s", r.LogFile)
	}
	return d
}

// beyond is the refusal of a program that is beyond a limit.
func beyond(l ebpf.Limit, format string, args ...any) *Refusal {
	return &Refusal{Limit: &l, Message: fmt.Sprintf(format, args...)}
}

// complaint is what clang or the verifier says when a program is beyond a limit.
type complaint struct {
	says  *regexp.Regexp
	limit ebpf.Limit
	means string
}

var ofClang = []complaint{
	{regexp.MustCompile(`(?i)BPF stack limit|stack (size|limit)[^\n]*exceed`), ebpf.LimitStack, "this needs more than 512 bytes of stack"},
	{regexp.MustCompile(`(?i)branch target out of|fixup value out of range|insn range`), ebpf.LimitJump, "this is too long for one function"},
}

var ofVerifier = []complaint{
	{regexp.MustCompile(`program is too large|sequence of \d+ jumps is too complex`), ebpf.LimitInstructions, "there are too many ways through this"},
	{regexp.MustCompile(`combined stack size|stack depth [^\n]* exceed`), ebpf.LimitStack, "this needs more than 512 bytes of stack"},
	{regexp.MustCompile(`call stack of \d+ frames|frames is too deep`), ebpf.LimitCalls, "calls are nested too deeply here"},
	{regexp.MustCompile(`too many subprograms`), ebpf.LimitFunctions, "the program needs more than 256 functions"},
	{regexp.MustCompile(`maps has reached the limit|used maps`), ebpf.LimitMaps, "the program needs more than 64 maps"},
}

// refusedMap is why the kernel makes no map; nil if that was not the error.
func refusedMap(err error) *Refusal {
	name, what, _ := strings.Cut(strings.TrimPrefix(err.Error(), "map "), ": ")
	if !strings.HasPrefix(err.Error(), "map ") {
		return nil
	}
	for _, e := range []error{unix.E2BIG, unix.EINVAL, unix.ENOMEM} {
		if errors.Is(err, e) {
			r := beyond(ebpf.LimitMapSize, "the kernel cannot keep this (%s)", what)
			r.name = name
			return r
		}
	}
	return nil
}

// refusedEntry is why a table does not take the program's own entries; nil if that was not the error.
func refusedEntry(err error) *Refusal {
	var own *tables.OwnEntryError
	if !errors.As(err, &own) || !errors.Is(err, target.ErrFull) || own.Table.Kind != ebpf.KindTuples {
		return nil
	}
	r := beyond(ebpf.LimitMasks, "entry %d of table %q does not fit (%v)", own.Entry+1, own.Table.Name, own.Err)
	r.name = "apply_" + strings.TrimPrefix(own.Table.Map, ".data.") // its function
	return r
}

var (
	clangLine    = regexp.MustCompile(`<stdin>:(\d+):\d+: (?:fatal )?error: `)
	verifierLine = regexp.MustCompile(`@ <stdin>:(\d+)`)
	validating   = regexp.MustCompile(`^Validating (\w+)\(\) func#`)
)

// understand finds out why something was refused.
func understand(log string, known []complaint) *Refusal {
	for _, c := range known {
		if c.says.MatchString(log) {
			return beyond(c.limit, "%s", c.means)
		}
	}
	return nil
}

// refusedByClang is why clang takes no program.
func refusedByClang(msg string) *Refusal {
	r := understand(msg, ofClang)
	if r == nil {
		r = &Refusal{Message: "clang refuses what the compiler made of this"}
	}
	r.Log = strings.Split(strings.TrimRight(msg, "\n"), "\n")
	r.line = number(clangLine.FindStringSubmatch(msg))
	return r
}

// refusedByVerifier is why the verifier takes no program.
func refusedByVerifier(log []string) *Refusal {
	r := understand(strings.Join(tail(log, 6), "\n"), ofVerifier)
	known := r != nil
	if !known {
		r = &Refusal{Message: "the kernel's verifier refuses what the compiler made of this"}
	}
	r.Log, r.name = log, ebpf.ProgramName
	for _, l := range slices.Backward(log) {
		if m := validating.FindStringSubmatch(l); m != nil {
			r.name = m[1]
			break
		}
		if r.line == 0 && !known { // of what is too much, the end says nothing
			r.line = number(verifierLine.FindStringSubmatch(l))
		}
	}
	return r
}

func number(match []string) int {
	n := 0
	if match != nil {
		_, _ = fmt.Sscan(match[1], &n) // digits
	}
	return n
}

func tail(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

var lineMark = regexp.MustCompile(`^#line (\d+) "(.*)"$`)

// unmarked is a C text with its lines as they stand, for messages that name them.
func unmarked(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if lineMark.MatchString(l) {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// place finds where in the P4 text something of the C text comes from. What stands for nothing there is taken to be
// of the ingress.
func (r *Refusal) place(text string) {
	lines := strings.Split(text, "\n")
	if len(r.maps) > maxMaps {
		slices.SortFunc(r.maps, func(a, b string) int { return defined(lines, a) - defined(lines, b) })
		// Those of every program stand in front; behind this one the others do not fit.
		r.name = r.maps[maxMaps]
	}
	for _, at := range []int{r.line, defined(lines, r.name), defined(lines, "ingress")} {
		if at == 0 {
			continue
		}
		for i := min(at, len(lines)) - 1; i >= 0; i-- {
			m := lineMark.FindStringSubmatch(lines[i])
			if m == nil {
				continue
			}
			if m[2] != ebpf.Generated {
				r.File, r.Line = m[2], number(m)
				return
			}
			break
		}
	}
}

// defined is the line, from 1, on which a function or a map is defined; 0: none.
func defined(lines []string, name string) int {
	if name == "" {
		return 0
	}
	function := regexp.MustCompile(`^\S.*\b` + regexp.QuoteMeta(name) + `\(.*\)$`)
	object := "} " + name + ` SEC(".maps");`
	return 1 + slices.IndexFunc(lines, func(l string) bool { return l == object || function.MatchString(l) })
}
