// Takes up to two tags off a frame and leaves their numbers in its source address, and how
// long the frame was in its destination.
#include "common.p4"

struct metadata { }
struct headers { ethernet_t ethernet; tag_t[2] tags; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) { 0x8100: tag; 0x88a8: tag; default: accept; }
    }
    state tag {
        packet.extract(hdr.tags.next);
        transition select(hdr.tags.last.ether_type) { 0x8100: tag; default: accept; }
    }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = sm.ingress_port ^ 3;
        hdr.ethernet.src_addr = 16w0x0200 ++ 4w0 ++ hdr.tags[0].id ++ 4w0 ++ hdr.tags[1].id;
        hdr.ethernet.dst_addr[15:0] = (bit<16>) sm.packet_length;
        hdr.ethernet.ether_type = 0x88b5;
        hdr.tags.pop_front(2);
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out packet, in headers hdr) { apply { packet.emit(hdr.ethernet); packet.emit(hdr.tags); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
