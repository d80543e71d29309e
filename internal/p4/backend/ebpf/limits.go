package ebpf

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// Limit is a limit of the kernel that a program may be beyond. It becomes a diagnostic: something is unsupported on this
// target.
type Limit struct {
	Code diag.Code
	Is   string // the limit
	Then string // the way out
}

// The limits of the kernel, and of tables in it. That of headers and rounds of loops are in the package comment: they are this compiler's.
var (
	LimitStack = Limit{"ebpf/stack", "the kernel gives a program and all functions that are called at a time 512 bytes of stack",
		"use fewer or narrower values at once: copy less between headers, and compute with narrower numbers"}
	LimitInstructions = Limit{"ebpf/instructions", "the kernel follows the ways through a program for 1,000,000 instructions",
		"take something out of the program, or make two of it on two switches: branches, parser states and wide arithmetic cost most"}
	LimitMaps = Limit{"ebpf/maps", "the kernel lets a program use 64 maps: each table, counter, meter and register is one",
		"use fewer of them: tables with the same key can be one table, registers with the same index one of a wider type"}
	LimitMapSize = Limit{"ebpf/map-size", "the kernel bounds the size of a map, of its keys and of its elements",
		"make the table or array smaller, or its keys and parameters narrower"}
	LimitCalls = Limit{"ebpf/calls", "the kernel lets 8 functions be called within one another",
		"nest loops and tables less deeply"}
	LimitFunctions = Limit{"ebpf/functions", "the kernel knows 256 functions in a program",
		"take tables or actions out of the program"}
	LimitJump = Limit{"ebpf/jump", "an instruction of the kernel jumps over 32,767 others at most",
		"make the largest parser, control or action smaller"}
	LimitMasks = Limit{"ebpf/masks", fmt.Sprintf("the entries of a table have %d different masks at most: a ternary or lpm key counts as its mask, a range as "+
		"the masks of all the aligned blocks that it is made of, those of several keys multiplied", MaxMasks),
		"let ranges begin and end at multiples of powers of two, or divide the table, by a second one for the entries with other masks"}
)

// Diagnostic is what to say of something that is beyond the limit: message names it, such as "576 bytes of stack".
func (l Limit) Diagnostic(at diag.Span, message string) *diag.Diagnostic {
	d := &diag.Diagnostic{Span: at, Code: l.Code, Message: message + ", which is unsupported on the ebpf target"}
	d.Note(diag.Span{}, "%s", l.Is)
	return d.Note(diag.Span{}, "%s", l.Then)
}

// Refused is the code of a diagnostic for a program that the kernel's verifier or clang refuses though it is within all
// limits known: a fault of this compiler.
const Refused diag.Code = "ebpf/refused"

// IsUnsupported tells whether a diagnostic says that the target cannot do something.
func IsUnsupported(d *diag.Diagnostic) bool {
	switch d.Code {
	case Unsupported, LimitStack.Code, LimitInstructions.Code, LimitMaps.Code, LimitMapSize.Code, LimitCalls.Code,
		LimitFunctions.Code, LimitJump.Code, LimitMasks.Code:
		return true
	}
	return false
}

// Generated is the file that lines of Split are said to come from that stand for nothing in the P4 text.
const Generated = "<generated>"
