// L2fwd: forwards by the destination MAC address.
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"

struct metadata { }

struct headers {
    ethernet_t ethernet;
}

parser L2Parser(packet_in packet, out headers hdr, inout metadata meta,
                inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control L2VerifyChecksum(inout headers hdr, inout metadata meta) {
    apply { }
}

control L2fwdIngress(inout headers hdr, inout metadata meta,
                     inout standard_metadata_t standard_metadata) {
    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action flood(bit<16> group) {
        standard_metadata.mcast_grp = group;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table addresses {
        key = { hdr.ethernet.dst_addr: exact @name("dst_addr"); }
        actions = { forward; flood; drop; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        if (hdr.ethernet.isValid()) {
            addresses.apply();
        }
        // Alone, what the table does not know is dropped.
        @standalone {
            if (standard_metadata.egress_spec == PORT_NONE && standard_metadata.mcast_grp == 0) {
                mark_to_drop(standard_metadata);
            }
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

control L2ComputeChecksum(inout headers hdr, inout metadata meta) {
    apply { }
}

control L2Deparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(L2Parser(), L2VerifyChecksum(), L2fwdIngress(), L2Egress(),
         L2ComputeChecksum(), L2Deparser()) main;
