package tables

import "math/big"

// cube is the values v with v & mask == value, of one key; big-endian.
type cube struct{ value, mask []byte }

// rangeCubes splits the range from lo to hi, both included, of width bits, into the
// smallest number of prefixes.
func rangeCubes(lo, hi []byte, width int) []cube {
	one := big.NewInt(1)
	a, b := new(big.Int).SetBytes(lo), new(big.Int).SetBytes(hi)
	var out []cube
	for a.Cmp(b) <= 0 {
		// The largest block that begins at a and ends at or before b.
		n := width
		if a.Sign() != 0 {
			n = int(a.TrailingZeroBits())
		}
		for {
			end := new(big.Int).Lsh(one, uint(n))
			end.Add(end, a).Sub(end, one)
			if end.Cmp(b) <= 0 {
				break
			}
			n--
		}
		out = append(out, cube{value: a.Bytes(), mask: ones(width-n, width)})
		a = new(big.Int).Add(a, new(big.Int).Lsh(one, uint(n)))
	}
	return out
}
