// LB: spreads the connections to a virtual address over its members by the hash of
// the 5-tuple, so that a connection stays with its member.
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct lb_metadata_t {
    bit<16> group;
    bit<16> index;
}

struct metadata {
    @shared l4_t  l4;
    lb_metadata_t lb;
}

#include "l4.p4"

control LbIngress(inout headers hdr, inout metadata meta,
                  inout standard_metadata_t standard_metadata) {
    action balance(bit<16> group, bit<16> members) {
        meta.lb.group = group;
        hash(meta.lb.index, HashAlgorithm.crc32, 16w0,
            { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol,
              meta.l4.src_port, meta.l4.dst_port },
            members);
    }

    table services {
        key = {
            hdr.ipv4.dst_addr: exact @name("dst_addr");
            hdr.ipv4.protocol: exact @name("protocol");
            meta.l4.dst_port:  exact @name("dst_port");
        }
        actions = { balance; NoAction; }
        default_action = NoAction();
        size = 4096;
    }

    action to_member(bit<32> addr) {
        hdr.ipv4.dst_addr = addr;
    }

    table members {
        key = {
            meta.lb.group: exact @name("group");
            meta.lb.index: exact @name("index");
        }
        actions = { to_member; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    action from_service(bit<32> addr) {
        hdr.ipv4.src_addr = addr;
    }

    // What members answer leaves with the service's address again.
    table replies {
        key = {
            hdr.ipv4.src_addr: exact @name("src_addr");
            hdr.ipv4.protocol: exact @name("protocol");
            meta.l4.src_port:  exact @name("src_port");
        }
        actions = { from_service; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            if (services.apply().hit) {
                members.apply();
            } else {
                replies.apply();
            }
        }
        // Alone the load balancer stands between ports 1 and 2.
        @standalone {
            standard_metadata.egress_spec = standard_metadata.ingress_port ^ 3;
        }
    }
}

V1Switch(L4Parser(), L4VerifyChecksum(), LbIngress(), L4Egress(),
         L4ComputeChecksum(), L4Deparser()) main;
