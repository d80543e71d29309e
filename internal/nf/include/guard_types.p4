// The types of guard.p4, which the metadata needs.
#ifndef CATENA_GUARD_TYPES_P4
#define CATENA_GUARD_TYPES_P4

#include <flow_state.p4>

// A flow as its port sees it, whichever way a packet goes.
struct flow_t {
    bit<32> local;
    bit<32> remote;
    bit<16> local_port;
    bit<16> remote_port;
    bit<9>  port;
    bit<8>  protocol;
    bit<2>  kind;
}

const bit<2> FLOW_PLAIN       = 0;
const bit<2> FLOW_FRAGMENT    = 1; // local_port is the packet's identification
const bit<2> FLOW_ECHO_LOCAL  = 2; // local_port is the identifier of echo requests
const bit<2> FLOW_ECHO_REMOTE = 3; // that the port or its peer sends

// The value of a flow: the policy that allowed it, and how far it is.
const bit<8> FLOW_OPENED_OUT  = 1;
const bit<8> FLOW_OPENED_IN   = 2;
const bit<8> FLOW_ESTABLISHED = 3; // both sides were heard
const bit<8> FLOW_CLOSING     = 4; // FIN or RST was seen

const bit<32> IDLE_OPENED      = 120; // seconds, of TCP
const bit<32> IDLE_ESTABLISHED = 7200;
const bit<32> IDLE_CLOSING     = 120;
const bit<32> IDLE_FRAGMENTS   = 30;
const bit<32> IDLE_OTHERS      = 60;

flow_state<flow_t, bit<40>>(65536) flows;

// The beginning of the packet that an ICMP error quotes.
header quoted_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<64> skipped;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src_addr;
    bit<32> dst_addr;
    bit<16> src_port;
    bit<16> dst_port;
}

struct guard_t {
    bit<32> policy;  // of the port that the packet comes from; 0: it is not secured
    bit<48> mac;     // the port's own
    bit<32> address;
    bit<32> sender;  // who the packet says it is from
    // Of a quoted packet; protocol 0 when there is none.
    bit<8>  quoted_protocol;
    bit<32> quoted_src;
    bit<32> quoted_dst;
    bit<16> quoted_src_port;
    bit<16> quoted_dst_port;
}

#endif
