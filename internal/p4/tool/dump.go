package tool

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/backend/p4text"
	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/pass"
)

// lowered is the name of the first stage: the program as the front end leaves it.
const lowered = "lower"

// Stages lists the stages after which a program can be printed, in order.
func Stages() []string { return append([]string{lowered}, pass.Names()...) }

// Dump prints a program as it is after a stage. The program itself stays as it is.
func Dump(c *Compiled, stage string) (string, error) {
	if !slices.Contains(Stages(), stage) {
		return "", fmt.Errorf("there is no stage %q; the stages are %s", stage, strings.Join(Stages(), ", "))
	}
	if stage == lowered {
		return p4text.Print(c.Program)
	}
	p := ir.Copy(c.Program)
	var text string
	var err error
	diags := pass.Run(p, pass.Options{Verify: true, After: func(name string, p *ir.Program) {
		if name == stage {
			var printErr error
			text, printErr = p4text.Print(p)
			err = errors.Join(err, printErr)
		}
	}})
	return text, errors.Join(err, diags.Err(c.Files))
}
