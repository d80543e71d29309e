package stf

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// pattern is a number, some digits of which may be *. before is how many bits the
// digits before the first * have, -1 without *.
type pattern struct {
	value, stars *big.Int // stars has ones for the bits of the *
	before       int
}

func parsePattern(s string) (pattern, error) {
	p := pattern{value: new(big.Int), stars: new(big.Int), before: -1}
	base, per := 10, uint(0)
	digits := s
	if len(s) > 2 && s[0] == '0' {
		switch s[1] {
		case 'x', 'X':
			base, per, digits = 16, 4, s[2:]
		case 'b', 'B':
			base, per, digits = 2, 1, s[2:]
		case 'o', 'O':
			base, per, digits = 8, 3, s[2:]
		}
	}
	digits = strings.ReplaceAll(digits, "_", "")
	if i := strings.IndexByte(digits, '*'); i >= 0 {
		if per == 0 {
			return p, fmt.Errorf("%q: a * needs a 0x, 0o or 0b in front", s)
		}
		p.before = i * int(per)
		for i := range digits {
			if digits[len(digits)-1-i] == '*' {
				p.stars.Or(p.stars, new(big.Int).Lsh(big.NewInt(1<<per-1), uint(i)*per))
			}
		}
		digits = strings.ReplaceAll(digits, "*", "0")
	}
	if _, ok := p.value.SetString(digits, base); !ok || p.value.Sign() < 0 && base != 10 {
		return p, fmt.Errorf("%q is no number", s)
	}
	return p, nil
}

// number reads a plain number into a field of so many bits.
func number(s string, width int) ([]byte, error) {
	p, err := parsePattern(s)
	if err != nil {
		return nil, err
	}
	if p.before >= 0 {
		return nil, fmt.Errorf("%q: there must be no * here", s)
	}
	if p.value.Sign() < 0 {
		if p.value.BitLen() >= width+1 {
			return nil, fmt.Errorf("%s does not fit %d bits", s, width)
		}
		return target.Encode(p.value, width), nil
	}
	if p.value.BitLen() > width {
		return nil, fmt.Errorf("%s does not fit %d bits", s, width)
	}
	return target.Encode(p.value, width), nil
}

// match reads the value of a key.
func match(k *ir.Key, s string) (target.Match, error) {
	width, ok := ir.ScalarBits(k.Type)
	if !ok {
		return target.Match{}, fmt.Errorf("key %q of type %s cannot be matched", k.Name, k.Type)
	}
	m, err := matchOf(k.Match, s, width)
	if err != nil {
		return m, fmt.Errorf("key %q: %w", k.Name, err)
	}
	return m, nil
}

func matchOf(kind ir.MatchKind, s string, width int) (m target.Match, err error) {
	if s == "*" || s == "_" {
		return target.Match{Any: true}, nil
	}
	switch kind {
	case ir.MatchLPM:
		return prefix(s, width)
	case ir.MatchTernary:
		return ternary(s, width)
	case ir.MatchRange:
		lo, hi := s, s
		for _, sep := range []string{"->", ".."} {
			if l, h, ok := strings.Cut(s, sep); ok {
				lo, hi = l, h
				break
			}
		}
		if m.Lo, err = number(lo, width); err != nil {
			return m, err
		}
		m.Hi, err = number(hi, width)
		return m, err
	}
	m.Value, err = number(s, width)
	return m, err
}

func prefix(s string, width int) (m target.Match, err error) {
	if v, n, ok := strings.Cut(s, "/"); ok {
		if m.PrefixLen, err = strconv.Atoi(n); err != nil {
			return m, fmt.Errorf("prefix length %q is no number", n)
		}
		m.Value, err = number(v, width)
		return m, err
	}
	p, err := parsePattern(s)
	if err != nil {
		return m, err
	}
	m.PrefixLen = width
	if p.before >= 0 {
		// The digits may be fewer or more than the field has: what counts is where
		// the stars begin, from the low end.
		m.PrefixLen = width - p.stars.BitLen()
		ones := new(big.Int).Lsh(big.NewInt(1), uint(p.stars.BitLen()))
		if ones.Sub(ones, big.NewInt(1)).Cmp(p.stars) != 0 {
			return m, fmt.Errorf("%q is no prefix: a digit follows a *", s)
		}
	}
	if m.PrefixLen < 0 || p.value.BitLen() > width {
		return m, fmt.Errorf("%s does not fit %d bits", s, width)
	}
	m.Value = target.Encode(p.value, width)
	return m, nil
}

func ternary(s string, width int) (m target.Match, err error) {
	if v, mask, ok := strings.Cut(s, "&&&"); ok {
		if m.Value, err = number(v, width); err != nil {
			return m, err
		}
		m.Mask, err = number(mask, width)
		return m, err
	}
	if v, n, ok := strings.Cut(s, "/"); ok {
		bits, err := strconv.Atoi(n)
		if err != nil || bits < 0 || bits > width {
			return m, fmt.Errorf("prefix length %q is not between 0 and %d", n, width)
		}
		m.Mask = target.PrefixMask(bits, width)
		m.Value, err = number(v, width)
		return m, err
	}
	p, err := parsePattern(s)
	if err != nil {
		return m, err
	}
	if p.value.BitLen() > width {
		return m, fmt.Errorf("%s does not fit %d bits", s, width)
	}
	ones := new(big.Int).Lsh(big.NewInt(1), uint(width))
	ones.Sub(ones, big.NewInt(1))
	m.Value = target.Encode(p.value, width)
	m.Mask = target.Encode(ones.AndNot(ones, p.stars), width)
	return m, nil
}

// absent is the match of a key that an entry does not name.
func absent(k *ir.Key) target.Match {
	if k.Match == ir.MatchExact {
		return target.Match{Value: []byte{0}}
	}
	return target.Match{Any: true}
}
