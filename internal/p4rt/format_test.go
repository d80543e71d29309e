package p4rt

import (
	"testing"

	"github.com/catena-nfv/catena/internal/p4/target"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

func TestFormatMatch(t *testing.T) {
	field := func(name string, width int32, kind configv1.MatchField_MatchType) *configv1.MatchField {
		return &configv1.MatchField{Name: name, Bitwidth: width, Match: &configv1.MatchField_MatchType_{MatchType: kind}}
	}
	tests := []struct {
		f    *configv1.MatchField
		m    target.Match
		want string
	}{
		{field("hdr.ethernet.dstAddr", 48, configv1.MatchField_EXACT), target.Match{Value: []byte{2, 1}}, "00:00:00:00:02:01"},
		{field("dst", 32, configv1.MatchField_LPM), target.Match{Value: []byte{10, 0, 0, 0}, PrefixLen: 8}, "10.0.0.0/8"},
		{field("dst", 32, configv1.MatchField_LPM), target.Match{Any: true}, "*"},
		{field("seq", 32, configv1.MatchField_EXACT), target.Match{Value: []byte{1, 0}}, "256"},
		{field("port", 16, configv1.MatchField_TERNARY), target.Match{Value: []byte{80}, Mask: []byte{0xff, 0xff}}, "80"},
		{field("port", 16, configv1.MatchField_TERNARY), target.Match{Value: []byte{80}, Mask: []byte{0xf0}}, "80&&&0xf0"},
		{field("port", 16, configv1.MatchField_RANGE), target.Match{Lo: []byte{80}, Hi: []byte{1, 0}}, "80..256"},
		{field("x", 128, configv1.MatchField_EXACT), target.Match{Value: []byte{0, 0, 1, 0}}, "0x0100"},
		{field("proto", 8, configv1.MatchField_OPTIONAL), target.Match{Value: []byte{6}}, "6"},
	}
	for _, tt := range tests {
		if got := FormatMatch(tt.f, tt.m); got != tt.want {
			t.Errorf("%s %v: %q, want %q", tt.f.Name, tt.m, got, tt.want)
		}
	}
}
