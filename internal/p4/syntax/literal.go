package syntax

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Limits on integer literals. They bound the work that a short program can ask for; P4 itself has
// none, and no architecture comes near.
const (
	maxLiteralDigits = 10000
	maxLiteralWidth  = 1 << 16 // bits
)

// parseInt reads an integer literal (P4_16 1.2.5, section 6.4.3.2):
//
//	[ width ( "w" | "s" ) ] [ "0x" | "0o" | "0b" | "0d" ] digits, with underscores anywhere behind the first character
//
// The error is a phrase about the literal.
func parseInt(text string) (*IntLit, error) {
	lit := &IntLit{Text: text}
	digits := text
	if width, sign, rest, ok := cutWidth(text); ok {
		w, err := strconv.Atoi(strings.ReplaceAll(width, "_", ""))
		if err != nil || w > maxLiteralWidth {
			return nil, fmt.Errorf("width of literal is over the limit of %d bits", maxLiteralWidth)
		}
		lit.Sized, lit.Signed, lit.Width = true, sign == 's', w
		digits = rest
	}
	base := 10
	if len(digits) >= 2 && digits[0] == '0' {
		switch digits[1] | 0x20 {
		case 'x':
			base, digits = 16, digits[2:]
		case 'o':
			base, digits = 8, digits[2:]
		case 'b':
			base, digits = 2, digits[2:]
		case 'd':
			digits = digits[2:]
		}
	}
	digits = strings.ReplaceAll(digits, "_", "")
	if digits == "" {
		return nil, fmt.Errorf("literal %s has no digits", shorten(text))
	}
	if len(digits) > maxLiteralDigits {
		return nil, fmt.Errorf("literal has %d digits, the limit is %d", len(digits), maxLiteralDigits)
	}
	for _, c := range digits {
		if digitValue(c) >= base {
			return nil, fmt.Errorf("%q is not a digit in base %d in literal %s", c, base, shorten(text))
		}
	}
	lit.Value, _ = new(big.Int).SetString(digits, base)
	return lit, nil
}

// cutWidth splits `8w0xFF` into its width, its w or s, and the rest.
func cutWidth(text string) (width string, sign byte, rest string, ok bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case isDigit(c) || c == '_':
		case i > 0 && (c == 'w' || c == 's'):
			return text[:i], c, text[i+1:], true
		default:
			return "", 0, "", false
		}
	}
	return "", 0, "", false
}

// digitValue gives the value of a digit up to base 36, and 99 for anything else.
func digitValue(c rune) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'z':
		return int(c|0x20-'a') + 10
	}
	return 99
}

func shorten(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// unquote resolves the escapes of a string literal, given with its quotes (section 6.4.3.3). Unknown
// escapes are kept as they are written, because strings reach annotations of other tools.
func unquote(text string) string {
	s := strings.TrimPrefix(text, `"`)
	if len(text) > 1 {
		s = strings.TrimSuffix(s, `"`)
	}
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case '"', '\\':
			b.WriteByte(s[i])
		case 'n':
			b.WriteByte('\n')
		default:
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// quote is the inverse of unquote.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
