package codegen

import (
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

func TestParseMatch(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  match
		ok    bool
	}{
		{"", 16, match{0, 0}, true},
		{"80", 16, match{80, 0xffff}, true},
		{"0x29&&&0x3f", 8, match{0x29, 0x3f}, true},
		{"0xff&&&0x0f", 8, match{0x0f, 0x0f}, true},
		{"10.0.1.0/24", 32, match{0x0a000100, 0xffffff00}, true},
		{"10.0.1.7/24", 32, match{0x0a000100, 0xffffff00}, true},
		{"0.0.0.0/0", 32, match{0, 0}, true},
		{"10.0.1.7", 32, match{0x0a000107, 0xffffffff}, true},
		{"02:00:00:00:00:01", 48, match{0x020000000001, 0xffffffffffff}, true},
		{"tcp", 8, match{6, 0xff}, true},
		{"65536", 16, match{}, false},
		{"10.0.1.7", 16, match{}, false},
		{"x", 8, match{}, false},
		{"1&&&256", 8, match{}, false},
	} {
		got, err := parseMatch(c.text, c.width)
		if (err == nil) != c.ok || c.ok && got != c.want {
			t.Errorf("%q of %d bits: %+v, %v; want %+v, %t", c.text, c.width, got, err, c.want, c.ok)
		}
	}
	if got := (match{0, 0xffffff00}).prefix(); got != 24 {
		t.Errorf("prefix %d, want 24", got)
	}
}

func TestParseRule(t *testing.T) {
	keys, params := []field{{"src_addr", 32}, {"dst_port", 16}}, []field{{"port", 9}}
	good := service.Rule{NF: "N", Table: "t", Match: map[string]string{"dst_port": "80"}, Action: "a", Params: map[string]string{"port": "3"}}
	ms, ps, err := parseRule(good, keys, params)
	if err != nil || len(ms) != 2 || !ms[0].any() || ms[1] != (match{80, 0xffff}) || len(ps) != 1 || ps[0] != 3 {
		t.Errorf("%v %v %v", ms, ps, err)
	}
	for want, bad := range map[string]service.Rule{
		`N.t has no key "ttl"`:                             {NF: "N", Table: "t", Match: map[string]string{"ttl": "1"}, Params: good.Params},
		`N.t: action a has no parameter "mac"`:             {NF: "N", Table: "t", Action: "a", Params: map[string]string{"port": "3", "mac": "1"}},
		`N.t: parameter port: "512" is no value of 9 bits`: {NF: "N", Table: "t", Params: map[string]string{"port": "512"}},
	} {
		if _, _, err := parseRule(bad, keys, params); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestQuiet(t *testing.T) {
	if got := quiet([]float64{1000, 10, 11, 12, 13, 900}); got != 11 {
		t.Errorf("lower half %v, want 11", got)
	}
	if got := quiet([]float64{7}); got != 7 {
		t.Errorf("of one value %v", got)
	}
}
