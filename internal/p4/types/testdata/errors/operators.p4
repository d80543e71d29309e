// What operators and conversions take.
enum bit<8> ser_t { A = 1, B = 2 }
enum plain_t { P, Q }
type bit<8> new_t;
struct pair_t { bit<8> l; bit<8> r; }
header h_t { bit<8> a; }

const bit<4> WIDE = /* WARNING "16 does not fit bit<4>: it becomes 0" */ 16;
const int BIG = 1 << 100;
const bit<8> BAD = /* ERROR "bit<8> is wanted, not bit<9>" */ 9w1;

control C(inout bit<8> a, inout int<8> s, inout bit<16> w, inout bool b, inout h_t h, inout varbit<8> v) {
    bit<8> z = 8w1;
    ser_t e = ser_t.A;
    plain_t p = plain_t.P;
    new_t n = (new_t) 3;
    pair_t pair = { 1, 2 };
    h_t[2] st;
    apply {
        a = a + 1;
        a = /* ERROR "\\+ does not take bit<8> and bit<16>" */ a + w;
        a = /* ERROR "does not take bit<8> and int<8>" */ a & s;
        a = (bit<8>) s + e;
        e = /* ERROR "ser_t is wanted, not int" */ 1;
        e = /* ERROR "ser_t is wanted, not bit<8>" */ a;
        e = (ser_t) a;
        a = e;
        a = /* ERROR "bit<8> is wanted, not new_t" */ n;
        n = /* ERROR "new_t is wanted, not int" */ 1;
        n = (new_t) a;
        a = (bit<8>) n;
        b = p == plain_t.Q;
        b = /* ERROR "< does not take plain_t and plain_t" */ p < plain_t.Q;
        b = /* ERROR "== does not take bit<8> and bool" */ a == b;
        b = /* ERROR "== does not take pair_t and h_t" */ pair == h;
        b = pair == { 1, 2 };
        b = /* ERROR "== does not take" */ pair == { 1, 2, 3 };
        b = h == { 1 };
        b = v == v;
        b = /* ERROR "! does not take bit<8>" */ !a;
        a = /* ERROR "~ does not take bool" */ ~b;
        a = /* ERROR "~ does not take int" */ ~1;
        a = /* ERROR "/ is not for signed" */ s / 2;
        a = a / /* ERROR "division by zero" */ 0;
        a = a % /* ERROR "divisor has to be known" */ z;
        a = a << w;
        a = a << /* ERROR "cannot shift by -1" */ -1;
        a = a << /* ERROR "cannot be signed" */ s;
        a = a |+| 1;
        a = /* ERROR "\\|\\+\\| does not take int and int" */ 1 |+| 1;
        w = a ++ a;
        w = /* ERROR "\\+\\+ does not take bit<8> and int" */ a ++ 1;
        a = w[7:0];
        a = w[/* ERROR "has to be known at compile time" */ a:0];
        a = /* ERROR "bit 16 is outside of bit<16>" */ w[16:9];
        a = /* ERROR "the high end 0 of the slice is below" */ w[0:7];
        a = /* ERROR "a slice is of bit<W>" */ b[0:0];
        a = b ? a : 1;
        a = /* ERROR "of different types" */ b ? a : w;
        a = b ? /* ERROR "needs a width" */ 1 : 2;
        a = /* ERROR "a condition is a bool" */ a ? 1 : a;
        b = (bool) 1w1;
        b = /* ERROR "bit<8> cannot be cast to bool" */ (bool) a;
        a = /* ERROR "int<16> cannot be cast to bit<8>" */ (bit<8>) 16s1;
        pair = { 1, /* a comment */ 2 };
        pair = { r = 1, l = a };
        pair = /* ERROR "pair_t is wanted, not" */ { r = 1 };
        pair = { r = 1, ... };
        pair = /* ERROR "pair_t is wanted, not" */ { r = 1, q = 2, ... };
        pair = { r = 1, /* ERROR "field r is given twice" */ r = 2, ... };
        pair = ...;
        pair = /* ERROR "pair_t is wanted, not" */ {#};
        h = {#};
        a = st[1].a;
        a = st[/* ERROR "index 2 is outside" */ 2].a;
        a = st[w].a;
        a = st[/* ERROR "an index is a number" */ b].a;
        a = /* ERROR "cannot be indexed" */ pair[0];
        a = st./* ERROR "only in a parser" */ last.a;
        a = st./* ERROR "has no middle" */ middle.a;
        a = pair./* ERROR "no field x" */ x;
        a = a./* ERROR "no member x" */ x;
        e = ser_t./* ERROR "no member C" */ C;
        a = (bit<8>) h.minSizeInBits();
    }
}
