// Every copy gets its own tag: egress changes the headers of each differently.
#include "common.p4"

struct metadata { bit<16> mark; }
struct headers { ethernet_t ethernet; tag_t tag; ipv4_t ipv4; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x8100: tag;
            0x0800: ipv4;
            default: accept;
        }
    }
    state tag {
        packet.extract(hdr.tag);
        transition select(hdr.tag.ether_type) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 { packet.extract(hdr.ipv4); transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    counter(4, CounterType.packets_and_bytes) seen;
    apply {
        meta.mark = 7;
        seen.count((bit<32>)sm.ingress_port);
        if (hdr.ethernet.dst_addr[40:40] == 1) {
            sm.mcast_grp = 5;
        } else {
            sm.egress_spec = 9;
        }
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        if (sm.egress_port == sm.ingress_port) {
            mark_to_drop(sm);
        } else if (sm.egress_rid == 2) {
            if (!hdr.tag.isValid()) {
                hdr.tag.setValid();
                hdr.tag.ether_type = hdr.ethernet.ether_type;
                hdr.ethernet.ether_type = 0x8100;
            }
            hdr.tag.id = (bit<12>)sm.egress_port;
            hdr.tag.prio = (bit<3>)meta.mark;
        } else if (sm.egress_rid == 3 && hdr.tag.isValid()) {
            hdr.ethernet.ether_type = hdr.tag.ether_type;
            hdr.tag.setInvalid();
        }
        if (sm.instance_type == 5) {
            hdr.ethernet.src_addr = 0x0200000000aa;
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
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.tag); packet.emit(hdr.ipv4); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
