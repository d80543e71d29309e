// The frame of most test programs: a packet of eight bytes, header h, that comes back
// from port 1. A test defines control I.
#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  a;
    bit<8>  b;
    bit<8>  c;
    bit<8>  d;
    bit<16> w;
    bit<16> x;
}

header byte_t { bit<8> v; }

struct headers {
    data_t    h;
    data_t    g;
    byte_t[3] s;
}

struct pair_t {
    bit<8> l;
    bit<8> r;
}

struct metadata {
    bit<8> m;
    bit<8> n;
    pair_t p;
    pair_t q;
}

#define STD inout headers hdr, inout metadata meta, inout standard_metadata_t sm

#ifndef OWN_PARSER
parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.h);
        sm.egress_spec = 1;
        transition accept;
    }
}
#endif

control V(inout headers hdr, inout metadata meta) { apply { } }
control E(STD) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out packet, in headers hdr) { apply { packet.emit(hdr); } }

#define MAIN V1Switch(P(), V(), I(), E(), C(), D()) main;
