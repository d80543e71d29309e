package p4

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/service"
)

func TestParseValue(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		width      int
		want       string // hexadecimal, or the error
	}{
		{"dst_port", "80", 16, "50"}, {"dst_port", " 80 ", 16, "50"}, {"dst_port", "0x50", 16, "50"}, {"dst_port", "0b101", 16, "5"},
		{"dst_port", "65535", 16, "ffff"}, {"port", "0", 9, "0"}, {"big", "0xffffffffffffffffffff", 80, "ffffffffffffffffffff"},
		{"src_addr", "10.0.1.2", 32, "a000102"}, {"mac", "02:00:00:00:00:01", 48, "20000000001"}, {"mac", "02-00-00-00-00-0A", 48, "2000000000a"},
		{"protocol", "tcp", 8, "6"}, {"protocol", "UDP", 8, "11"}, {"protocol", "icmp", 8, "1"}, {"protocol", "89", 8, "59"},
		{"dst_port", "65536", 16, "does not fit 16 bits"}, {"port", "512", 9, "does not fit 9 bits"}, {"dst_port", "-1", 16, "does not fit"},
		{"dst_port", "tcp", 16, `"tcp" is not a value; use a number, like 80 or 0x50`}, {"src_addr", "here", 32, "or an IPv4 address"}, {"mac", "me", 48, "or a MAC address"},
		{"dst_port", "10.0.0.1", 16, "is an IPv4 address, the field has 16 bits"}, {"src_addr", "02:00:00:00:00:01", 32, "is a MAC address, the field has 32 bits"},
		{"dst_port", "080", 16, "is not a value"}, {"dst_port", "010", 16, "is not a value"}, {"dst_port", "", 16, "is not a value"}, {"src_addr", "::1", 32, "is not a value"},
	} {
		v, err := parseValue(tt.name, tt.text, tt.width)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), tt.name+": ") {
				t.Errorf("%s %q/%d: %v, want %q", tt.name, tt.text, tt.width, err, tt.want)
			}
		} else if got := v.Text(16); got != tt.want {
			t.Errorf("%s %q/%d: 0x%s, want %s", tt.name, tt.text, tt.width, got, tt.want)
		}
	}
}

// matchText writes matches as `value`, `value/prefix`, `value&mask`, `lo-hi` or `*`.
func matchText(ms []target.Match) string {
	var out []string
	hex := func(b []byte) string { return new(big.Int).SetBytes(b).Text(16) }
	for _, m := range ms {
		switch {
		case m.Any:
			out = append(out, "*")
		case m.Lo != nil:
			out = append(out, hex(m.Lo)+"-"+hex(m.Hi))
		case m.Mask != nil:
			out = append(out, hex(m.Value)+"&"+hex(m.Mask))
		case m.PrefixLen > 0:
			out = append(out, fmt.Sprintf("%s/%d", hex(m.Value), m.PrefixLen))
		default:
			out = append(out, hex(m.Value))
		}
	}
	return strings.Join(out, " ")
}

func TestParseMatch(t *testing.T) {
	for _, tt := range []struct {
		kind, text string
		bits       int
		want       string
	}{
		{"exact", "80", 16, "50"}, {"exact", "", 16, "an exact key needs a value"}, {"exact", "*", 16, "an exact key needs a value"},
		{"exact", "1-2", 16, "is not a value"}, {"optional", "*", 16, "*"}, {"optional", "7", 16, "7"},
		{"lpm", "10.0.0.0/8", 32, "a000000/8"}, {"lpm", "10.0.0.1", 32, "a000001/32"}, {"lpm", "0.0.0.0/0", 32, "*"}, {"lpm", "*", 32, "*"},
		{"lpm", "10.0.0.1/8", 32, "bits set behind its prefix"}, {"lpm", "10.0.0.0/33", 32, `prefix length "33" is not between 0 and 32`},
		{"lpm", "10.0.0.0/-1", 32, "prefix length"}, {"lpm", "10.0.0.0/8x", 32, "prefix length"}, {"lpm", "10.0.0.0/", 32, "prefix length"}, {"lpm", "/8", 32, "is not a value"},
		{"ternary", "80", 16, "50&ffff"}, {"ternary", "0x800&&&0xff00", 16, "800&ff00"}, {"ternary", "0x8ff&&&0xff00", 16, "800&ff00"},
		{"ternary", "1 &&& 0", 16, "*"}, {"ternary", "10.1.0.0/16", 32, "a010000&ffff0000"}, {"ternary", "0.0.0.0/0", 32, "*"}, {"ternary", "*", 8, "*"},
		{"ternary", "1000-2000", 16, "3e8&fff8 3f0&fff0 400&fe00 600&ff00 700&ff80 780&ffc0 7c0&fff0 7d0&ffff"},
		{"ternary", "0-65535", 16, "*"}, {"ternary", "5-5", 16, "5&ffff"}, {"ternary", "10.0.0.0-10.0.0.3", 32, "a000000&fffffffc"},
		{"ternary", "2-1", 16, "the range 2-1 is empty"}, {"ternary", "1-70000", 16, "does not fit"}, {"ternary", "-5", 16, "does not fit"}, {"ternary", "1-", 16, "is not a value"},
		{"ternary", "1-2", 48, "is not a value"}, {"ternary", "02-00-00-00-00-01", 48, "20000000001&ffffffffffff"}, {"ternary", "1&&&x", 8, "is not a value"}, {"ternary", "x&&&1", 8, "is not a value"},
		{"range", "1000-2000", 16, "3e8-7d0"}, {"range", "7", 16, "7-7"}, {"range", "9-8", 16, "is empty"}, {"range", "x-8", 16, "is not a value"}, {"range", "*", 16, "*"},
		{"range", "0-65535", 16, "*"}, {"selector", "1", 16, "match kind selector is not supported"},
	} {
		ms, err := parseMatch(service.NFKey{Name: "k", Match: tt.kind, Bits: tt.bits}, tt.text)
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s %q/%d: %v, want %q", tt.kind, tt.text, tt.bits, err, tt.want)
			}
		} else if got := matchText(ms); got != tt.want {
			t.Errorf("%s %q/%d: %s, want %s", tt.kind, tt.text, tt.bits, got, tt.want)
		}
	}
}

// TestCoverRange checks that the pieces of a range hold each of its values once, and no
// other.
func TestCoverRange(t *testing.T) {
	holds := func(m target.Match, v uint64) bool {
		if m.Any {
			return true
		}
		value, mask := new(big.Int).SetBytes(m.Value).Uint64(), new(big.Int).SetBytes(m.Mask).Uint64()
		return v&mask == value
	}
	check := func(lo, hi uint64, width int, v uint64) {
		t.Helper()
		n := 0
		for _, m := range coverRange(lo, hi, width) {
			if holds(m, v) {
				n++
			}
		}
		want := 0
		if lo <= v && v <= hi {
			want = 1
		}
		if n != want {
			t.Fatalf("%d-%d of %d bits: %d pieces hold %d, want %d", lo, hi, width, n, v, want)
		}
	}
	for lo := uint64(0); lo < 64; lo++ {
		for hi := lo; hi < 64; hi++ {
			for v := uint64(0); v < 64; v++ {
				check(lo, hi, 6, v)
			}
			if n := len(coverRange(lo, hi, 6)); n > 10 {
				t.Errorf("%d-%d: %d pieces, 2·(6-1) are enough", lo, hi, n)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for _, width := range []int{9, 16, 32} {
		for range 300 {
			lo := r.Uint64() >> (64 - width)
			hi := lo + r.Uint64N(1<<width-lo)
			for _, v := range []uint64{lo, hi, lo - 1, hi + 1, r.Uint64() >> (64 - width), lo + (hi-lo)/2} {
				if v < 1<<width {
					check(lo, hi, width, v)
				}
			}
			if n := len(coverRange(lo, hi, width)); n > 2*(width-1) {
				t.Errorf("%d-%d: %d pieces", lo, hi, n)
			}
		}
	}
}
