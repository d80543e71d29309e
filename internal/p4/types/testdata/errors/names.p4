// Scopes, duplicates and recursion.
#include <core.p4>

const bit<8> ONE = 1;
const bit<8> /* ERROR "ONE is declared twice" */ ONE = 2;
const bit<8> TWO = /* ERROR "THREE is not declared" */ THREE;
const bit<8> OTHER = /* ERROR "THREEE is not declared" */ THREEE;
const bit<8> THREE = 3;

struct s_t {
    bit<8> a;
    bit<8> /* ERROR "two fields a" */ a;
    /* ERROR "undefined_t is not declared" */ undefined_t b;
}
enum e_t { X, Y, /* ERROR "two members X" */ X }
error { Mine, /* ERROR "error NoError is declared twice" */ NoError }

header self_t { /* ERROR "self_t uses itself" */ self_t inner; }

bit<8> overloaded(in bit<8> a) { return a; }
bit<8> overloaded(in bit<8> a, in bit<8> b) { return a + b; }
bit<8> /* ERROR "declared twice with the same parameters" */ overloaded(in bit<16> a) { return 0; }

bit<8> recursive(in bit<8> a) {
    return /* ERROR "uses itself" */ recursive(a);
}

action twice(bit<8> a, bit<8> /* ERROR "a is declared twice" */ a) { }

control Shadow(inout bit<8> x) {
    bit<8> y = 0;
    action act(in bit<8> x, bit<8> z) {
        bit<8> /* ERROR "z is declared twice" */ z = 0;
        {
            bit<8> z = x;
        }
    }
    action /* ERROR "act is declared twice" */ act() { }
    apply {
        bit<8> y = x;
        bit<8> /* ERROR "x is declared twice" */ x = 1;
        y = .ONE + /* ERROR "\\.y is not declared" */ .y;
    }
}

@any[a=1, /* ERROR "two values for a" */ a=2] const bit<8> K1 = 1;
@any(1) /* ERROR "stands with . . and without" */ @any[1] const bit<8> K2 = 1;
@name("a") /* ERROR "@name stands twice" */ @name("b") const bit<8> K3 = 1;

parser Same() {
    bit<8> s;
    state start { transition s; }
    state /* ERROR "s has the name of what is declared" */ s { transition accept; }
}

control Inner() {
    /* ERROR "Inner uses itself" */ Inner() again;
    apply {
        /* ERROR "Inner uses itself" */ Inner.apply();
        overloaded(1);
        /* ERROR "no overloaded takes these 3" */ overloaded(1, 2, 3);
        overloaded(b = 1, a = 2);
        /* ERROR "no overloaded takes these 1" */ overloaded(b = 1);
    }
}
