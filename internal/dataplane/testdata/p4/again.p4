// Packets start again: resubmitted as they came, recirculated as they would have left.
#include "common.p4"

header count_t { bit<8> resubmits; bit<8> passes; bit<8> kind; bit<8> port; }
struct kept_t { bit<8> resubmits; bit<40> wide; }
struct metadata {
    @field_list(1) kept_t kept;
    @field_list(2) bit<8> passes;
    bit<8> lost;
}
struct headers { ethernet_t ethernet; count_t count; tag_t tag; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) { 0x8100: tag; 0x9999: count; default: accept; }
    }
    state count { packet.extract(hdr.count); transition accept; }
    state tag { packet.extract(hdr.tag); transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    counter(8, CounterType.packets_and_bytes) kinds;
    apply {
        kinds.count(sm.instance_type);
        meta.lost = meta.lost + 1;
        if (sm.instance_type != 4 && meta.kept.resubmits < (bit<8>)hdr.ethernet.dst_addr[2:0]) {
            meta.kept.resubmits = meta.kept.resubmits + 1;
            meta.kept.wide = meta.kept.wide + hdr.ethernet.src_addr[39:0];
            hdr.ethernet.src_addr = 0;
            resubmit_preserving_field_list(1);
        } else {
            if (!hdr.count.isValid()) {
                hdr.count.setValid();
                hdr.count.resubmits = meta.kept.resubmits;
                hdr.count.port = (bit<8>)meta.kept.wide;
                hdr.ethernet.ether_type = 0x9999;
            }
            hdr.count.passes = hdr.count.passes + 1;
            hdr.count.kind = hdr.count.kind + (bit<8>)sm.instance_type + meta.lost + (bit<8>)sm.ingress_port;
            sm.egress_spec = 4;
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        if (meta.passes < (bit<8>)hdr.ethernet.dst_addr[10:8]) {
            meta.passes = meta.passes + 1;
            recirculate_preserving_field_list(2);
        }
    }
}
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out packet, in headers hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.count); packet.emit(hdr.tag); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
