// What P4 allows, and v1model or our targets do not.
#include <core.p4>
#include <v1model.p4>

header h_t { bit<8> a; }
struct headers { h_t h; }
struct metadata { bit<8> m; }
struct pair_t { bit<8> l; bit<8> r; }

extern Mine { Mine(); void run(in bit<8> x); }
extern void own(in bit<8> x);

parser P(packet_in p, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start { transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control Sub(inout headers hdr) {
    @name(".shared") action same() { hdr.h.a = 1; }
    table t { actions = { same; } default_action = same(); }
    apply { t.apply(); }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    Mine() /* ERROR "extern Mine is not part of v1model" */ mine;
    register<pair_t>(4) /* ERROR "v1model keeps numbers and bools in registers" */ reg;
    counter(4, CounterType.packets) c;
    direct_counter(CounterType.packets) dc;
    action same() { hdr.h.a = 2; }
    @name(".shared") action /* ERROR "has the control-plane name shared" */ other() { hdr.h.a = 3; }
    table a { actions = { same; other; } default_action = same(); counters = dc; }
    @name("a") table /* ERROR "table has the control-plane name I.a" */ b { actions = { same; } counters = /* ERROR "has to be a direct_counter" */ c; }
    table /* ERROR "has the direct counter of another" */ d { key = { hdr.h.a: lpm; /* ERROR "two lpm" */ meta.m: lpm; } actions = { same; } counters = dc; }
    Sub() sub;
    apply {
        d.apply();
        sub.apply(hdr);
        a.apply();
        b.apply();
        /* ERROR "own is not part of v1model" */ own(1);
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }

V1Switch(P(), V(), I(), E(), V(), D()) main;
