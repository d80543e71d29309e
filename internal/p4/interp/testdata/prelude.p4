// What the test programs share: one header h in front of the payload.
#define V1MODEL_VERSION 20200408
#include <core.p4>
#include <v1model.p4>

header h_t {
    bit<8>  op;
    bit<8>  a;
    bit<16> b;
}

struct headers {
    h_t h;
    h_t extra;
}

#define EMPTY(NAME) control NAME(inout headers hdr, inout metadata meta) { apply { } }

