package hash

import (
	"math/big"
	"testing"
)

// The check values are those of the CRC catalogue for the string "123456789".
func TestCompute(t *testing.T) {
	in := []byte("123456789")
	for _, c := range []struct {
		algorithm string
		data      []byte
		want      uint64
	}{
		{"crc32", in, 0xcbf43926},
		{"crc32_custom", in, 0xcbf43926},
		{"crc16", in, 0xbb3d},
		{"crc16_custom", in, 0xbb3d},
		{"identity", []byte{1, 2, 3}, 0x010203},
		{"identity", in, 0x3132333435363738},
		{"xor16", []byte{0x12, 0x34, 0x01, 0x01, 0xff}, 0xec35},
		{"csum16", []byte{0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0, 0,
			0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7}, 0xb861},
		{"csum16", []byte{0xff}, 0x00ff},
		{"csum16", nil, 0xffff},
	} {
		got, err := Compute(c.algorithm, DefaultParams(), c.data)
		if err != nil || got.Uint64() != c.want {
			t.Errorf("%s(%x) = %#x, %v; want %#x", c.algorithm, c.data, got, err, c.want)
		}
	}
	if _, err := Compute("md5", DefaultParams(), nil); err == nil {
		t.Error("an unknown algorithm is accepted")
	}
}

func TestCRCParameters(t *testing.T) {
	ccitt := CRC{Width: 16, Poly: 0x1021, Init: 0xffff}
	if got := ccitt.Sum([]byte("123456789")); got != 0x29b1 {
		t.Errorf("CRC-16/CCITT-FALSE = %#x", got)
	}
	xz := CRC{Width: 64, Poly: 0x42f0e1eba9ea3693, Init: ^uint64(0), XorOut: ^uint64(0), RefIn: true, RefOut: true}
	if got := xz.Sum([]byte("123456789")); got != 0x995dc9bbdf1939fa {
		t.Errorf("CRC-64/XZ = %#x", got)
	}
}

func TestRange(t *testing.T) {
	n := big.NewInt
	for _, c := range [][4]int64{{17, 100, 10, 107}, {17, 5, 0, 5}, {3, 0, 1, 0}} {
		if got := Range(n(c[0]), n(c[1]), n(c[2])); got.Int64() != c[3] {
			t.Errorf("Range(%d, %d, %d) = %s, want %d", c[0], c[1], c[2], got, c[3])
		}
	}
}
