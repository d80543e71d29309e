#include <core.p4>
// A program of no known architecture that uses most of the language; nothing is wrong
// with it.
extern Virtual { Virtual(); abstract bit<16> f(in bit<16> ix); void run(in bit<16> ix); }
extern Generic<T> { Generic(T sz); R get<R>(); R get2<R, S>(in S s, in T t); }
extern bit<32> f(in bit<32> x, bit<32> y);
extern bit<32> f(in bit<32> x);
extern void many<T>(in T d, out T r);
extern Hash<O> { Hash(bit<8> algo); O get<D>(in D data); O get<T, D>(in T base, in D data, in T max); }
header Eth { bit<48> dst; bit<48> src; bit<16> typ; }
header V { bit<8> len; varbit<320> opts; }
header_union U { Eth e; V v; }
struct S<T> { T a; tuple<T, bit<8>> b; }
struct Hs { Eth eth; V v; U u; U[3] us; Eth[4] st; }
const bit<16> IP2 = 16w0x1234;
enum bit<16> EthT { IP = 0x800, ARP = 0x806, OTHER = IP2 }
enum Color { Red, Green }
typedef bit<9> Port_t;
type Port_t Port;
type bit<32> Addr;
const Port CPU = (Port) 9w511;
const int N = 4;
const bit<(N)> NIB = 3;
const bit<(N + 4)> BYTE = (1 << N) - 1;
const S<bit<8>> SC = { 1, { 2, 3 } };
const tuple<bit<32>, bool> TT = { 32w1, true };
const bool CMP = SC.a == 1 && TT[1] && N > 3;
const string STR = "abc" ++ "def";
typedef Eth[2] EthStack;
typedef tuple<bit<8>, bit<8>> Pair;
match_kind { range, optional }
parser PT<H>(packet_in p, out H h);
control CT<H, M>(inout H h, inout M m);
control DT<H>(packet_out p, in H h);
package Pipe<H, M>(PT<H> p, CT<H, M> c, DT<H> d);
package Two<H1, M1, H2, M2>(Pipe<H1, M1> a, Pipe<H2, M2> b, @optional bit<8> x);
bit<8> sel(in bit<8> x, in bool b = true, in bit<8> d = 3) { if (b) return x; else return d; }
T pick<T>(in bool c, in T a, in T b) { return c ? a : b; }
void swap<T>(inout T a, inout T b) { T t = a; a = b; b = t; }
Pair mk(in bit<8> a) { return { a, a + 1 }; }
parser Inner(packet_in p, inout Hs h)(bit<16> t) {
    state start { transition select(h.eth.typ) { t: one; EthT.ARP: accept; EthT.IP: accept; _: reject; } }
    state one { p.extract(h.st.next); transition select(h.st.last.typ) { 0 .. 5: one; default: accept; } }
}
parser P(packet_in p, out Hs h) {
    value_set<bit<16>>(4) vs;
    value_set<tuple<bit<16>, bit<48>>>(4) vt;
    Inner(16w7) inner;
    bit<32> n = 3;
    state start {
        p.extract(h.eth);
        p.extract<V>(h.v, (bit<32>) (h.v.len) * 8);
        p.advance(n << 3);
        inner.apply(p, h);
        Eth e = p.lookahead<Eth>();

        bit<32> l = p.length();
        verify(l > 3, error.PacketTooShort);
        bit<8> k;
        { k = 4; }
        if (k == 4) { n = 5; } else n = 6;
        transition select(h.eth.typ, h.eth.dst, h.u.e.isValid()) {
            (vs, _, true): nxt;
            (EthT.IP, 48w1 &&& 48w0xff, _): nxt;
            (0x1000 .. 0x2000, _, false): accept;
            (_, _, _): reject;
        }
    }
    state nxt { transition select(h.eth.typ, h.eth.dst) { vt: accept; (1, 2): accept; default: third; } }
    state third { transition select(h.eth.typ) { 1: start2; 2 &&& 3: start2; vs: accept; } }
    state start2 { h.u.v.setValid(); p.extract(h.us.next.e); transition accept; }
}
control Helper2(out bit<8> o) { apply { o = 3; } }
struct M { bit<8> a; Color c; error e; bool b; Port p; Addr ad; S<bit<16>> s; bit<8> z; }
control Helper(inout bit<8> x, in Hs h, out bit<8> y)(int rows, bool deep = false) {
    action a(bit<8> v) { x = v; }
    action nop() { }
    table t { key = { x: exact; } actions = { a; nop; @defaultonly NoAction; } size = rows; const default_action = NoAction; }
    apply { y = 0; if (deep && t.apply().hit) { y = 1; } else { t.apply(); } }
}
control C(inout Hs h, inout M m) {
    Virtual() v = { bit<16> f(in bit<16> ix) { return ix + 1; } };
    Generic<bit<8>>(4) g;
    Hash<bit<16>>(1) hh;
    Helper(16) h1;
    Helper(rows = 2 * N, deep = true) h2;
    bit<8> loc = 3;
    action set(inout bit<8> d, in bit<8> s, bit<8> c) { d = s + c; m.c = Color.Green; }
    action drop() { m.b = true; return; }
    table t {
        key = {
            h.eth.src: exact @name("src");
            h.eth.typ: ternary;
            m.e: exact;
            m.c: exact;
            m.b: exact;
            m.p: exact;
            h.eth.dst[7:0]: range @name("d0");
            h.v.isValid(): optional;
            h.eth.dst & 0xff: lpm @name("masked");
            sel(m.a): exact @name("fn");
        }
        actions = { set(loc, m.a); drop; NoAction; }
        default_action = set(loc, m.a, 4);
        const entries = {
            (1, 2 &&& 3, error.NoError, Color.Red, true, (Port) 9w3, 4 .. 5, _, 0xff0000000000 &&& 0xff0000000000, 3): drop();
            (3, _, error.NoMatch, Color.Green, false, CPU, _, true, _, 3): NoAction();
        }
        my_property = 3 + 4;
        other_property = true;
        size = 100;
    }
    apply {
        m.a = sel(1);
        m.a = sel(x = 1, d = 2);
        m.a = pick(m.b, m.a, 3);
        m.a = pick<bit<8>>(m.b, 4, 3);
        swap(m.a, m.z);
        swap(h.eth, h.st[0]);
        Pair pp = mk(3);
        m.a = pp[0] + mk(4)[1];
        m.s = { 1, { 2, 3 } };
        m.s = { a = 1, b = { 2, 3 } };
        m.s.b = { 4, 5 };
        h.eth = { dst = 1, src = 2, typ = EthT.IP };
        h.eth = { 1, 2, EthT.ARP };
        h.eth = (Eth) { 1, 2, ... };
        if (h.eth == { 1, 2, 3 } || h.v == {#}) { h.eth = {#}; }
        h.st = { { 1, 2, 3 }, { 4, 5, 6 }, {#}, ... };
        EthStack es; es[0] = h.st[m.a];
        h.st[m.a + 1].dst[7:0] = m.a;
        h.st.push_front(1);
        bit<16> x = v.f(3) + g.get<bit<16>>() + g.get2<_, bit<8>>(1, 2);
        x = hh.get({ h.eth.dst, m.a, 8w3 });
        x = hh.get(16w1, { m.a }, 16w7);
        x = h.eth.typ + EthT.IP;
        bool q = h.eth.typ == EthT.IP && m.c == Color.Red && m.e != error.NoError;
        x = (bit<16>) (EthT) x;
        m.ad = (Addr) (bit<32>) m.a;
        x = ~x ^ 3 | 4 & x >> 2 << 1;
        x = x |+| 3 |-| 4;
        x = -x; x = +x;
        int<16> sx = -3; sx = sx >> 1; sx = (int<16>) x;
        x += 1; x <<= 2; x |= 4; x[3:0] = 4; x -= EthT.IP;
        m.a = x[7:0]; m.a = (x ++ m.a)[11:4];
        bit<4> nib = 4w3; nib = (bit<4>) m.a;
        m.b = (bool) nib[0:0]; bit<1> b1 = (bit<1>) m.b;
        bit<32> w = f(1, 2) + f(4) + f(x = 4, y = 5);
        bit<8> o; many(m.a, o); many<bit<8>>(3, o);
        h1.apply(m.a, h, o); h2.apply(x = m.a, h = h, y = o); Helper2.apply(o);
        switch (t.apply().action_run) { set: { o = 1; } drop: NoAction: { o = 2; } }
        switch (m.c) { Color.Red: { } Color.Green: { exit; } }
        switch (x) { 1: 2: { } EthT.IP: { } default: { return; } }
        if (!t.apply().hit) { return; }
        for (bit<8> i = 0; i < 4; i += 1) { if (i == 2) continue; m.a += i; if (i == 3) break; }
        for (bit<8> i in 8w1 .. 8w4) { m.a = i; }
        for (bit<8> i in { 1, 2, 3 }) { m.a = i; }
        for (Eth e in h.st) { m.a = (bit<8>) e.typ; }
        const bit<8> K = 3 * 5;
        m.a = K + (N - 1) / 2;
        x = h.eth.minSizeInBits() + (bit<16>) Eth.minSizeInBytes();
        static_assert(N == 4, "N");
        tuple<bit<8>, bit<16>> tp = { 1, 2 };
        tp = { m.a, x };
        m.b = tp == { m.a, x };
        @atomic { m.a = 3; }
        h.u.e = h.eth; m.b = h.u.isValid();
        h.v.setInvalid();
        g.get<bit<8>>();
    }
}
control D(packet_out p, in Hs h) { apply { p.emit(h.eth); p.emit(h); p.emit(h.us); p.emit({ h.eth, h.v }); } }
Pipe(P(), C(), D()) p1;
Two(p1, Pipe<Hs, M>(P(), C(), D())) main;
