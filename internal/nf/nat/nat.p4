// NAT: stateless translation of addresses, one to one. `source` translates what
// leaves, `restore` undoes it for what returns.
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct metadata {
    @shared l4_t l4;
}

#include "l4.p4"

control NatIngress(inout headers hdr, inout metadata meta,
                   inout standard_metadata_t standard_metadata) {
    action translate(bit<32> addr) {
        hdr.ipv4.src_addr = addr;
    }

    table source {
        key = { hdr.ipv4.src_addr: exact @name("src_addr"); }
        actions = { translate; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    action restore_to(bit<32> addr) {
        hdr.ipv4.dst_addr = addr;
    }

    table restore {
        key = { hdr.ipv4.dst_addr: exact @name("dst_addr"); }
        actions = { restore_to; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            source.apply();
            restore.apply();
        }
        // Alone the NAT stands between ports 1 and 2.
        @standalone {
            standard_metadata.egress_spec = standard_metadata.ingress_port ^ 3;
        }
    }
}

V1Switch(L4Parser(), L4VerifyChecksum(), NatIngress(), L4Egress(),
         L4ComputeChecksum(), L4Deparser()) main;
