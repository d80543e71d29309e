package tool

import (
	"os"
	"path/filepath"

	"golang.org/x/tools/txtar"
)

// archive gives the programs of a txtar archive: prog.p4 with its test.stf or, of one
// whose programs must be rejected, each. A file frame.p4 in the folder above the
// archive's is one of its files.
func archive(path string, reject bool) ([]item, error) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	var programs []string
	script := ""
	for _, f := range a.Files {
		switch {
		case reject && filepath.Ext(f.Name) == ".p4":
			programs = append(programs, f.Name)
		case f.Name == "prog.p4":
			programs = append(programs, f.Name)
		case f.Name == "test.stf":
			script = string(f.Data)
		}
	}
	frame, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(path)), "frame.p4"))
	if err == nil {
		a.Files = append(a.Files, txtar.File{Name: "frame.p4", Data: frame})
	}
	fsys, err := txtar.FS(a)
	if err != nil {
		return nil, err
	}
	var items []item
	for _, p := range programs {
		items = append(items, item{Source{Path: p, FS: fsys}, script, reject})
	}
	return items, nil
}
