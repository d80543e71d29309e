// The v1model architecture: parser, checksum verification, ingress, replication, egress, checksum
// update and deparser, as BMv2's simple_switch runs them.
//
// Version 20200408 and later (set V1MODEL_VERSION before including this file) give counters,
// meters and registers an index type; earlier versions index with bit<32>.

#ifndef _V1_MODEL_P4_
#define _V1_MODEL_P4_

#ifndef V1MODEL_VERSION
#define V1MODEL_VERSION 20180101
#endif

#include "core.p4"

match_kind {
    range,     // min .. max
    optional,  // one value, or any
    selector   // not matched; feeds the hash of an action_selector
}

const bit<32> __v1model_version = V1MODEL_VERSION;

#if V1MODEL_VERSION >= 20200408
typedef bit<9> PortId_t;
#define _V1_PORT PortId_t
#else
#define _V1_PORT bit<9>
#endif

@metadata @name("standard_metadata")
struct standard_metadata_t {
    _V1_PORT ingress_port;   // read only
    _V1_PORT egress_spec;    // written by ingress: where to send the packet
    _V1_PORT egress_port;    // read only, in egress
    bit<32>  instance_type;  // normal, clone, recirculated, …: see PKT_INSTANCE_TYPE of the target
    bit<32>  packet_length;  // bytes
    @alias("queueing_metadata.enq_timestamp")
    bit<32>  enq_timestamp;  // µs
    @alias("queueing_metadata.enq_qdepth")
    bit<19>  enq_qdepth;     // packets
    @alias("queueing_metadata.deq_timedelta")
    bit<32>  deq_timedelta;  // µs
    @alias("queueing_metadata.deq_qdepth")
    bit<19>  deq_qdepth;     // packets
    @alias("intrinsic_metadata.ingress_global_timestamp")
    bit<48>  ingress_global_timestamp;  // µs
    @alias("intrinsic_metadata.egress_global_timestamp")
    bit<48>  egress_global_timestamp;   // µs
    @alias("intrinsic_metadata.mcast_grp")
    bit<16>  mcast_grp;      // nonzero: replicate to this group instead of egress_spec
    @alias("intrinsic_metadata.egress_rid")
    bit<16>  egress_rid;     // number of this replica
    bit<1>   checksum_error; // 1 when a verify_checksum failed
    error    parser_error;   // what ended parsing
    @alias("intrinsic_metadata.priority")
    bit<3>   priority;       // queue
}

#undef _V1_PORT

#define V1MODEL_METER_COLOR_GREEN  0
#define V1MODEL_METER_COLOR_YELLOW 1
#define V1MODEL_METER_COLOR_RED    2

enum CounterType {
    packets,
    bytes,
    packets_and_bytes
}

enum MeterType {
    packets,
    bytes
}

enum HashAlgorithm {
    crc32,
    crc32_custom,
    crc16,
    crc16_custom,
    random,
    identity,
    csum16,
    xor16
}

enum CloneType {
    I2E,  // copy made from the packet as it entered ingress
    E2E   // copy made from the packet as it leaves egress
}

#if V1MODEL_VERSION >= 20200408
/// An array of counters; an index beyond it counts nowhere.
extern counter<I> {
    counter(bit<32> size, CounterType type);
    void count(in I index);
}
#else
extern counter {
    counter(bit<32> size, CounterType type);
    void count(in bit<32> index);
}
#endif

/// One counter for each entry of the table whose `counters` property names it.
extern direct_counter {
    direct_counter(CounterType type);
    /// Counting happens at every hit; calling this is allowed and changes nothing.
    void count();
}

#if V1MODEL_VERSION >= 20200408
/// An array of two-rate three-colour meters (RFC 2698).
extern meter<I> {
    meter(bit<32> size, MeterType type);
    /// Writes V1MODEL_METER_COLOR_… to result, a bit<W> with W >= 2.
    void execute_meter<T>(in I index, out T result);
}
#else
extern meter {
    meter(bit<32> size, MeterType type);
    void execute_meter<T>(in bit<32> index, out T result);
}
#endif

/// One meter for each entry of the table whose `meters` property names it.
extern direct_meter<T> {
    direct_meter(MeterType type);
    void read(out T result);
}

#if V1MODEL_VERSION >= 20200408
/// An array of state that packets read and write; out-of-range writes do nothing.
extern register<T, I> {
    register(bit<32> size);
    @noSideEffects
    void read(out T result, in I index);
    void write(in I index, in T value);
}
#else
extern register<T> {
    register(bit<32> size);
    @noSideEffects
    void read(out T result, in bit<32> index);
    void write(in bit<32> index, in T value);
}
#endif

/// Table implementation: entries refer to members, which hold action and arguments.
extern action_profile {
    action_profile(bit<32> size);
}

/// Table implementation: entries refer to members or groups; the hash of the selector fields chooses
/// the member of a group.
extern action_selector {
    action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth);
}

/// Writes a random number in lo .. hi, both included.
extern void random<T>(out T result, in T lo, in T hi);

/// Sends data to the control plane at the end of ingress.
extern void digest<T>(in bit<32> receiver, in T data);

/// Sets egress_spec to the drop port and mcast_grp to 0.
@deprecated("use mark_to_drop(standard_metadata)")
extern void mark_to_drop();
@pure
extern void mark_to_drop(inout standard_metadata_t standard_metadata);

/// Writes base + H mod max to result, H being the hash of data; base alone when max is 0.
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

@deprecated("use verify_checksum and update_checksum")
extern Checksum16 {
    Checksum16();
    bit<16> get<D>(in D data);
}

/// When condition holds and checksum differs from that of data, sets checksum_error.
extern void verify_checksum<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);
/// When condition holds, writes the checksum of data to checksum.
@pure
extern void update_checksum<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);
/// As above, over data and then the part of the packet that was not parsed.
extern void verify_checksum_with_payload<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);
@noSideEffects
extern void update_checksum_with_payload<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

/// At the end of ingress, start again with the packet as it arrived. Metadata fields annotated with
/// @field_list(index) keep their values; the others are reset.
extern void resubmit_preserving_field_list(bit<8> index);
/// At the end of egress, deparse and start again with the result.
extern void recirculate_preserving_field_list(bit<8> index);
/// Makes a copy for egress, sent where the mirror session says.
extern void clone(in CloneType type, in bit<32> session);
extern void clone_preserving_field_list(in CloneType type, in bit<32> session, bit<8> index);

/// Cuts the packet to at most length bytes when it leaves.
extern void truncate(in bit<32> length);

/// Stops the program when check is false (targets for testing only).
extern void assert(in bool check);
/// Tells tools that check holds; a switch may do as for assert.
extern void assume(in bool check);

/// Writes a message to the log; each {} in it is replaced by a field of data.
extern void log_msg(string msg);
extern void log_msg<T>(string msg, in T data);

parser Parser<H, M>(packet_in b,
                    out H parsedHdr,
                    inout M meta,
                    inout standard_metadata_t standard_metadata);

control VerifyChecksum<H, M>(inout H hdr,
                             inout M meta);

@pipeline
control Ingress<H, M>(inout H hdr,
                      inout M meta,
                      inout standard_metadata_t standard_metadata);

@pipeline
control Egress<H, M>(inout H hdr,
                     inout M meta,
                     inout standard_metadata_t standard_metadata);

control ComputeChecksum<H, M>(inout H hdr,
                              inout M meta);

@deparser
control Deparser<H>(packet_out b, in H hdr);

package V1Switch<H, M>(Parser<H, M> p,
                       VerifyChecksum<H, M> vr,
                       Ingress<H, M> ig,
                       Egress<H, M> eg,
                       ComputeChecksum<H, M> ck,
                       Deparser<H> dep);

#endif
