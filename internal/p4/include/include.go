// Package include holds the compiler's own P4 headers: the core library (P4_16 1.2.5, appendix
// "P4 core library"), the v1model architecture that BMv2's simple_switch has established, and
// externs of our own.
package include

import (
	"embed"
	"io/fs"
)

//go:embed *.p4
var files embed.FS

// Source returns the text of a header, such as core.p4, and whether there is one of that name.
func Source(name string) ([]byte, bool) {
	src, err := files.ReadFile(name)
	return src, err == nil
}

// Names lists the headers in alphabetical order.
func Names() []string {
	names, err := fs.Glob(files, "*.p4")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	return names
}
