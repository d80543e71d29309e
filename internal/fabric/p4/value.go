package p4

import (
	"fmt"
	"math/big"
	"math/bits"
	"net"
	"net/netip"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/service"
)

// protocols are the names that a key or parameter called "protocol" may have.
var protocols = map[string]int64{"icmp": 1, "tcp": 6, "udp": 17}

// parseValue reads one value: a number (decimal, 0x, 0b), an IPv4 address for 32
// bits, a MAC address for 48, a protocol's name for a field called protocol.
func parseValue(name, text string, width int) (*big.Int, error) {
	text = strings.TrimSpace(text)
	if v, ok := protocols[strings.ToLower(text)]; ok && name == "protocol" {
		return big.NewInt(v), nil
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Is4() {
		if width != 32 {
			return nil, fmt.Errorf("%s: %q is an IPv4 address, the field has %d bits", name, text, width)
		}
		b := a.As4()
		return new(big.Int).SetBytes(b[:]), nil
	}
	if m, err := net.ParseMAC(text); err == nil && len(m) == 6 {
		if width != 48 {
			return nil, fmt.Errorf("%s: %q is a MAC address, the field has %d bits", name, text, width)
		}
		return new(big.Int).SetBytes(m), nil
	}
	v, ok := new(big.Int).SetString(text, 0)
	if octal := len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9'; !ok || octal {
		return nil, fmt.Errorf("%s: %q is not a value; use a number, %s", name, text, forms(width))
	}
	if v.Sign() < 0 || v.BitLen() > width {
		return nil, fmt.Errorf("%s: %s does not fit %d bits", name, text, width)
	}
	return v, nil
}

func forms(width int) string {
	switch width {
	case 32:
		return "or an IPv4 address"
	case 48:
		return "or a MAC address"
	}
	return "like 80 or 0x50"
}

func ones(width int) *big.Int {
	one := big.NewInt(1)
	return new(big.Int).Sub(new(big.Int).Lsh(one, uint(width)), one)
}

func prefixMask(length, width int) *big.Int {
	return new(big.Int).Xor(ones(width), ones(width-length))
}

// parseMatch reads the value of a match field. A range in a ternary field becomes
// several matches, which together cover it.
func parseMatch(k service.NFKey, text string) ([]target.Match, error) {
	text = strings.TrimSpace(text)
	if text == "*" || text == "" {
		if k.Match == "exact" {
			return nil, fmt.Errorf("%s: an exact key needs a value", k.Name)
		}
		return []target.Match{{Any: true}}, nil
	}
	switch k.Match {
	case "exact", "optional":
		v, err := parseValue(k.Name, text, k.Bits)
		if err != nil {
			return nil, err
		}
		return []target.Match{{Value: bytesOf(v)}}, nil
	case "lpm":
		v, length, err := parsePrefix(k, text)
		if err != nil {
			return nil, err
		}
		return []target.Match{{Value: bytesOf(v), PrefixLen: length, Any: length == 0}}, nil
	case "ternary":
		return parseTernary(k, text)
	case "range":
		lo, hi, err := parseRange(k, text)
		if err != nil {
			return nil, err
		}
		if lo.Sign() == 0 && hi.Cmp(ones(k.Bits)) == 0 {
			return []target.Match{{Any: true}}, nil
		}
		return []target.Match{{Lo: bytesOf(lo), Hi: bytesOf(hi)}}, nil
	}
	return nil, fmt.Errorf("%s: match kind %s is not supported in rules", k.Name, k.Match)
}

func parsePrefix(k service.NFKey, text string) (*big.Int, int, error) {
	value, length, isPrefix := strings.Cut(text, "/")
	v, err := parseValue(k.Name, value, k.Bits)
	if err != nil {
		return nil, 0, err
	}
	n := k.Bits
	if isPrefix {
		if _, err := fmt.Sscanf(length, "%d", &n); err != nil || n < 0 || n > k.Bits || fmt.Sprint(n) != length {
			return nil, 0, fmt.Errorf("%s: prefix length %q is not between 0 and %d", k.Name, length, k.Bits)
		}
	}
	masked := new(big.Int).And(v, prefixMask(n, k.Bits))
	if masked.Cmp(v) != 0 {
		return nil, 0, fmt.Errorf("%s: %s has bits set behind its prefix", k.Name, text)
	}
	return v, n, nil
}

func parseTernary(k service.NFKey, text string) ([]target.Match, error) {
	if value, mask, ok := strings.Cut(text, "&&&"); ok {
		v, err := parseValue(k.Name, value, k.Bits)
		if err != nil {
			return nil, err
		}
		m, err := parseValue(k.Name, mask, k.Bits)
		if err != nil {
			return nil, err
		}
		v.And(v, m)
		return []target.Match{{Value: bytesOf(v), Mask: bytesOf(m), Any: m.Sign() == 0}}, nil
	}
	if strings.Contains(text, "/") {
		v, n, err := parsePrefix(k, text)
		if err != nil {
			return nil, err
		}
		return []target.Match{{Value: bytesOf(v), Mask: prefixMask(n, k.Bits).Bytes(), Any: n == 0}}, nil
	}
	if strings.Contains(text, "-") && !strings.HasPrefix(text, "-") && k.Bits <= 32 {
		if _, err := parseValue(k.Name, text, k.Bits); err != nil {
			lo, hi, err := parseRange(k, text)
			if err != nil {
				return nil, err
			}
			return coverRange(lo.Uint64(), hi.Uint64(), k.Bits), nil
		}
	}
	v, err := parseValue(k.Name, text, k.Bits)
	if err != nil {
		return nil, err
	}
	return []target.Match{{Value: bytesOf(v), Mask: ones(k.Bits).Bytes()}}, nil
}

func parseRange(k service.NFKey, text string) (lo, hi *big.Int, err error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	if lo, err = parseValue(k.Name, first, k.Bits); err != nil {
		return nil, nil, err
	}
	if hi, err = parseValue(k.Name, last, k.Bits); err != nil {
		return nil, nil, err
	}
	if lo.Cmp(hi) > 0 {
		return nil, nil, fmt.Errorf("%s: the range %s is empty", k.Name, text)
	}
	return lo, hi, nil
}

// coverRange returns the fewest prefixes that cover lo … hi, as ternary matches.
func coverRange(lo, hi uint64, width int) []target.Match {
	var out []target.Match
	for {
		// The largest aligned power of two that starts at lo and ends by hi.
		size := bits.TrailingZeros64(lo | 1<<width)
		for size > 0 && lo+(1<<size)-1 > hi {
			size--
		}
		mask := prefixMask(width-size, width)
		out = append(out, target.Match{Value: new(big.Int).SetUint64(lo).Bytes(), Mask: mask.Bytes(), Any: mask.Sign() == 0})
		lo += 1 << size
		if lo > hi || lo == 0 {
			return out
		}
	}
}

// bytesOf encodes a number in at least one byte.
func bytesOf(v *big.Int) []byte { return v.FillBytes(make([]byte, max(1, (v.BitLen()+7)/8))) }

// number encodes an integer for P4Runtime.
func number(v uint64) []byte { return bytesOf(new(big.Int).SetUint64(v)) }

func exactly(v []byte) target.Match { return target.Match{Value: v} }

// ternaryExactly matches one value of a ternary key.
func ternaryExactly(v uint64, width int) target.Match {
	return target.Match{Value: number(v), Mask: ones(width).Bytes()}
}

// ternaryPrefix matches an IPv4 prefix of a ternary key; the zero prefix matches
// every address.
func ternaryPrefix(p netip.Prefix) target.Match {
	if !p.IsValid() || p.Bits() == 0 {
		return target.Match{Any: true}
	}
	a := p.Masked().Addr().As4()
	return target.Match{Value: a[:], Mask: prefixMask(p.Bits(), 32).Bytes()}
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
