package codegen

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// match is a value under a mask, of a field of up to 64 bits.
type match struct{ value, mask uint64 }

func ones(width int) uint64 { return 1<<width - 1 }

// any tells whether every value matches.
func (m match) any() bool { return m.mask == 0 }

// prefix is the number of leading ones in the mask.
func (m match) prefix() int { return bits.OnesCount64(m.mask) }

// parseNumber reads a value of a rule: a number, an IPv4 or a MAC address, or a protocol.
func parseNumber(text string, width int) (uint64, error) {
	switch text {
	case "tcp":
		return 6, nil
	case "udp":
		return 17, nil
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Is4() && width == 32 {
		b := a.As4()
		return uint64(binary.BigEndian.Uint32(b[:])), nil
	}
	if m, err := net.ParseMAC(text); err == nil && len(m) == 6 && width == 48 {
		return binary.BigEndian.Uint64(append([]byte{0, 0}, m...)), nil
	}
	v, err := strconv.ParseUint(text, 0, 64)
	if err != nil || v > ones(width) {
		return 0, fmt.Errorf("%q is no value of %d bits", text, width)
	}
	return v, nil
}

// parseMatch reads a match field of a rule; "" matches everything.
func parseMatch(text string, width int) (match, error) {
	if text == "" {
		return match{}, nil
	}
	if p, err := netip.ParsePrefix(text); err == nil && width == 32 {
		b := p.Addr().As4()
		mask := ones(32) &^ ones(32-p.Bits())
		return match{uint64(binary.BigEndian.Uint32(b[:])) & mask, mask}, nil
	}
	value, mask, masked := strings.Cut(text, "&&&")
	v, err := parseNumber(value, width)
	if err != nil || !masked {
		return match{v, ones(width)}, err
	}
	m, err := parseNumber(mask, width)
	return match{v & m, m}, err
}

// field is a key or parameter of a table with its width in bits.
type field struct {
	name  string
	width int
}

// parseRule returns the matches of a rule in the order of the keys, and its parameters. It is an error if the rule has
// others.
func parseRule(r service.Rule, keys, params []field) ([]match, []uint64, error) {
	var ms []match
	var ps []uint64
	for _, k := range keys {
		m, err := parseMatch(r.Match[k.name], k.width)
		if err != nil {
			return nil, nil, fmt.Errorf("%s.%s: key %s: %w", r.NF, r.Table, k.name, err)
		}
		ms = append(ms, m)
	}
	for _, p := range params {
		v, err := parseNumber(r.Params[p.name], p.width)
		if err != nil {
			return nil, nil, fmt.Errorf("%s.%s: parameter %s: %w", r.NF, r.Table, p.name, err)
		}
		ps = append(ps, v)
	}
	for name := range r.Match {
		if !has(keys, name) {
			return nil, nil, fmt.Errorf("%s.%s has no key %q", r.NF, r.Table, name)
		}
	}
	for name := range r.Params {
		if !has(params, name) {
			return nil, nil, fmt.Errorf("%s.%s: action %s has no parameter %q", r.NF, r.Table, r.Action, name)
		}
	}
	return ms, ps, nil
}

func has(fields []field, name string) bool {
	for _, f := range fields {
		if f.name == name {
			return true
		}
	}
	return false
}
