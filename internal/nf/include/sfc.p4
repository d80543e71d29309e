// What the classifier tells the chain: how a packet is to be treated.
#ifndef CATENA_SFC_P4
#define CATENA_SFC_P4

// nodes has a bit for each node of the merged order, node 0 being the lowest; the
// composer widens it when there are more.
struct sfc_t {
    bit<16> scope;
    bit<16> chain;
    bit<16> path;
    bit<64> nodes;
}

#endif
