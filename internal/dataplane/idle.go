package dataplane

import (
	"fmt"
	"strings"

	cebpf "github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// A port that has no program yet gets one that lets every packet pass by, as if nothing were attached. To attach
// something takes the kernel a grace period, during which it keeps all interfaces locked: for many ports of a switch that
// gets its program the periods add up, while to replace a program takes none.

// idleName is the name of such a program in the kernel.
const idleName = "catena_idle"

// attachIdle attaches such a program to an interface and pins the link.
func attachIdle(index int, mode ebpf.Target, pin string) (*attachment, error) {
	prog, err := newIdle(mode)
	if err != nil {
		return nil, err
	}
	defer prog.Close() // the link has it
	a, err := attach(prog, index, mode, pin)
	if err != nil {
		return nil, err
	}
	a.idle = true
	return a, nil
}

// newIdle loads the program for a hook.
func newIdle(mode ebpf.Target) (*cebpf.Program, error) {
	spec := &cebpf.ProgramSpec{Name: idleName, Type: cebpf.SchedCLS, License: "GPL"}
	pass := int32(-1) // TCX_NEXT
	if mode == ebpf.XDP {
		spec.Type, spec.AttachType = cebpf.XDP, cebpf.AttachXDP
		pass = 2 // XDP_PASS
	}
	spec.Instructions = asm.Instructions{asm.Mov.Imm(asm.R0, pass), asm.Return()}
	prog, err := cebpf.NewProgram(spec)
	if err != nil {
		return nil, fmt.Errorf("load the program of ports without one for %s: %w", mode, err)
	}
	return prog, nil
}

// isIdle tells whether a program of the kernel is one that attachIdle attached.
func isIdle(id cebpf.ProgramID) (bool, error) {
	prog, err := cebpf.NewProgramFromID(id)
	if err != nil {
		return false, err
	}
	defer prog.Close()
	info, err := prog.Info()
	if err != nil {
		return false, err
	}
	return strings.HasPrefix(info.Name, idleName), nil
}
