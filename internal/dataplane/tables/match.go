package tables

import (
	"bytes"
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// normalize checks a match and brings it into the one form that is stored: no leading
// zeros, no bits outside of the mask.
func normalize(k ebpf.Key, m target.Match) (target.Match, error) {
	bad := func(format string, args ...any) (target.Match, error) {
		return m, fmt.Errorf("key %q (%s): %w: %s", k.Name, k.Match, target.ErrInvalid, fmt.Sprintf(format, args...))
	}
	if m.Any {
		if k.Match == "exact" {
			return bad("an exact key needs a value")
		}
		return target.Match{Any: true}, nil
	}
	for _, v := range [][]byte{m.Value, m.Mask, m.Lo, m.Hi} {
		if err := checkWidth(v, k.Width); err != nil {
			return m, fmt.Errorf("key %q: %w", k.Name, err)
		}
	}
	switch k.Match {
	case "exact", "optional":
		return target.Match{Value: pad(m.Value, k.Width)}, nil
	case "lpm":
		if m.PrefixLen < 0 || m.PrefixLen > k.Width {
			return bad("prefix length %d of %d bits", m.PrefixLen, k.Width)
		}
		if m.PrefixLen == 0 {
			return target.Match{Any: true}, nil
		}
		return target.Match{Value: pad(and(m.Value, ones(m.PrefixLen, k.Width)), k.Width), PrefixLen: m.PrefixLen}, nil
	case "ternary":
		mask := trim(m.Mask)
		if len(mask) == 0 {
			return target.Match{Any: true}, nil
		}
		return target.Match{Value: pad(and(m.Value, mask), k.Width), Mask: pad(mask, k.Width)}, nil
	case "range":
		lo, hi := pad(m.Lo, k.Width), pad(m.Hi, k.Width)
		l, h := flip(k, lo), flip(k, hi)
		if bytes.Compare(l, h) > 0 {
			return bad("the range 0x%x..0x%x is empty", lo, hi)
		}
		if len(trim(l)) == 0 && bytes.Equal(h, ones(k.Width, k.Width)) {
			return target.Match{Any: true}, nil
		}
		return target.Match{Lo: lo, Hi: hi}, nil
	}
	return bad("unknown match kind")
}

// cubes is what a normalised match covers, as values under masks.
func cubes(k ebpf.Key, m target.Match) []cube {
	switch {
	case m.Any:
		return []cube{{}}
	case k.Match == "ternary":
		return []cube{{m.Value, m.Mask}}
	case k.Match == "lpm":
		return []cube{{m.Value, ones(m.PrefixLen, k.Width)}}
	case k.Match == "range":
		cs := rangeCubes(flip(k, m.Lo), flip(k, m.Hi), k.Width)
		for i := range cs {
			// Under a mask without the sign both signs are meant: nothing to flip back.
			if len(and(cs[i].mask, signBit(k))) > 0 {
				cs[i].value = flip(k, pad(cs[i].value, k.Width))
			}
		}
		return cs
	}
	return []cube{{m.Value, ones(k.Width, k.Width)}}
}

// pad gives a value the number of bytes of its width.
func pad(v []byte, width int) []byte {
	v = trim(v)
	out := make([]byte, (width+7)/8)
	copy(out[len(out)-len(v):], v)
	return out
}

// flip turns the order of signed numbers into that of unsigned ones, and back.
func flip(k ebpf.Key, v []byte) []byte {
	if !k.Signed {
		return v
	}
	out := append([]byte(nil), v...)
	out[0] ^= signBit(k)[0]
	return out
}

// signBit is the mask of a key's highest bit.
func signBit(k ebpf.Key) []byte { return ones(1, k.Width) }
