// Types that cannot be.
#include <core.p4>

extern X { X(); }
struct plain_t { bit<8> a; }
header h_t { bit<8> a; varbit<8> v; }
header ok_t { bit<8> a; bool b; int<4> c; plain_t p; }

header bad_t {
    /* ERROR "field a of header bad_t cannot be of type error" */ error a;
    /* ERROR "cannot be of type int" */ int b;
    /* ERROR "cannot be of type h_t" */ h_t c;
    /* ERROR "cannot be of type X" */ X d;
    /* ERROR "cannot be of type string" */ string e;
}
header_union u_t { h_t h; /* ERROR "the members of a header union are headers" */ bit<8> b; }
struct s_t { /* ERROR "int has no width" */ int i; u_t u; h_t[4] st; }
enum /* ERROR "representation of an enum" */ bool e_t { A = true }
enum bit<2> f_t { A = 0, B = /* ERROR "4 does not fit bit<2>" */ 4 }
type /* ERROR "cannot be made of plain_t" */ plain_t new_t;

typedef bit<(/* ERROR "a width has to be a number" */ true)> w0_t;
typedef /* a comment */ bit<(/* ERROR "a width is from 0" */ 0 - 1)> w1_t;
typedef int</* ERROR "a width is from 1" */ 0> w2_t;
typedef /* ERROR "a stack is of headers" */ plain_t[3] st_t;
typedef h_t[/* ERROR "cannot have 0 elements" */ 0] st0_t;
typedef tuple</* ERROR "void cannot be a type argument|void" */ void> t_t;

const /* ERROR "a constant cannot be of type X" */ X CONST = 1;

struct gen_t<T> { T v; }
header genh_t<T> { T v; }
typedef gen_t<bit<8>> g8_t;
typedef /* ERROR "gen_t takes 1 type argument" */ gen_t<bit<8>, bit<8>> g2_t;
typedef /* ERROR "plain_t takes no type arguments" */ plain_t<bit<8>> p2_t;
typedef /* ERROR "field v cannot be of type error" */ genh_t<error> gh_t;

control C(/* ERROR "passed without a direction" */ in X x, /* ERROR "int has no width" */ in int i, gen_t<bit<8>> g) {
    /* ERROR "cannot be of type int" */ int a;
    /* ERROR "it is an object" */ X b;
    /* ERROR "compile-time value" */ list<bit<8>> c;
    /* ERROR "no packet can carry one" */ match_kind d;
    X() e;
    action act(/* ERROR "the control plane needs one" */ int n, /* ERROR "cannot supply an object" */ X o) { }
    apply { }
}

