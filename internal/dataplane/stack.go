package dataplane

import (
	"bytes"
	"fmt"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// maxStack is how many bytes of stack a program and the functions that it calls may
// use together; the kernel rounds each function's frame up to stackUnit.
const (
	maxStack  = 512
	stackUnit = 32
)

// maxMaps is how many maps a program may use.
const maxMaps = 64

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
	used := map[string]bool{}
	for _, ins := range p.Instructions {
		if ins.IsLoadFromMap() {
			used[ins.Reference()] = true
		}
	}
	if len(used) > maxMaps {
		return fmt.Errorf("%w: the program needs %d maps, a kernel's program has %d at most: each table, counter, meter and register "+
			"is one, a ternary table two; use fewer of them", target.ErrUnsupported, len(used), maxMaps)
	}
	return checkStack(p)
}

// checkStack fails with ErrStack if a program would exceed the kernel's stack limit:
// clang looks at single functions only.
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
	if n := deepest(ebpf.ProgramName, frames, calls, map[string]bool{}); n > maxStack {
		return fmt.Errorf("%w: %d bytes with all functions called", ErrStack, n)
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

// deepest is the stack that a function and what it calls use at most.
func deepest(f string, frames map[string]int, calls map[string][]string, on map[string]bool) int {
	if on[f] {
		return 0
	}
	on[f] = true
	most := 0
	for _, g := range calls[f] {
		most = max(most, deepest(g, frames, calls, on))
	}
	delete(on, f)
	return (max(frames[f], 1)+stackUnit-1)/stackUnit*stackUnit + most
}
