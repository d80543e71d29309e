// IDS: matches packets against header signatures; a match can raise an alert to
// the control plane and drop the packet.
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct metadata {
    @shared l4_t l4;
}

#include "l4.p4"

// What the control plane is told of a packet that matched a signature.
struct ids_alert_t {
    bit<32> signature;
    bit<32> src_addr;
    bit<32> dst_addr;
    bit<8>  protocol;
    bit<16> src_port;
    bit<16> dst_port;
}

control IdsIngress(inout headers hdr, inout metadata meta,
                   inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) hits;

    // All-zero for packets without TCP.
    bit<8> tcp_flags;

    action pass() {
        hits.count();
    }

    action drop() {
        hits.count();
        mark_to_drop(standard_metadata);
    }

    action alert(bit<32> signature) {
        hits.count();
        digest<ids_alert_t>(1, { signature, hdr.ipv4.src_addr, hdr.ipv4.dst_addr,
            hdr.ipv4.protocol, meta.l4.src_port, meta.l4.dst_port });
    }

    action alert_and_drop(bit<32> signature) {
        hits.count();
        digest<ids_alert_t>(1, { signature, hdr.ipv4.src_addr, hdr.ipv4.dst_addr,
            hdr.ipv4.protocol, meta.l4.src_port, meta.l4.dst_port });
        mark_to_drop(standard_metadata);
    }

    table signatures {
        key = {
            hdr.ipv4.src_addr:  ternary @name("src_addr");
            hdr.ipv4.dst_addr:  ternary @name("dst_addr");
            hdr.ipv4.protocol:  ternary @name("protocol");
            hdr.ipv4.ttl:       ternary @name("ttl");
            meta.l4.src_port:   ternary @name("src_port");
            meta.l4.dst_port:   ternary @name("dst_port");
            tcp_flags:          ternary @name("tcp_flags");
        }
        actions = { pass; drop; alert; alert_and_drop; }
        default_action = pass();
        counters = hits;
        size = 4096;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            tcp_flags = 0;
            if (hdr.tcp.isValid()) {
                tcp_flags = hdr.tcp.flags;
            }
            signatures.apply();
        }
        // Alone the IDS stands between ports 1 and 2.
        @standalone {
            if (standard_metadata.egress_spec != PORT_DROP) {
                standard_metadata.egress_spec = standard_metadata.ingress_port ^ 3;
            }
        }
    }
}

V1Switch(L4Parser(), L4VerifyChecksum(), IdsIngress(), L4Egress(),
         L4ComputeChecksum(), L4Deparser()) main;
