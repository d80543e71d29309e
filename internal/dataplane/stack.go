package dataplane

import (
	"bytes"
	"fmt"
	"slices"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// maxStack is how many bytes of stack a program and the functions that it calls may
// use together; the kernel rounds each function's frame up to stackUnit.
const (
	maxStack  = 512
	stackUnit = 32
)

// maxMaps is how many maps a program may use, maxFunctions how many functions it may have, and maxFrames how many of
// them may be called within one another.
const (
	maxMaps      = 64
	maxFunctions = 256
	maxFrames    = 8
)

// checkLimits fails if an object would exceed a limit of the kernel that clang does not
// know.
func checkLimits(elf []byte) error {
	c, err := cebpf.LoadCollectionSpecFromReader(bytes.NewReader(elf))
	if err != nil {
		return fmt.Errorf("compiled object: %w", err)
	}
	p := c.Programs[ebpf.ProgramName]
	if p == nil {
		return fmt.Errorf("compiled object: no program %s", ebpf.ProgramName)
	}
	var order []string // the maps in use
	used := map[string]bool{}
	for _, ins := range p.Instructions {
		if m := ins.Reference(); ins.IsLoadFromMap() && !used[m] {
			used[m] = true
			order = append(order, m)
		}
	}
	if len(order) > maxMaps {
		r := beyond(ebpf.LimitMaps, "from here on the program has more maps than a program can have, %d in all", len(order))
		r.maps = order
		return r
	}
	return checkStack(p)
}

// checkStack fails if a program would exceed the kernel's limits of stack: clang looks at single functions only.
func checkStack(p *cebpf.ProgramSpec) error {
	frames, calls := map[string]int{}, map[string][]string{}
	name := ""
	// Registers that hold the frame pointer plus a constant.
	fp := map[asm.Register]int{}
	use := func(off int) { frames[name] = max(frames[name], -off) }
	for _, ins := range p.Instructions {
		if s := ins.Symbol(); s != "" {
			if _, ok := frames[s]; !ok && isFunction(p.Instructions, s, name) {
				name = s
				frames[name] = 0
			}
			fp = map[asm.Register]int{}
		}
		class := ins.OpCode.Class()
		off, derived := fp[ins.Dst]
		if class.IsLoad() || class.IsALU() {
			delete(fp, ins.Dst) // unless it is one of the two below
		}
		switch {
		case ins.IsFunctionCall() || ins.IsLoadOfFunctionPointer():
			calls[name] = append(calls[name], ins.Reference())
		case class.IsLoad() && ins.Src == asm.R10, class.IsStore() && ins.Dst == asm.R10:
			use(int(ins.Offset))
		case class == asm.ALU64Class && ins.OpCode.ALUOp() == asm.Mov && ins.OpCode.Source() == asm.RegSource && ins.Src == asm.R10:
			fp[ins.Dst] = 0
		case class == asm.ALU64Class && ins.OpCode.ALUOp() == asm.Add && ins.OpCode.Source() == asm.ImmSource && derived:
			fp[ins.Dst] = off + int(ins.Constant)
			use(off + int(ins.Constant))
		}
	}
	if len(frames) > maxFunctions {
		return beyond(ebpf.LimitFunctions, "the program needs %d functions", len(frames))
	}
	if c := deepest(ebpf.ProgramName, nil, calls, map[string]bool{}); len(c.functions) > maxFrames {
		r := beyond(ebpf.LimitCalls, "here %d functions are called within one another", len(c.functions))
		r.name = c.functions[0]
		return r
	}
	chain := deepest(ebpf.ProgramName, frames, calls, map[string]bool{})
	if n := chain.bytes; n > maxStack {
		r := beyond(ebpf.LimitStack, "this and what calls it need %d bytes of stack", n)
		r.name = slices.MaxFunc(chain.functions, func(a, b string) int { return frames[a] - frames[b] })
		return r
	}
	return nil
}

// isFunction tells whether a symbol begins a function: the program itself, or what
// something calls.
func isFunction(all asm.Instructions, symbol, current string) bool {
	if current == "" {
		return true
	}
	for _, ins := range all {
		if (ins.IsFunctionCall() || ins.IsLoadOfFunctionPointer()) && ins.Reference() == symbol {
			return true
		}
	}
	return false
}

// chain is functions that call one another.
type chain struct {
	bytes     int // of stack
	functions []string
}

// deepest is the chain of calls from a function on that needs the most stack.
func deepest(f string, frames map[string]int, calls map[string][]string, on map[string]bool) chain {
	if on[f] {
		return chain{}
	}
	on[f] = true
	var most chain
	for _, g := range calls[f] {
		if c := deepest(g, frames, calls, on); c.bytes > most.bytes {
			most = c
		}
	}
	delete(on, f)
	return chain{most.bytes + (max(frames[f], 1)+stackUnit-1)/stackUnit*stackUnit, append(most.functions, f)}
}
