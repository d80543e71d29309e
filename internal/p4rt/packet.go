package p4rt

import (
	"strings"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/status"
)

// A v1model program sees controller packets on its CPU port with a header in
// front: the struct annotated @controller_header. On the wire of P4Runtime the
// header's fields travel as metadata beside the payload.

// HeaderLen is the number of bytes of a controller header; nil has none. The
// fields are packed without gaps and padded to a whole byte.
func HeaderLen(h *configv1.ControllerPacketMetadata) int {
	bits := 0
	for _, m := range h.GetMetadata() {
		bits += int(m.GetBitwidth())
	}
	return (bits + 7) / 8
}

// JoinPacket puts the metadata in front of the payload as the header h. Every
// field must be given once and fit. The errors have code INVALID_ARGUMENT.
func JoinPacket(h *configv1.ControllerPacketMetadata, md []*v1.PacketMetadata, payload []byte) ([]byte, error) {
	size := HeaderLen(h)
	out := make([]byte, size, size+len(payload))
	given := map[uint32][]byte{}
	for _, m := range md {
		if _, dup := given[m.GetMetadataId()]; dup {
			return nil, invalid("metadata %d is given twice", m.GetMetadataId())
		}
		given[m.GetMetadataId()] = m.GetValue()
	}
	pos := 0
	for _, f := range h.GetMetadata() {
		v, ok := given[f.GetId()]
		if !ok && padding(f) {
			pos += int(f.GetBitwidth())
			continue
		}
		if !ok {
			return nil, invalid("metadata %s (id %d) is missing", f.GetName(), f.GetId())
		}
		delete(given, f.GetId())
		width := int(f.GetBitwidth())
		v, err := Fit(v, width)
		if err != nil {
			return nil, invalid("metadata %s: %s", f.GetName(), status.Convert(err).Message())
		}
		putBits(out, pos, width, v)
		pos += width
	}
	for _, m := range md {
		if _, left := given[m.GetMetadataId()]; left {
			return nil, invalid("unknown metadata id %d", m.GetMetadataId())
		}
	}
	return append(out, payload...), nil
}

// SplitPacket is the inverse of JoinPacket.
func SplitPacket(h *configv1.ControllerPacketMetadata, data []byte) (md []*v1.PacketMetadata, payload []byte, err error) {
	size := HeaderLen(h)
	if len(data) < size {
		return nil, nil, invalid("packet of %d bytes is shorter than its controller header of %d", len(data), size)
	}
	pos := 0
	for _, f := range h.GetMetadata() {
		width := int(f.GetBitwidth())
		if padding(f) {
			pos += width
			continue
		}
		md = append(md, &v1.PacketMetadata{MetadataId: f.GetId(), Value: Canonical(getBits(data, pos, width))})
		pos += width
	}
	return md, data[size:], nil
}

// padding reports whether a field only fills up bytes (@padding): it is 0 and no
// metadata of the protocol.
func padding(f *configv1.ControllerPacketMetadata_Metadata) bool {
	for _, a := range f.GetAnnotations() {
		if strings.HasPrefix(a, "@padding") {
			return true
		}
	}
	return false
}

// putBits writes the width lowest bits of v at bit position pos of buf.
func putBits(buf []byte, pos, width int, v []byte) {
	v = pad(v, (width+7)/8)
	skip := len(v)*8 - width
	for i := range width {
		if v[(skip+i)/8]>>(7-(skip+i)%8)&1 == 1 {
			buf[(pos+i)/8] |= 0x80 >> ((pos + i) % 8)
		}
	}
}

// getBits reads width bits at bit position pos of buf.
func getBits(buf []byte, pos, width int) []byte {
	v := make([]byte, (width+7)/8)
	skip := len(v)*8 - width
	for i := range width {
		if buf[(pos+i)/8]>>(7-(pos+i)%8)&1 == 1 {
			v[(skip+i)/8] |= 0x80 >> ((skip + i) % 8)
		}
	}
	return v
}
