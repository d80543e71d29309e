// l2: a backbone that is a learning-free Ethernet switch: it forwards by the
// destination MAC address and floods what it does not know.
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"
#include "sfc.p4"

struct metadata {
    @shared l4_t l4;
    sfc_t        sfc;
}

#include "l4.p4"

control L2Ingress(inout headers hdr, inout metadata meta,
                  inout standard_metadata_t standard_metadata) {
    action set_chain(bit<16> scope, bit<16> chain, bit<16> path, bit<64> nodes) {
        meta.sfc.scope = scope;
        meta.sfc.chain = chain;
        meta.sfc.path = path;
        meta.sfc.nodes = nodes;
    }

    // Which chain and path a packet takes.
    table classifier {
        key = {
            standard_metadata.ingress_port: ternary @name("port");
            hdr.ipv4.src_addr:    ternary @name("src_addr");
            hdr.ipv4.dst_addr:    ternary @name("dst_addr");
            hdr.ipv4.protocol:    ternary @name("protocol");
            meta.l4.src_port:     ternary @name("src_port");
            meta.l4.dst_port:     ternary @name("dst_port");
        }
        actions = { set_chain; NoAction; }
        default_action = NoAction();
        size = 16384;
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action flood(bit<16> group) {
        standard_metadata.mcast_grp = group;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table hosts {
        key = { hdr.ethernet.dst_addr: exact @name("mac"); }
        actions = { forward; flood; drop; }
        default_action = flood(1);
        size = 65536;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            classifier.apply();
            @hook { }
        }
        if (standard_metadata.egress_spec == PORT_NONE && standard_metadata.mcast_grp == 0) {
            hosts.apply();
        }
    }
}

control L2Egress(inout headers hdr, inout metadata meta,
                 inout standard_metadata_t standard_metadata) {
    apply {
        // A flooded packet does not return to where it came from.
        if (standard_metadata.mcast_grp != 0 &&
            standard_metadata.egress_port == standard_metadata.ingress_port) {
            mark_to_drop(standard_metadata);
        }
    }
}

V1Switch(L4Parser(), L4VerifyChecksum(), L2Ingress(), L2Egress(),
         L4ComputeChecksum(), L4Deparser()) main;
