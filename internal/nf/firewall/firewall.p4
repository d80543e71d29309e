// Firewall: a stateless 5-tuple packet filter.
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct metadata {
    @shared l4_t l4;
}

#include "l4.p4"

control FirewallIngress(inout headers hdr, inout metadata meta,
                        inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) hits;

    action allow() {
        hits.count();
    }

    action deny() {
        hits.count();
        mark_to_drop(standard_metadata);
    }

    @name("rules")
    table rules {
        key = {
            hdr.ipv4.src_addr: ternary @name("src_addr");
            hdr.ipv4.dst_addr: ternary @name("dst_addr");
            hdr.ipv4.protocol: ternary @name("protocol");
            meta.l4.src_port:  ternary @name("src_port");
            meta.l4.dst_port:  ternary @name("dst_port");
        }
        actions = { allow; deny; }
        default_action = allow();
        counters = hits;
        size = 16384;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            rules.apply();
        }
        // Alone the firewall stands between ports 1 and 2.
        @standalone {
            if (standard_metadata.egress_spec != PORT_DROP) {
                standard_metadata.egress_spec = standard_metadata.ingress_port ^ 3;
            }
        }
    }
}

V1Switch(L4Parser(), L4VerifyChecksum(), FirewallIngress(), L4Egress(),
         L4ComputeChecksum(), L4Deparser()) main;
