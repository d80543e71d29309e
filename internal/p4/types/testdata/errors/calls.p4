// Arguments, directions, type arguments, constructors, where things may stand.
#include <core.p4>

extern Box<T> {
    Box(bit<8> size);
    T get();
    void put(in T value);
    abstract bit<8> todo(in bit<8> x);
}
extern Plain { Plain(); void run(bit<8> known); }
extern void any<T>(out T result, in T lo);
extern T make<T>();
extern void known(bit<8> k);
parser PT(in bit<8> x);
package Pack(PT p);

void fill(out bit<8> o, inout bit<8> io, in bit<8> i) { o = 1; }
bit<8> /* ERROR "can end without a return" */ maybe(in bit<8> x) {
    if (x == 0) {
        return 1;
    }
}
bit<8> always(in bit<8> x) {
    switch (x) {
        1: { return 1; }
        default: { return 2; }
    }
}
void leaves() {
    /* ERROR "exit can stand only in" */ exit;
}

control Other(inout bit<8> x)(bit<8> size) { apply { } }

parser Sub(in bit<8> x) {
    state start { transition accept; }
}

control C(inout bit<8> x, in bit<8> ro, bit<8> none) {
    Plain() p;
    Box<bit<8>>(/* ERROR "argument for size of Box" */ true) bad;
    Box<bit<8>>(4) /* ERROR "does not implement the abstract method todo" */ box;
    Box(4) /* ERROR "type argument T of Box cannot be inferred" */ untyped;
    Box<bit<8>>(4) good = {
        bit<8> todo(in bit<8> y) { return y; }
    };
    Other(1) other;
    Other() /* ERROR "no argument for size" */ noArgs;
    Sub() /* ERROR "a parser cannot be instantiated in a control" */ sub;
    bit<8> l;
    action act(inout bit<8> a, bit<8> b) { a = b; }
    action applies() {
        /* ERROR "only in the apply block" */ other.apply(x);
    }
    action /* an action may not make objects */ makes() {
        Plain() /* ERROR "cannot be instantiated in an action" */ inner;
    }
    action wrong(bit<8> b, /* ERROR "come before those of the control plane" */ in bit<8> a) { }
    apply {
        fill(l, x, ro);
        fill(l, l, 1 + 2);
        fill(/* ERROR "an out argument has to be something" */ 1, l, l);
        fill(l, /* ERROR "parameter ro is in" */ ro, l);
        fill(/* ERROR "parameter none has no direction" */ none, l, l);
        /* ERROR "no argument for io, i" */ fill(l);
        fill(l, x, ro, /* ERROR "too many arguments" */ 4);
        fill(o = l, io = x, i = ro);
        fill(o = l, io = x, /* ERROR "no parameter j" */ j = ro);
        fill(o = l, /* ERROR "either all arguments have a name or none" */ x, i = ro);
        fill(_, l, l);
        fill(l, l, /* ERROR "_ can stand only for an out argument" */ _);
        any(l, 0);
        any(_, 8w0);
        any(/* ERROR "cannot be inferred" */ _, 0);
        any<bit<8>>(_, 0);
        /* ERROR "takes 1 type argument" */ any<bit<8>, bit<8>>(l, 0);
        l = make<bit<8>>();
        l = make();
        /* ERROR "cannot be inferred" */ make();
        l = /* ERROR "\\+ does not take" */ make() + 1;
        known(3);
        known(/* ERROR "has to be known at compile time" */ x);
        p.run(1 + 2);
        p./* ERROR "has no method walk" */ walk();
        good.put(1);
        x = /* ERROR "bit<8> is wanted, not bool" */ good.get() == 1;
        act(x, l);
        other.apply(x);
        other.apply(/* ERROR "parameter ro is in" */ ro);
        /* ERROR "needs constructor arguments" */ Other.apply(x);
        /* ERROR "a parser can be applied only in" */ Sub.apply(x);
        Other(2) /* ERROR "cannot be instantiated among statements" */ late;
        /* ERROR "break can stand only in a loop" */ break;
        return /* ERROR "nothing to return" */ 1;
        /* ERROR "the left side.*ro is in" */ ro = 1;
        /* ERROR "an object of type Plain cannot be assigned|no variable" */ p = p;
        x = /* ERROR "function always is not a value" */ always;
        /* ERROR "a value of type bit<8> cannot be called" */ x(1);
    }
}
