// A control with mistakes of several kinds; everything else must parse.
header H { bit<8> x; }

control C(inout H h, /* ERROR "expected a parameter" */ ) {
    apply {}
}

control D(inout H h) {
    bit<8> v = /* ERROR "expected an expression" */ ;
    action a() {
        h.x = h.x + /* ERROR "expected an expression" */ ;
        return;
    }
    const /* ERROR "expected a type" */ = 1;
    table t {
        const /* ERROR "key cannot be const" */ key = { h.x : exact; }
        key = { h.x : exact; }
        actions = { a; /* ERROR "expected an action" */ 7; a; }
        entries = {
            1 : a();
            priority = /* ERROR "as the priority" */ x : 2 : a();
            /* ERROR "stand behind its action" */ @foo 3 : a();
        }
    }
    apply {
        for (bit<8> i = 0; i < 3 /* ERROR "behind the condition" */ ) { h.x = i; }
        h.x = (/* ERROR "H is a type, not a value" */ H + 1);
        t.apply();
    }
}
