// The frame of the programs that show what a pass does. A program defines control I
// and, with OWN_PARSER, parser P; with OWN_DEPARSER, control D.
#include <core.p4>
#include <v1model.p4>

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header vlan_t { bit<16> tag; bit<16> type; }
header ipv4_t { bit<8> ihl; bit<8> ttl; bit<16> len; bit<32> src; bit<32> dst; }
header tunnel_t { bit<32> key; bit<32> flags; }

header nibble_t { bit<4> v; }

header_union either_t {
    tunnel_t tunnel;
    vlan_t   vlan;
}

struct headers {
    ethernet_t ethernet;
    tunnel_t   tunnel;
    vlan_t     vlan;
    ipv4_t     ipv4;
    either_t   either;
    nibble_t   nibble;
}

struct metadata {
    bit<8>  mark;
    bit<16> port;
    bit<8>  unused;
    @field_list(1) bit<8> kept;
}

#define STD inout headers hdr, inout metadata meta, inout standard_metadata_t sm

#ifndef OWN_PARSER
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x8100: vlan;
            0x0800: ipv4;
            default: accept;
        }
    }
    state vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.type) {
            0x0800: ipv4;
            default: accept;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}
#endif

control V(inout headers hdr, inout metadata meta) { apply { } }
control E(STD) {
    apply {
        if (meta.mark != 0) { sm.egress_spec = 1; }
    }
}
control C(inout headers hdr, inout metadata meta) { apply { } }
#ifndef OWN_DEPARSER
control D(packet_out packet, in headers hdr) { apply { packet.emit(hdr); } }
#endif

#define MAIN V1Switch(P(), V(), I(), E(), C(), D()) main;
