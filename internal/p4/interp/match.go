package interp

import (
	"bytes"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// matchOne reports whether a value, target.Encode'd in the key's width, meets a
// checked match.
func matchOne(k *ir.Key, m target.Match, v []byte) bool {
	switch {
	case m.Any:
		return true
	case m.Lo != nil:
		x := target.Decode(v, k.Type)
		return x.Cmp(target.Decode(m.Lo, k.Type)) >= 0 && x.Cmp(target.Decode(m.Hi, k.Type)) <= 0
	case m.Mask != nil:
		for i := range v {
			if v[i]&m.Mask[i] != m.Value[i] {
				return false
			}
		}
		return true
	case k.Match == ir.MatchLPM:
		full, part := m.PrefixLen, 0
		w, _ := ir.ScalarBits(k.Type)
		if extra := target.Bytes(w)*8 - w; extra > 0 {
			full += extra // the unused bits in front are zero in both
		}
		full, part = full/8, full%8
		if !bytes.Equal(v[:full], m.Value[:full]) {
			return false
		}
		return part == 0 || (v[full]^m.Value[full])>>(8-part) == 0
	}
	return bytes.Equal(v, m.Value)
}

func matchAll(keys []*ir.Key, ms []target.Match, vs [][]byte) bool {
	for i, k := range keys {
		if !matchOne(k, ms[i], vs[i]) {
			return false
		}
	}
	return true
}
