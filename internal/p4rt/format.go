package p4rt

import (
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"regexp"

	"github.com/catena-nfv/catena/internal/p4/target"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// addressName matches the names of 32-bit fields that hold IPv4 addresses.
var addressName = regexp.MustCompile(`(?i)(addr|ip|src|dst|gateway|nexthop|next_hop)`)

// FormatValue prints a value as people write it: 48 bits as a MAC address, 32 bits
// of a field whose name says so as an IPv4 address, others as a decimal number, or
// hexadecimal beyond 64 bits.
func FormatValue(name string, width int, v []byte) string {
	switch {
	case width == 0: // a translated string
		return string(v)
	case width == 48:
		return net.HardwareAddr(pad(v, 6)).String()
	case width == 32 && addressName.MatchString(name):
		a, _ := netip.AddrFromSlice(pad(v, 4))
		return a.String()
	case width > 64:
		return fmt.Sprintf("0x%x", Canonical(v))
	}
	return new(big.Int).SetBytes(v).String()
}

// FormatMatch prints a match: VALUE, VALUE/PREFIX, VALUE&&&MASK, LOW..HIGH or *.
func FormatMatch(f *configv1.MatchField, m target.Match) string {
	width := int(f.GetBitwidth())
	show := func(v []byte) string { return FormatValue(f.GetName(), width, v) }
	switch {
	case m.Any:
		return "*"
	case f.GetMatchType() == configv1.MatchField_LPM:
		return fmt.Sprintf("%s/%d", show(m.Value), m.PrefixLen)
	case f.GetMatchType() == configv1.MatchField_TERNARY && string(Canonical(m.Mask)) == string(Canonical(ones(width))):
		return show(m.Value)
	case f.GetMatchType() == configv1.MatchField_TERNARY:
		return fmt.Sprintf("%s&&&0x%x", show(m.Value), Canonical(m.Mask))
	case f.GetMatchType() == configv1.MatchField_RANGE:
		return show(m.Lo) + ".." + show(m.Hi)
	}
	return show(m.Value)
}
