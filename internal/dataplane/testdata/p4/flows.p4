// flow_state, shared by both controls: keys that do not fill their words, values that
// packets write, read and take away.
#include "common.p4"
#include <flow_state.p4>

header result_t {
    bit<8>  op;     // 0 read, 1 write for a minute, 2 remove, 3 write for a second
    bit<40> value;
    bit<40> ingress;
    bit<64> egress;
}

struct key_t { bit<9> port; bit<48> src; bit<16> kind; bit<1> flag; }
struct metadata { }
struct headers { ethernet_t ethernet; result_t result; }

flow_state<key_t, bit<40>>(1024) flows;

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.result);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 3;
        key_t key = { sm.ingress_port, hdr.ethernet.src_addr, hdr.ethernet.ether_type, hdr.ethernet.dst_addr[0:0] };
        flows.read(hdr.result.ingress, key);
        if (hdr.result.op == 1) {
            flows.write(key, hdr.result.value, 60);
        } else if (hdr.result.op == 2) {
            flows.write(key, 1, 0);
        } else if (hdr.result.op == 3) {
            flows.write(key, hdr.result.value, 1);
        }
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    // What the other control has written, and a key and a value of other widths.
    flow_state<bit<48>, bit<64>>(64) last;
    apply {
        bit<40> seen;
        flows.read(seen, { sm.ingress_port, hdr.ethernet.src_addr, hdr.ethernet.ether_type, hdr.ethernet.dst_addr[0:0] });
        last.read(hdr.result.egress, hdr.ethernet.src_addr);
        last.write(hdr.ethernet.src_addr, 24w0xabcdef ++ seen, 60);
    }
}
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out packet, in headers hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.result); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
