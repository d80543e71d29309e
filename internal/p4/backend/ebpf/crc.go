package ebpf

import (
	"fmt"
	"strings"
)

// crc16Text is the table and the step of crc16 (CRC-16/ARC), with the bits reflected.
func crc16Text() string {
	return "static const u16 crc16_table[256] = {" + crcRow(16, crcTable(0xa001)) + "\n};\n" + `
static __always_inline u32 crc16_byte(u32 crc, u8 b)
{
	return crc16_table[LOW_BYTE(crc ^ b)] ^ crc >> 8;
}
`
}

// crc32Text is the tables and the steps of crc32 (that of Ethernet), with the bits reflected: table n is for a byte
// with n bytes behind it. So of eight bytes at once no lookup waits for another.
func crc32Text() string {
	var b strings.Builder
	b.WriteString("static const u32 crc32_tables[8][256] = {")
	first := crcTable(0xedb88320)
	t := first
	for range 8 {
		b.WriteString("\n\t{" + crcRow(32, t) + "\n\t},")
		for i, c := range t {
			t[i] = c>>8 ^ first[c&0xff]
		}
	}
	b.WriteString("\n};\n" + `
#define CRC32(n, b) crc32_tables[n][LOW_BYTE(b)]

static __always_inline u32 crc32_byte(u32 crc, u8 b)
{
	return CRC32(0, crc ^ b) ^ crc >> 8;
}

/* Four bytes, the first of them the highest of w. */
static __always_inline u32 crc32_word(u32 crc, u32 w)
{
	crc ^= __builtin_bswap32(w);
	return CRC32(3, crc) ^ CRC32(2, crc >> 8) ^ CRC32(1, crc >> 16) ^ CRC32(0, crc >> 24);
}

static __always_inline u32 crc32_words(u32 crc, u32 w, u32 x)
{
	crc ^= __builtin_bswap32(w);
	x = __builtin_bswap32(x);
	return CRC32(7, crc) ^ CRC32(6, crc >> 8) ^ CRC32(5, crc >> 16) ^ CRC32(4, crc >> 24) ^
	       CRC32(3, x) ^ CRC32(2, x >> 8) ^ CRC32(1, x >> 16) ^ CRC32(0, x >> 24);
}
`)
	return b.String()
}

// crcTable is the remainder of each byte.
func crcTable(poly uint32) [256]uint32 {
	var t [256]uint32
	for i := range t {
		c := uint32(i)
		for range 8 {
			if c&1 != 0 {
				c = c>>1 ^ poly
			} else {
				c >>= 1
			}
		}
		t[i] = c
	}
	return t
}

// crcRow is a table's numbers of so many bits, eight in a line.
func crcRow(width int, t [256]uint32) string {
	var b strings.Builder
	for i, c := range t {
		if i%8 == 0 {
			b.WriteString("\n\t")
		} else {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "0x%0*x,", width/4, c)
	}
	return b.String()
}

// crc32 adds a sequence of values to the checksum in a variable: by eight bytes, then four, then one.
func (f *fn) crc32(h string, items []val) {
	for i, v := range items {
		items[i] = f.hold(v)
	}
	bytes := f.units(items, 8)
	whole := f.units(items, 32)[:len(bytes)/4]
	rest := bytes[4*len(whole):]
	for ; len(whole) >= 2; whole = whole[2:] {
		f.t.f("%s = crc32_words(%s, %s, %s);", h, h, join(whole[0], "|"), join(whole[1], "|"))
	}
	for _, w := range whole {
		f.t.f("%s = crc32_word(%s, %s);", h, h, join(w, "|"))
	}
	for _, b := range rest {
		f.t.f("%s = crc32_byte(%s, %s);", h, h, join(b, "|"))
	}
}
