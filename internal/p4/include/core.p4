// The P4_16 core library.

#ifndef _CORE_P4_
#define _CORE_P4_

/// Errors that the language and the externs below signal.
error {
    NoError,
    PacketTooShort,        // extract, lookahead or advance beyond the end of the packet
    NoMatch,               // select without a matching case
    StackOutOfBounds,      // .next, .last or an index beyond a header stack
    HeaderTooShort,        // a variable-size extract larger than the varbit field
    ParserTimeout,         // too many parser states visited
    ParserInvalidArgument  // an argument that the target does not support
}

/// The packet being parsed. Methods that run out of packet signal PacketTooShort.
extern packet_in {
    /// Reads a fixed-size header, makes it valid and moves behind it.
    void extract<T>(out T hdr);
    /// Reads a header that ends in one varbit field of the given size.
    void extract<T>(out T variableSizeHeader, in bit<32> variableFieldSizeInBits);
    /// Reads without moving.
    T lookahead<T>();
    /// Moves ahead.
    void advance(in bit<32> sizeInBits);
    /// Size of the whole packet in bytes.
    bit<32> length();
}

/// The packet being built.
extern packet_out {
    /// Appends a header if it is valid; of a struct, a stack or a union, every valid header in order.
    void emit<T>(in T hdr);
}

/// Ends parsing with an error when check is false.
extern void verify(in bool check, in error toSignal);

/// Fails the compilation when check, a compile-time value, is false.
extern bool static_assert(bool check, string message);
extern bool static_assert(bool check);

/// The action that does nothing; a table without default_action has it.
@noWarn("unused")
action NoAction() {}

match_kind {
    exact,
    ternary,
    lpm
}

#endif
