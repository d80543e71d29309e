package nf

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// includeLine is an #include of a file by its name in quotes.
var includeLine = regexp.MustCompile(`^[ \t]*#[ \t]*include[ \t]*"([^"]+)"[ \t\r]*(//.*)?$`)

// maxFlat bounds the text of a program with all that it includes, in bytes.
const maxFlat = 16 << 20

// flatten puts the files that a program includes from beside it into its text, so that
// it can be kept without them. #line directives keep positions as they were. What read
// does not find (the files of the library and of the compiler) stays included.
func flatten(file string, read func(string) ([]byte, error)) ([]byte, error) {
	var out bytes.Buffer
	var put func(file string, text []byte, within []string) error
	put = func(file string, text []byte, within []string) error {
		for i, line := range bytes.Split(text, []byte("\n")) {
			if i > 0 {
				out.WriteByte('\n')
			}
			if out.Len() > maxFlat {
				return fmt.Errorf("%s has more than %d bytes with all that it includes", within[0], maxFlat)
			}
			m := includeLine.FindSubmatch(line)
			if m == nil {
				out.Write(line)
				continue
			}
			other := filepath.Join(filepath.Dir(file), string(m[1]))
			if filepath.IsAbs(string(m[1])) {
				other = string(m[1])
			}
			if slices.Contains(within, other) {
				continue // only a guard can make this good, and then there is nothing to add
			}
			body, err := read(other)
			if err != nil {
				out.Write(line)
				continue
			}
			fmt.Fprintf(&out, "#line 1 %s\n", strconv.Quote(filepath.Base(other)))
			if err := put(other, body, append(slices.Clip(within), other)); err != nil {
				return err
			}
			fmt.Fprintf(&out, "\n#line %d %s", i+2, strconv.Quote(filepath.Base(file)))
		}
		return nil
	}
	text, err := read(file)
	if err != nil {
		return nil, err
	}
	if err := put(file, text, []string{file}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
