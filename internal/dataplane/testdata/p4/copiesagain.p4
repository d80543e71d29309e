// Copies that start again: the low bits of the destination say which, the high ones of its last byte how often.
#include "common.p4"

struct metadata {
    @field_list(1) bit<8> round;
    @field_list(1) bit<8> from;
}
header note_t { bit<8> round; bit<8> from; bit<16> length; }
struct headers { ethernet_t ethernet; note_t note; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start { packet.extract(hdr.ethernet); transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 9;
        if (meta.round == 0) {
            if (hdr.ethernet.dst_addr[0:0] == 1) { sm.mcast_grp = 5; }
            if (hdr.ethernet.dst_addr[1:1] == 1) { clone(CloneType.I2E, 1); }
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        if (meta.round == 0) {
            meta.from = (bit<8>) sm.instance_type;
            if (hdr.ethernet.dst_addr[2:2] == 1 && sm.instance_type == 0) { clone(CloneType.E2E, 2); }
            if (hdr.ethernet.dst_addr[3:3] == 1 && sm.instance_type == 0) { truncate(100); }
        }
        if (meta.round < (bit<8>) hdr.ethernet.dst_addr[7:4]) {
            meta.round = meta.round + 1;
            hdr.note = { meta.round, meta.from, (bit<16>) sm.packet_length };
            recirculate_preserving_field_list(1);
        }
    }
}
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out packet, in headers hdr) { apply { packet.emit(hdr.ethernet); packet.emit(hdr.note); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
