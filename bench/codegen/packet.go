package codegen

import (
	"encoding/binary"
	"net/netip"

	"github.com/catena-nfv/catena/internal/service"
)

// packet is a TCP segment with what the chain looks at.
type packet struct {
	src, dst         netip.Addr
	srcPort, dstPort uint16
	srcMAC, dstMAC   service.MAC
	ttl              byte
	flags            byte
}

// Offsets in a frame without options.
const (
	atIP  = 14
	atTCP = atIP + 20
	atEnd = atTCP + 20
)

// frame writes the packet with right checksums. size is that of the frame with its check sequence, as the paper and
// everybody else counts: the bytes returned are four fewer.
func (p packet) frame(size int) []byte {
	b := make([]byte, max(size-4, atEnd))
	copy(b, p.dstMAC[:])
	copy(b[6:], p.srcMAC[:])
	binary.BigEndian.PutUint16(b[12:], 0x0800)
	ip := b[atIP:]
	ip[0] = 0x45
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	binary.BigEndian.PutUint16(ip[4:], 0x1234)
	ip[8], ip[9] = p.ttl, 6
	src, dst := p.src.As4(), p.dst.As4()
	copy(ip[12:], src[:])
	copy(ip[16:], dst[:])
	tcp := b[atTCP:]
	binary.BigEndian.PutUint16(tcp, p.srcPort)
	binary.BigEndian.PutUint16(tcp[2:], p.dstPort)
	binary.BigEndian.PutUint32(tcp[4:], 1000)
	binary.BigEndian.PutUint32(tcp[8:], 2000)
	tcp[12], tcp[13] = 5<<4, p.flags
	binary.BigEndian.PutUint16(tcp[14:], 0xffff)
	for i := range tcp[20:] {
		tcp[20+i] = byte(i)
	}
	binary.BigEndian.PutUint16(ip[10:], ^sum16(0, ip[:20]))
	binary.BigEndian.PutUint16(tcp[16:], ^tcpSum(b))
	return b
}

// sum16 adds bytes in ones' complement arithmetic.
func sum16(start uint16, b []byte) uint16 {
	sum := uint32(start)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

// tcpSum is the sum over pseudo header and segment of a frame, its checksum included.
func tcpSum(b []byte) uint16 {
	segment := b[atTCP:]
	pseudo := append([]byte{}, b[atIP+12:atIP+20]...)
	pseudo = append(pseudo, 0, 6)
	pseudo = binary.BigEndian.AppendUint16(pseudo, uint16(len(segment)))
	return sum16(sum16(0, pseudo), segment)
}
