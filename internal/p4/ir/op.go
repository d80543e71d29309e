package ir

// Op names an extern or built-in operation of a Call.
type Op string

// Operations on headers. Args[0] is the header, union or stack (an lvalue).
const (
	OpSetValid   Op = "setValid"
	OpSetInvalid Op = "setInvalid"
	OpPushFront  Op = "push_front" // Args: stack, count (Const)
	OpPopFront   Op = "pop_front"  // Args: stack, count (Const)
)

// Operations of a parser.
const (
	// OpExtract fills header Dst from the packet; Dst = Index{stack, nextIndex}
	// is an extract into stack.next, which also advances nextIndex and raises
	// StackOutOfBounds when the stack is full. Args[0], if present, is the
	// length in bits (bit<32>) of the header's varbit field. The errors are, in this
	// order: ParserInvalidArgument if that is no multiple of 8, PacketTooShort,
	// HeaderTooShort if it is more than the field takes. Nothing changes then.
	OpExtract   Op = "extract"
	OpLookahead Op = "lookahead" // Dst = the next bits, in Dst's type (scalar or header or struct)
	OpAdvance   Op = "advance"   // Args: bits (bit<32>); ParserInvalidArgument if no multiple of 8
	OpLength    Op = "length"    // Dst = bytes in the packet, bit<32>
	OpVerify    Op = "verify"    // Args: bool, error
)

// OpEmit appends header Args[0] to the packet if it is valid. Lowering takes apart
// structs, stacks and unions.
const OpEmit Op = "emit"

// The functions of v1model. "sm" stands for the standard metadata, which is left
// out of Args: there is just one.
const (
	OpMarkToDrop        Op = "mark_to_drop"                      // Args: none
	OpHash              Op = "hash"                              // Dst; Args: HashAlgorithm, base, Tuple, max
	OpRandom            Op = "random"                            // Dst; Args: lo, hi
	OpDigest            Op = "digest"                            // Args: receiver, value (Tuple or struct lvalue); Inst is the digest
	OpClone             Op = "clone"                             // Args: CloneType, session
	OpClonePreserving   Op = "clone_preserving_field_list"       // Args: CloneType, session, index
	OpResubmit          Op = "resubmit_preserving_field_list"    // Args: index
	OpRecirculate       Op = "recirculate_preserving_field_list" // Args: index
	OpTruncate          Op = "truncate"                          // Args: length in bytes (bit<32>)
	OpVerifyChecksum    Op = "verify_checksum"                   // Args: bool, Tuple, checksum, HashAlgorithm
	OpUpdateChecksum    Op = "update_checksum"                   // Dst; Args: bool, Tuple, HashAlgorithm
	OpVerifyChecksumPay Op = "verify_checksum_with_payload"      // as OpVerifyChecksum
	OpUpdateChecksumPay Op = "update_checksum_with_payload"      // as OpUpdateChecksum
	OpAssert            Op = "assert"                            // Args: bool
	OpAssume            Op = "assume"                            // Args: bool
	OpLogMsg            Op = "log_msg"                           // Args: StringLit [, Tuple]
)

// The methods of v1model's extern objects; Inst is the object.
const (
	OpCount       Op = "counter.count"        // Args: index
	OpDirectCount Op = "direct_counter.count" // Args: none
	OpMeter       Op = "meter.execute_meter"  // Dst: colour; Args: index
	OpDirectMeter Op = "direct_meter.read"    // Dst: colour
	OpRegRead     Op = "register.read"        // Dst; Args: index
	OpRegWrite    Op = "register.write"       // Args: index, value
	OpFlowRead    Op = "flow_state.read"      // Dst; Args: key (Tuple of scalars)
	OpFlowWrite   Op = "flow_state.write"     // Args: key (Tuple of scalars), value, seconds (bit<32>)
)
