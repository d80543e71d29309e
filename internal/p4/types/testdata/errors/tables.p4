// Properties, keys, actions, entries, switches.
#include <core.p4>

struct s_t { bit<8> a; bit<16> b; bool f; }

control C(inout s_t s) {
    bit<8> l;
    action none() { }
    action one(bit<8> v) { s.a = v; }
    action bound(inout bit<8> x, bit<8> v) { x = v; }
    action unlisted() { }

    table good {
        key = { s.a: exact; s.b: ternary @name("b"); }
        actions = { none; one; bound(l); @defaultonly NoAction; }
        default_action = bound(l, 1);
        size = 16;
        entries = {
            (1, 2 &&& 3): one(1);
            (2, _): none();
        }
    }
    table /* ERROR "table empty has no actions" */ empty { key = { s.a: exact; } }
    table keys {
        key = {
            s.a: /* ERROR "fuzzy is not a match kind" */ fuzzy;
            /* ERROR "cannot be matched by lpm" */ s.f: lpm;
            /* ERROR "a key cannot be of type s_t" */ s: exact;
            /* ERROR "a key needs a width" */ 1: exact;
        }
        actions = { none; }
    }
    table lists {
        actions = {
            none;
            /* ERROR "none is listed twice" */ none;
            /* ERROR "no argument for x" */ bound;
            one(/* ERROR "only parameters with a direction" */ 3);
            /* ERROR "l is not an action" */ l;
            /* ERROR "nothing is not declared" */ nothing;
        }
        default_action = /* ERROR "not in the list of actions" */ unlisted();
    }
    table defaults {
        actions = { one; bound(s.a); }
        default_action = /* ERROR "no argument for v" */ one();
        /* ERROR "two properties default_action" */ default_action = one(1);
        size = /* ERROR "cannot be -1" */ -1;
    }
    table constants {
        actions = { one; bound(s.a); }
        default_action = one(/* ERROR "has to be known at compile time" */ l);
    }
    table other {
        actions = { bound(s.a); }
        default_action = bound(/* ERROR "differs from the one in the list" */ l, 1);
        size = /* ERROR "size is a number" */ true;
    }
    table entries_ {
        key = { s.a: exact; s.b: lpm; }
        actions = { none; @defaultonly one; }
        default_action = none();
        const entries = {
            (1, 2): none();
            (/* ERROR "cannot have a mask" */ 1 &&& 2, 2): none();
            (/* ERROR "needs a value" */ _, 2): none();
            (1, 0x100 &&& /* ERROR "leading ones" */ 0x0ff0): none();
            (1, 0x100 &&& 0xff00): none();
            (1, /* ERROR "cannot have a range" */ 1 .. 2): none();
            /* ERROR "1 keysets for 2|a keyset for 2 values" */ 1: none();
            (1, 3): /* ERROR "one is @defaultonly" */ one(1);
            (1, 4): /* ERROR "unlisted is not in the list" */ unlisted();
            priority = /* ERROR "const entries have no priorities" */ 3: (1, 5): none();
        }
    }
    table exacts {
        key = { s.a: exact; }
        actions = { none; }
        entries = {
            priority = /* ERROR "no ternary, range or optional key" */ 3: 1: none();
        }
    }
    apply {
        good.apply();
        if (good.apply().hit) { }
        if (/* ERROR "result of good.apply\\(\\) is not a value" */ good.apply()) { }
        good.apply(/* ERROR "takes no arguments" */ 1);
        good./* ERROR "a table has no run" */ run();
        l = good.apply()./* ERROR "not count" */ count;
        switch (good.apply().action_run) {
            none: { }
            /* ERROR "label none stands twice" */ none: { }
            /* ERROR "not an action of table good" */ unlisted: { }
            /* ERROR "default has to be the last" */ default: { }
            one: { }
        }
        switch (s.a) {
            1: { }
            /* ERROR "stands twice" */ 1: { }
            /* ERROR "bit<8> is wanted, not bool" */ true: { }
            /* ERROR "has to be known" */ l: { }
            default: { }
        }
        switch (/* ERROR "cannot switch on a value of type s_t" */ s) { default: { } }
    }
}
