package p4rt

import (
	"bytes"
	"math/big"
	"math/rand/v2"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The examples of the specification's tables of valid and invalid encodings.
func TestFit(t *testing.T) {
	tests := []struct {
		in    string
		width int
		want  string // "" is an error
	}{
		{"\x63", 8, "\x63"},
		{"\x00\x63", 16, "\x63"},
		{"\x63", 16, "\x63"},
		{"\x30\x64", 16, "\x30\x64"},
		{"\x00\x30\x64", 16, "\x30\x64"},
		{"\x00\x63", 12, "\x63"},
		{"\x00\x00\x63", 12, "\x63"},
		{"\x00\x00", 9, "\x00"},
		{"\x01\x63", 8, ""},
		{"", 8, ""},
		{"\x01\x00\x63", 16, ""},
		{"\x10\x63", 12, ""},
		{"\x01\x00\x63", 12, ""},
		{"\x00\x40\x63", 12, ""},
		{"any text", 0, "any text"},
		{"", 0, ""},
	}
	for _, tt := range tests {
		got, err := Fit([]byte(tt.in), tt.width)
		if tt.want == "" {
			if status.Code(err) != codes.OutOfRange {
				t.Errorf("Fit(%x, %d) = %x, %v; want OUT_OF_RANGE", tt.in, tt.width, got, err)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("Fit(%x, %d) = %x, %v; want %x", tt.in, tt.width, got, err, tt.want)
		}
	}
}

func TestSigned(t *testing.T) {
	tests := []struct {
		in    string
		width int
		held  string // as target holds it; "" is an error
		out   string // as it is sent
	}{
		{"\x63", 8, "\x63", "\x63"},
		{"\x9d", 8, "\x9d", "\x9d"},
		{"\xff\x9d", 8, "\x9d", "\x9d"},
		{"\xfd\x1d", 12, "\x0d\x1d", "\xfd\x1d"},
		{"\x00\x00", 16, "\x00", "\x00"},
		{"\xff", 16, "\xff\xff", "\xff"},
		{"\x00\x80", 16, "\x80", "\x00\x80"},
		{"\x00\x9d", 8, "", ""},
		{"\x8d\x1d", 12, "", ""},
		{"", 16, "", ""},
	}
	for _, tt := range tests {
		held, err := FitSigned([]byte(tt.in), tt.width)
		if tt.held == "" {
			if status.Code(err) != codes.OutOfRange {
				t.Errorf("FitSigned(%x, %d) = %x, %v; want OUT_OF_RANGE", tt.in, tt.width, held, err)
			}
			continue
		}
		if err != nil || string(held) != tt.held {
			t.Errorf("FitSigned(%x, %d) = %x, %v; want %x", tt.in, tt.width, held, err, tt.held)
			continue
		}
		if out := Signed(held, tt.width); string(out) != tt.out {
			t.Errorf("Signed(%x, %d) = %x; want %x", held, tt.width, out, tt.out)
		}
	}
}

func TestBytesAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		width := 1 + r.IntN(140)
		v := make([]byte, r.IntN(20))
		for i := range v {
			v[i] = byte(r.UintN(256))
			if r.IntN(3) == 0 {
				v[i] = 0
			}
		}
		n := new(big.Int).SetBytes(v)
		if BitLen(v) != n.BitLen() {
			t.Fatalf("BitLen(%x) = %d, want %d", v, BitLen(v), n.BitLen())
		}
		want := n.Bytes()
		if len(want) == 0 {
			want = []byte{0}
		}
		if !bytes.Equal(Canonical(v), want) {
			t.Fatalf("Canonical(%x) = %x, want %x", v, Canonical(v), want)
		}
		mod := new(big.Int).And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(width)), big.NewInt(1)))
		if got := new(big.Int).SetBytes(Truncate(v, width)); got.Cmp(mod) != 0 {
			t.Fatalf("Truncate(%x, %d) = %x, want %x", v, width, got, mod)
		}
		if got := Uint64(Uint(mod.Uint64())); got != mod.Uint64() {
			t.Fatalf("Uint64(Uint(%d)) = %d", mod.Uint64(), got)
		}
	}
}
