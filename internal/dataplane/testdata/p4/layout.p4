// Headers that come, go, change places and have variable length; stacks and unions.
#include "common.p4"

header options_t { bit<8> kind; varbit<64> data; bit<8> end; }
header one_t { bit<8> x; }
header two_t { bit<16> y; }
header_union either_t { one_t one; two_t two; }

struct metadata { bit<8> depth; }
struct headers { ethernet_t ethernet; tag_t[3] tags; options_t options; either_t either; ipv4_t outer; ipv4_t ipv4; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x8100: tag;
            0x0800: ipv4;
            0x1234: options;
            0x5555: skip;
            default: accept;
        }
    }
    state tag {
        packet.extract(hdr.tags.next);
        meta.depth = meta.depth + 1;
        transition select(hdr.tags.last.ether_type) {
            0x8100: tag;
            0x0800: ipv4;
            0x1234: options;
            default: accept;
        }
    }
    state options {
        packet.extract(hdr.options, (bit<32>)(packet.lookahead<bit<8>>() & 0xf8));
        transition select(hdr.options.end) {
            0x01: one;
            0x02: two;
            default: accept;
        }
    }
    state one { packet.extract(hdr.either.one); transition ipv4; }
    state two { packet.extract(hdr.either.two); transition ipv4; }
    state skip { packet.advance(24); transition ipv4; }
    state ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.version == 4, error.HeaderTooShort);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        if (sm.parser_error != error.NoError) {
            hdr.ethernet.dst_addr = 0;
        }
        bit<4> what = hdr.ethernet.src_addr[3:0];
        if (what == 1) {
            hdr.tags.push_front(1);
            hdr.tags[0].setValid();
            hdr.tags[0].id = 0x123;
            hdr.tags[0].ether_type = hdr.ethernet.ether_type;
            hdr.ethernet.ether_type = 0x8100;
        } else if (what == 2) {
            hdr.tags.pop_front(1);
        } else if (what == 3 && hdr.ipv4.isValid()) {
            hdr.outer = hdr.ipv4;
            hdr.outer.protocol = 4;
            hdr.outer.total_len = hdr.ipv4.total_len + 20;
        } else if (what == 4) {
            hdr.options.setInvalid();
        } else if (what == 5) {
            hdr.either.two.setValid();
            hdr.either.two.y = 0xbeef;
        } else if (what == 6) {
            hdr.ipv4.setInvalid();
        } else if (what == 7) {
            hdr.tags[(bit<2>)meta.depth].id = 0x777;
        } else if (what == 8) {
            hdr.ethernet.src_addr = (bit<48>)hdr.tags[hdr.ethernet.dst_addr[1:0]].id;
        } else if (what == 9) {
            truncate(30);
        } else if (what == 10) {
            hdr.ethernet.setInvalid();
        }
        if (hdr.either.isValid()) {
            hdr.options.kind = 0x99;
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum(hdr.outer.isValid(),
            { hdr.outer.version, hdr.outer.ihl, hdr.outer.diffserv, hdr.outer.total_len, hdr.outer.identification,
              hdr.outer.flags, hdr.outer.frag_offset, hdr.outer.ttl, hdr.outer.protocol, hdr.outer.src_addr, hdr.outer.dst_addr },
            hdr.outer.checksum, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.options);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.tags);
        packet.emit(hdr.either);
        packet.emit(hdr.outer);
        packet.emit(hdr.ipv4);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
