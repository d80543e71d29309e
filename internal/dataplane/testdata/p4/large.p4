// Looks a key up in three large tables, and answers with what each of them found.
#include <core.p4>
#include <v1model.p4>

header question_t {
    bit<32> a;
    bit<32> b;
    bit<16> c;
    bit<32> exactly;
    bit<32> longest;
    bit<32> best;
}

struct headers { question_t q; }
struct metadata { }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.q);
        transition accept;
    }
}

control V(inout headers hdr, inout metadata meta) { apply { } }

control I(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) {
    action exactly(bit<32> n) { hdr.q.exactly = n; }
    action longest(bit<32> n) { hdr.q.longest = n; }
    action best(bit<32> n) { hdr.q.best = n; }
    table hosts {
        key = { hdr.q.a: exact; }
        actions = { exactly; NoAction; }
        default_action = NoAction();
        size = 100000;
    }
    table prefixes {
        key = { hdr.q.a: lpm; }
        actions = { longest; NoAction; }
        default_action = NoAction();
        size = 100000;
    }
    table rules {
        key = { hdr.q.a: ternary; hdr.q.b: ternary; hdr.q.c: ternary; }
        actions = { best; NoAction; }
        default_action = NoAction();
        size = 10000;
    }
    apply {
        hosts.apply();
        prefixes.apply();
        rules.apply();
        standard_metadata.egress_spec = 1;
    }
}

control E(inout headers hdr, inout metadata meta, inout standard_metadata_t standard_metadata) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out packet, in headers hdr) { apply { packet.emit(hdr.q); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
