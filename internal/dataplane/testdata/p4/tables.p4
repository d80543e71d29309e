// Every kind of match and of action storage, digests, registers and meters.
#include "common.p4"

struct metadata { bit<8> colour; bit<16> sum; }
header out_t {
    bit<8>  exact;
    bit<8>  prefix;
    bit<8>  ternary;
    bit<8>  range;
    bit<8>  constant;
    bit<8>  chosen;
    bit<8>  set;
    bit<8>  colour;
    bit<16> total;
    bit<128> wide;
}
struct headers { ethernet_t ethernet; tag_t tag; ipv4_t ipv4; out_t result; }

struct alert_t { bit<12> id; bit<48> from; bit<9> port; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    value_set<bit<16>>(4) types;
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.tag);
        packet.extract(hdr.ipv4);
        transition select(hdr.ethernet.ether_type) {
            types: special;
            0x0800 &&& 0x0f00: plain;
            0x9000..0x9fff: plain;
            default: accept;
        }
    }
    state special { meta.sum = 1; transition plain; }
    state plain { transition accept; }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    counter(16, CounterType.packets_and_bytes) by_prio;
    direct_counter(CounterType.packets_and_bytes) hits;
    register<bit<16>>(8) totals;
    register<bit<128>>(2) wides;
    meter(8, MeterType.packets) rate;
    direct_meter<bit<8>>(MeterType.bytes) speed;

    action exact_is(bit<8> x) { hdr.result.exact = x; }
    action prefix_is(bit<8> x) { hdr.result.prefix = x; speed.read(meta.colour); }
    action ternary_is(bit<8> x) { hdr.result.ternary = x; hits.count(); }
    action range_is(bit<8> x) { hdr.result.range = x; }
    action constant_is(bit<8> x) { hdr.result.constant = x; }
    action alert() { digest<alert_t>(1, { hdr.tag.id, hdr.ethernet.src_addr, sm.ingress_port }); }
    action chosen_is(bit<8> x) { hdr.result.chosen = x; }

    table exact_table {
        key = { hdr.tag.id: exact; hdr.ethernet.dst_addr: exact; }
        actions = { exact_is; alert; NoAction; }
        default_action = alert();
        size = 64;
    }
    table prefix_table {
        key = { hdr.tag.prio: exact; hdr.ipv4.dst_addr: lpm; }
        actions = { prefix_is; NoAction; }
        default_action = NoAction();
        meters = speed;
        size = 64;
    }
    table ternary_table {
        key = { hdr.ipv4.src_addr: ternary; hdr.ethernet.src_addr: ternary; hdr.ipv4.protocol: optional; }
        actions = { ternary_is; NoAction; }
        const default_action = NoAction();
        counters = hits;
        size = 64;
    }
    table range_table {
        key = { hdr.ipv4.total_len: range; hdr.tag.flag: exact; }
        actions = { range_is; NoAction; }
        default_action = range_is(255);
        size = 64;
    }
    table constant_table {
        key = { hdr.ipv4.ttl: ternary; hdr.ipv4.identification: lpm; hdr.tag.id: range; }
        actions = { constant_is; NoAction; }
        const default_action = constant_is(9);
        const entries = {
            (1 &&& 3, 0x1200 &&& 0xff00, _): constant_is(1);
            (1 &&& 1, _, 10..100): constant_is(2);
            (_, 0x8000 &&& 0x8000, _): constant_is(3);
            (0x40, _, _): constant_is(4);
        }
    }
    action_selector(HashAlgorithm.crc16, 32, 14) spread;
    table selected {
        key = { hdr.ipv4.protocol: exact; hdr.ipv4.src_addr: selector; hdr.tag.id: selector; }
        actions = { chosen_is; NoAction; }
        implementation = spread;
        size = 64;
    }
    apply {
        hdr.result.setValid();
        sm.egress_spec = sm.ingress_port + 1;
        hdr.result.set = (bit<8>)meta.sum;
        by_prio.count((bit<32>)hdr.tag.prio + 12);
        if (exact_table.apply().hit) {
            hdr.result.exact = hdr.result.exact + 1;
        }
        prefix_table.apply();
        switch (ternary_table.apply().action_run) {
            ternary_is: { hdr.result.ternary = hdr.result.ternary ^ 0x80; }
            default: { hdr.result.ternary = 0x55; }
        }
        range_table.apply();
        constant_table.apply();
        selected.apply();
        bit<16> t;
        totals.read(t, (bit<32>)hdr.tag.prio);
        t = t + hdr.ipv4.total_len;
        totals.write((bit<32>)hdr.tag.prio, t);
        hdr.result.total = t;
        bit<128> w;
        wides.read(w, 1);
        w = w + (hdr.ethernet.src_addr ++ hdr.ethernet.dst_addr ++ hdr.ipv4.src_addr);
        wides.write(1, w);
        hdr.result.wide = w;
        bit<8> c;
        rate.execute_meter((bit<32>)hdr.tag.prio, c);
        hdr.result.colour = c + meta.colour;
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers hdr, inout metadata meta) { apply { } }
control D(packet_out packet, in headers hdr) {
    apply { packet.emit(hdr.result); packet.emit(hdr.ethernet); packet.emit(hdr.tag); packet.emit(hdr.ipv4); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
