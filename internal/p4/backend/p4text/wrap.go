package p4text

import "strings"

// wrap breaks a line that is longer than max after a comma or around an operator,
// and indents it. Continued lines are indented by eight more.
func wrap(text string, indent, max int) string {
	var b strings.Builder
	pad := strings.Repeat(" ", indent)
	for {
		b.WriteString(pad)
		if len(pad)+len(text) <= max {
			b.WriteString(text)
			return b.String()
		}
		at := breakBefore(text, max-len(pad))
		if at <= 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(strings.TrimRight(text[:at], " "))
		b.WriteByte('\n')
		text = text[at:]
		pad = strings.Repeat(" ", indent+8)
	}
}

// breakBefore returns the last place, at most max bytes in, where text can be broken,
// or 0. It prefers a place with few brackets open, and never breaks a string.
func breakBefore(text string, max int) int {
	best, bestDepth := 0, 1<<30
	depth := 0
	quoted := false
	for i := 0; i < len(text) && i <= max; i++ {
		c := text[i]
		switch {
		case quoted:
			if c == '\\' {
				i++
			} else if c == '"' {
				quoted = false
			}
			continue
		case c == '"':
			quoted = true
		case c == '(' || c == '{' || c == '[':
			depth++
		case c == ')' || c == '}' || c == ']':
			depth--
		case c == ' ' && i > 0 && i < len(text)-1:
			after := text[i-1] == ',' || strings.HasSuffix(text[:i], " =")
			before := strings.HasPrefix(text[i+1:], "&& ") || strings.HasPrefix(text[i+1:], "|| ") ||
				strings.HasPrefix(text[i+1:], "++ ") || strings.HasPrefix(text[i+1:], "? ") || strings.HasPrefix(text[i+1:], ": ") ||
				strings.HasPrefix(text[i+1:], "+ ") || strings.HasPrefix(text[i+1:], "| ") || strings.HasPrefix(text[i+1:], "^ ")
			if (after || before) && depth <= bestDepth+1 {
				best = i + 1
				bestDepth = min(bestDepth, depth)
			}
		}
	}
	return best
}
