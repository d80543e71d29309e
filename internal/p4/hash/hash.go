// Package hash has the hash algorithms of v1model as the behavioural model
// computes them. All are pure functions of a byte string.
//
// What is hashed is the concatenation of the fields in the order written, without
// padding between them, filled with zero bits at the end to whole bytes.
package hash

import (
	"fmt"
	"math/big"
	"math/bits"
)

// CRC is the description of a cyclic redundancy check in the usual (Rocksoft) form.
type CRC struct {
	Width         int // bits, 8 … 64
	Poly          uint64
	Init, XorOut  uint64
	RefIn, RefOut bool
}

// CRC16 returns the parameters of crc16: CRC-16/ARC.
func CRC16() CRC { return CRC{Width: 16, Poly: 0x8005, RefIn: true, RefOut: true} }

// CRC32 returns the parameters of crc32: the one of Ethernet.
func CRC32() CRC {
	return CRC{Width: 32, Poly: 0x04c11db7, Init: 0xffffffff, XorOut: 0xffffffff, RefIn: true, RefOut: true}
}

// Sum computes the check of data, bit by bit.
func (c CRC) Sum(data []byte) uint64 {
	mask := ^uint64(0) >> (64 - c.Width)
	top := uint64(1) << (c.Width - 1)
	reg := c.Init & mask
	for _, b := range data {
		if c.RefIn {
			b = bits.Reverse8(b)
		}
		reg ^= uint64(b) << (c.Width - 8)
		for range 8 {
			if reg&top != 0 {
				reg = reg<<1 ^ c.Poly
			} else {
				reg <<= 1
			}
			reg &= mask
		}
	}
	if c.RefOut {
		reg = bits.Reverse64(reg) >> (64 - c.Width)
	}
	return (reg ^ c.XorOut) & mask
}

// OnesSum is the ones' complement sum of the big-endian 16-bit words of data, an odd
// byte at the end being the high half of a last word (RFC 1071). It is not inverted.
func OnesSum(data []byte) uint16 {
	var sum uint64
	for i := 0; i+1 < len(data); i += 2 {
		sum += uint64(data[i])<<8 | uint64(data[i+1])
	}
	if len(data)%2 == 1 {
		sum += uint64(data[len(data)-1]) << 8
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

// Checksum16 is the Internet checksum: the inverted OnesSum.
func Checksum16(data []byte) uint16 { return ^OnesSum(data) }

// Xor16 is the exclusive or of the big-endian 16-bit words of data.
func Xor16(data []byte) uint16 {
	var x uint16
	for i, b := range data {
		if i%2 == 0 {
			x ^= uint16(b) << 8
		} else {
			x ^= uint16(b)
		}
	}
	return x
}

// Identity is data itself as a number: as the behavioural model does it, the first
// eight bytes of it.
func Identity(data []byte) uint64 {
	var x uint64
	for _, b := range data[:min(8, len(data))] {
		x = x<<8 | uint64(b)
	}
	return x
}

// Params are the parameters of the two algorithms that a control plane may change.
type Params struct{ CRC16Custom, CRC32Custom CRC }

// DefaultParams makes the custom algorithms equal to crc16 and crc32.
func DefaultParams() Params { return Params{CRC16Custom: CRC16(), CRC32Custom: CRC32()} }

// Algorithms lists the names that Compute knows, the members of v1model's
// HashAlgorithm without `random`, which is no function of its input.
func Algorithms() []string {
	return []string{"crc32", "crc32_custom", "crc16", "crc16_custom", "identity", "csum16", "xor16"}
}

// Compute applies the algorithm of that name.
func Compute(algorithm string, p Params, data []byte) (*big.Int, error) {
	var v uint64
	switch algorithm {
	case "crc32":
		v = CRC32().Sum(data)
	case "crc32_custom":
		v = p.CRC32Custom.Sum(data)
	case "crc16":
		v = CRC16().Sum(data)
	case "crc16_custom":
		v = p.CRC16Custom.Sum(data)
	case "identity":
		v = Identity(data)
	case "csum16":
		v = uint64(Checksum16(data))
	case "xor16":
		v = uint64(Xor16(data))
	default:
		return nil, fmt.Errorf("hash algorithm %q is not one of %v", algorithm, Algorithms())
	}
	return new(big.Int).SetUint64(v), nil
}

// Range maps a hash to base … base+max-1, or to base if max is 0, as v1model's hash
// function does.
func Range(h, base, max *big.Int) *big.Int {
	if max.Sign() == 0 {
		return new(big.Int).Set(base)
	}
	r := new(big.Int).Mod(h, max)
	return r.Add(r, base)
}
