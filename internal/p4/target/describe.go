package target

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Describe names the entry in an error: its keys in hexadecimal, in order, the priority
// if it has one, and what it does.
func (e Entry) Describe() string {
	var keys []string
	for _, m := range e.Match {
		keys = append(keys, m.describe())
	}
	s := "entry (" + strings.Join(keys, ", ") + ")"
	if e.Priority != 0 {
		s += fmt.Sprintf(" of priority %d", e.Priority)
	}
	switch {
	case e.Action != nil:
		s += " with " + e.Action.Name
	case e.Group != 0:
		s += fmt.Sprintf(" with group %d", e.Group)
	case e.Member != 0:
		s += fmt.Sprintf(" with member %d", e.Member)
	}
	return s
}

func (m Match) describe() string {
	switch {
	case m.Any:
		return "*"
	case m.Lo != nil || m.Hi != nil:
		return hex.EncodeToString(m.Lo) + ".." + hex.EncodeToString(m.Hi)
	case m.Mask != nil:
		return hex.EncodeToString(m.Value) + "&" + hex.EncodeToString(m.Mask)
	case m.PrefixLen != 0:
		return fmt.Sprintf("%x/%d", m.Value, m.PrefixLen)
	}
	return hex.EncodeToString(m.Value)
}
