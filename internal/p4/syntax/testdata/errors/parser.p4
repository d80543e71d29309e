header H { bit<8> x; }

parser P(packet_in p, out H h) {
    /* ERROR "a parser has no actions" */ action a() {}
    state start {
        p.extract(h);
        transition select(h.x) {
            1 : /* ERROR "expected a state name" */ ;
            2 &&& /* ERROR "expected an expression" */ : s;
            default : accept;
        }
    }
    state s {
        /* ERROR "cannot have the statement return" */ return;
        transition /* ERROR "expected a state name or select" */ 5;
    }
    /* ERROR "states instead of apply" */ apply {}
}
