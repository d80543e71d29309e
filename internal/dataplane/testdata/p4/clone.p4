// Clones at ingress and egress, of packets and of clones, with multicast and resubmit
// beside them.
#include "common.p4"

struct kept_t { bit<8> small; bit<72> wide; }
struct metadata {
    @field_list(1) kept_t kept;
    @field_list(1, 2) bit<16> both;
    bit<16> lost;
}
header note_t { bit<8> kind; bit<8> port; bit<16> rid; bit<8> small; bit<72> wide; bit<16> both; bit<16> lost; bit<32> length; bit<16> came; }
struct headers { ethernet_t ethernet; note_t note; tag_t tag; ipv4_t ipv4; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        meta.lost = 0x77;
        transition select(hdr.ethernet.ether_type) { 0x8100: tag; 0x0800: ipv4; default: accept; }
    }
    state tag {
        packet.extract(hdr.tag);
        transition select(hdr.tag.ether_type) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 { packet.extract(hdr.ipv4); transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        meta.kept.small = 0x5a;
        meta.kept.wide = (bit<72>)hdr.ethernet.src_addr << 20;
        meta.both = hdr.ethernet.ether_type;
        sm.egress_spec = 9;
        if (hdr.ethernet.dst_addr[0:0] == 1) {
            clone(CloneType.I2E, 100);
        }
        if (hdr.ethernet.dst_addr[1:1] == 1) {
            clone_preserving_field_list(CloneType.I2E, (bit<32>)hdr.ethernet.dst_addr[15:8], 1);
        }
        if (hdr.ethernet.dst_addr[2:2] == 1) {
            sm.mcast_grp = 5;
        }
        if (hdr.ethernet.dst_addr[3:3] == 1) {
            mark_to_drop(sm);
        }
        if (hdr.ethernet.dst_addr[4:4] == 1 && sm.instance_type == 0) {
            resubmit_preserving_field_list(2);
        }
        if (hdr.tag.isValid()) {
            hdr.ethernet.ether_type = hdr.tag.ether_type;
            hdr.tag.setInvalid();
        } else if (hdr.ipv4.isValid()) {
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            hdr.tag.setValid();
            hdr.tag.id = 5;
            hdr.tag.ether_type = 0x0800;
            hdr.ethernet.ether_type = 0x8100;
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    counter(8, CounterType.packets_and_bytes) kinds;
    apply {
        kinds.count(sm.instance_type);
        if (hdr.ethernet.dst_addr[16:16] == 1) {
            hdr.note.setValid();
            hdr.note = { (bit<8>)sm.instance_type, (bit<8>)sm.egress_port, sm.egress_rid, meta.kept.small, meta.kept.wide,
                         meta.both, meta.lost, sm.packet_length, (bit<16>)sm.ingress_port };
            hdr.ethernet.src_addr[15:0] = 0x9999;
        }
        if (hdr.ethernet.dst_addr[17:17] == 1 && sm.instance_type != 2) {
            clone(CloneType.E2E, (bit<32>)hdr.ethernet.dst_addr[23:20]);
        }
        if (hdr.ethernet.dst_addr[18:18] == 1 && sm.instance_type != 2) {
            meta.kept.small = meta.kept.small + 1;
            clone_preserving_field_list(CloneType.E2E, (bit<32>)hdr.ethernet.dst_addr[23:20], 1);
        }
        if (hdr.ethernet.dst_addr[19:19] == 1 && sm.instance_type == 0) {
            mark_to_drop(sm);
        }
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.diffserv = hdr.ipv4.diffserv + 1;
        }
    }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.note); packet.emit(hdr.tag); packet.emit(hdr.ipv4); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
