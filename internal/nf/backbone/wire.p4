// wire: the smallest backbone. Ports 1 and 2 are the ends of a wire, and what
// passes is classified into chains.
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"
#include "sfc.p4"

struct metadata {
    @shared l4_t l4;
    sfc_t        sfc;
}

#include "l4.p4"

control WireIngress(inout headers hdr, inout metadata meta,
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

    apply {
        classifier.apply();
        @hook { }
        if (standard_metadata.egress_spec == PORT_NONE && standard_metadata.mcast_grp == 0) {
            standard_metadata.egress_spec = standard_metadata.ingress_port ^ 3;
        }
    }
}

V1Switch(L4Parser(), L4VerifyChecksum(), WireIngress(), L4Egress(),
         L4ComputeChecksum(), L4Deparser()) main;
