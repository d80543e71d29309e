// States and selects.
#include <core.p4>

header h_t { bit<8> a; bit<16> b; }
header v_t { varbit<64> v; }
struct hs { h_t h; v_t v; h_t[2] st; }

parser P(packet_in p, out hs h, in bit<8> x, inout bool flag) {
    value_set<bit<8>>(4) set;
    value_set</* ERROR "a value set cannot hold h_t" */ h_t>(4) headers;
    value_set<bit<8>>(/* ERROR "has to be known" */ x) sized;
    bit<8> l;
    state start {
        p.extract(h.h);
        /* ERROR "give extract its size" */ p.extract(h.v);
        p.extract(h.v, 8);
        /* ERROR "extract fills a header, not a bool" */ p.extract(flag);
        p.extract(h.st.next);
        l = p.lookahead<bit<8>>();
        /* ERROR "lookahead needs a type of fixed size" */ p.lookahead<v_t>();
        verify(x == 1, error.NoMatch);
        verify(x == 1, error./* ERROR "there is no error Nothing" */ Nothing);
        transition select(h.h.a, h.h.b) {
            (1, 2): next;
            (1, 2 &&& 3): next;
            (1 .. 2, _): next;
            /* ERROR "3 keysets for 2" */ (1, 2, 3): next;
            /* ERROR "a keyset for 2 values is wanted" */ 1: next;
            (1, /* ERROR "bit<16> is wanted, not bool" */ true): next;
            (/* ERROR "has to be known at compile time" */ l, 1): next;
            (set, 1): next;
            (1, /* ERROR "bit<16> is wanted, not bit<8>" */ set): next;
            default: /* ERROR "there is no state nowhere" */ nowhere;
            /* WARNING "never reached" */ _: accept;
        }
    }
    state next {
        transition select(flag) {
            true: accept;
            /* ERROR "&&& is for numbers" */ false &&& true: reject;
        }
    }
    state /* ERROR "state next is declared twice" */ next { transition accept; }
    state /* ERROR "built in" */ accept { transition reject; }
    state /* WARNING "no transition" */ last { }
}

parser /* ERROR "no state start" */ Q(packet_in p) {
    state begin { transition accept; }
}

control C(packet_in p, inout hs h) {
    apply {
        /* ERROR "only in a parser" */ p.advance(8);
        /* ERROR "verify can be called only in a parser" */ verify(true, error.NoError);
    }
}
