// Fields that are assigned in some packets only, on their own or together, within a byte of others, chosen by an index,
// or by the parser, under checksums that are updated by what changed. No header moves.
#include "common.p4"

header main_t {
    bit<8>  op;
    bit<8>  wanted;
    bit<4>  left;
    bit<4>  right;
    bit<16> word;
    bit<32> number;
    bit<8>  odd;
    bit<8>  early;
    bit<48> only;
    bit<24> blind;
    bit<4>  one;
    bit<4>  other;
    bit<8>  pad;
    bit<16> checksum;
    bit<16> whole;
}
header cell_t { bit<8> x; bit<8> y; }

struct metadata { bit<16> mark; }
struct headers { ethernet_t ethernet; main_t main; cell_t[2] cells; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start {
        hdr.cells[0].y = 77; // and extract overwrites it
        packet.extract(hdr.ethernet);
        packet.extract(hdr.main);
        meta.mark = hdr.main.word;
        transition select(hdr.main.op[0:0]) { 1: early; default: cells; }
    }
    state early {
        hdr.main.early = hdr.main.op;
        transition cells;
    }
    state cells {
        packet.extract(hdr.cells[0]);
        packet.extract(hdr.cells[1]);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) { apply { } }
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    action both(bit<32> n) {
        hdr.main.number = n;
        hdr.main.word = hdr.main.word + 1;
    }
    action blinded() {
        hdr.main.blind = 24w0x123456;
        hdr.ethernet.src_addr = 48w0x0200000000aa;
    }
    table never { // applied, and nothing else looks at its key
        key = { hdr.ethernet.dst_addr: exact; }
        actions = { NoAction; }
    }
    apply {
        sm.egress_spec = 9;
        if (hdr.main.wanted[0:0] == 1) {
            hdr.main.left = 5;
        }
        if (hdr.main.wanted[1:1] == 1) {
            hdr.main.right = hdr.main.op[3:0];
            hdr.main.only = 48w0xaabbccddeeff;
        }
        if (hdr.main.wanted[2:2] == 1) {
            both(hdr.main.number ^ 32w0xff00ff);
        }
        if (hdr.main.wanted[3:3] == 1) {
            both(0);
            both(hdr.main.number + 3);
        }
        if (hdr.main.wanted[4:4] == 1) {
            blinded();
        }
        if (hdr.main.wanted[5:5] == 1) {
            hdr.main.odd = hdr.main.op;
            hdr.main.one = 7;
        }
        if (hdr.main.wanted[6:6] == 1) {
            hdr.main.number[15:8] = hdr.main.op;
            hdr.main.other = 2;
            meta.mark = 12;
        }
        if (hdr.main.wanted[7:7] == 1) {
            hdr.cells[(bit<32>)hdr.main.op[1:1]].x = 9;
        }
#ifdef COPIES
        if (hdr.main.op[2:2] == 1) {
            sm.mcast_grp = 5;
        }
#endif
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
#ifdef COPIES
        hdr.main.number = hdr.main.number + (bit<32>)sm.egress_rid;
        if (sm.egress_rid == 2) {
            hdr.main.only = 1;
            hdr.cells[1].y = 4;
        }
#endif
    }
}
@incremental
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum(hdr.main.isValid(),
            { hdr.main.op, hdr.main.wanted, hdr.main.left, hdr.main.right, hdr.main.odd, hdr.main.number, hdr.main.word,
              hdr.main.number, hdr.main.early, hdr.main.one, hdr.main.other, 16w0x1234 },
            hdr.main.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.cells[1].isValid(),
            { hdr.main.number, 8w0, hdr.main.odd, meta.mark, hdr.cells[0].x, hdr.cells[1].x, 16w0x4321 },
            hdr.main.whole, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.main);
        packet.emit(hdr.cells[0]);
        packet.emit(hdr.cells[1]);
    }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
