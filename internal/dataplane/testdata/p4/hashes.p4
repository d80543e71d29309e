// Every hash algorithm, over fields that do not end on bytes, and checksums over
// headers and payload of any length.
#include "common.p4"

header result_t {
    bit<16> crc16;
    bit<32> crc32;
    bit<16> csum;
    bit<16> xored;
    bit<64> ident;
    bit<16> limited;
    bit<16> none;
    bit<16> over_payload;
    bit<16> odd_payload;
    bit<8>  bad;
    bit<8>  lead;
}

struct metadata { bit<8> bad; }
struct headers { ethernet_t ethernet; tag_t tag; result_t result; }

parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.tag);
        packet.extract(hdr.result);
        transition accept;
    }
}
control V(inout headers hdr, inout metadata meta) {
    apply {
        verify_checksum(true, { hdr.ethernet.dst_addr, hdr.ethernet.src_addr }, hdr.ethernet.ether_type, HashAlgorithm.csum16);
        verify_checksum_with_payload(hdr.tag.flag == 1, { hdr.tag.ether_type }, hdr.result.csum, HashAlgorithm.csum16);
    }
}
control I(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 3;
        hash(hdr.result.crc16, HashAlgorithm.crc16, 16w0, { hdr.tag.prio, hdr.ethernet.dst_addr, hdr.tag.id }, 32w0xffffffff);
        hash(hdr.result.crc32, HashAlgorithm.crc32, 32w0, { hdr.ethernet.src_addr, hdr.tag.flag }, 48w0xffffffffffff);
        hash(hdr.result.csum, HashAlgorithm.csum16, 16w0, { hdr.ethernet, hdr.tag.prio }, 32w0x10000);
        hash(hdr.result.xored, HashAlgorithm.xor16, 16w0, { hdr.ethernet.dst_addr, hdr.tag.id }, 32w0x10000);
        hash(hdr.result.ident, HashAlgorithm.identity, 64w0, { hdr.tag.id, hdr.ethernet.dst_addr, hdr.ethernet.src_addr }, 64w0xffffffffffffffff);
        hash(hdr.result.limited, HashAlgorithm.crc32, 16w100, { hdr.ethernet.dst_addr }, 16w17);
        hash(hdr.result.none, HashAlgorithm.crc32, 16w100, { hdr.ethernet.dst_addr }, hdr.tag.ether_type);
        hdr.result.bad = (bit<8>)sm.checksum_error;
    }
}
control E(inout headers hdr, inout metadata meta, inout standard_metadata_t sm) { apply { } }
control C(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum_with_payload(true, { hdr.ethernet.dst_addr, hdr.result.crc32 }, hdr.result.over_payload, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.tag.isValid(), { hdr.ethernet.dst_addr, hdr.result.lead }, hdr.result.odd_payload, HashAlgorithm.csum16);
    }
}
control D(packet_out packet, in headers hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.tag); packet.emit(hdr.result); }
}
V1Switch(P(), V(), I(), E(), C(), D()) main;
