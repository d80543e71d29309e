// L3fwd: forwards by the longest matching prefix of the destination, after the
// longest matching prefix of the source has let the packet pass.
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct metadata {
    @shared l4_t l4;
}

#include "l4.p4"

control L3fwdIngress(inout headers hdr, inout metadata meta,
                     inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action accept_source() { }

    table sources {
        key = { hdr.ipv4.src_addr: lpm @name("src_addr"); }
        actions = { accept_source; drop; }
        default_action = accept_source();
        size = 65536;
    }

    action forward(bit<9> port, bit<48> src_mac, bit<48> dst_mac) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src_addr = src_mac;
        hdr.ethernet.dst_addr = dst_mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    // Leaves the choice to the backbone.
    action pass() { }

    table routes {
        key = { hdr.ipv4.dst_addr: lpm @name("dst_addr"); }
        actions = { forward; pass; drop; }
        default_action = pass();
        size = 65536;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            if (hdr.ipv4.ttl <= 1) {
                drop();
            } else {
                switch (sources.apply().action_run) {
                    accept_source: { routes.apply(); }
                }
            }
        }
        // Alone, what no route claims is dropped.
        @standalone {
            if (standard_metadata.egress_spec == PORT_NONE) {
                drop();
            }
        }
    }
}

V1Switch(L4Parser(), L4VerifyChecksum(), L3fwdIngress(), L4Egress(),
         L4ComputeChecksum(), L4Deparser()) main;
