package netlab

import (
	"math"
	"os"
	"testing"
)

func TestParseIperf(t *testing.T) {
	text, err := os.ReadFile("testdata/tcp.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := parseIperf(text)
	if err != nil {
		t.Fatal(err)
	}
	if math.Round(r.BitsPerSecond) != 27853615103 || r.Retransmits != 0 || math.Abs(r.CPU-1.6686) > 1e-4 {
		t.Errorf("result %+v", r)
	}
}

func TestParseIperfErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"refused", `{"start":{},"intervals":[],"end":{},"error":"unable to connect to server: Connection refused"}`, "unable to connect to server: Connection refused"},
		{"empty", ``, "output is not JSON: unexpected end of JSON input"},
		{"cut", `{"start":{},"end":{}}`, "output has no sums: the test did not end"},
		{"nothing", `{"end":{"sum_sent":{"retransmits":9},"sum_received":{"bits_per_second":0}}}`, "nothing was received"},
	} {
		if _, err := parseIperf([]byte(c.text)); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}
