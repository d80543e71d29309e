// Package ebpf turns an ir.Program into a program for the Linux kernel: a Spec,
// which is C text for clang and a description of every map in it. It never touches
// the kernel and its output depends on the program alone.
//
// # The shape of the text
//
// One text serves both hooks, TC and XDP; a few macros at its head tell them apart.
// A packet's state is a struct with the headers' fields, the metadata and the locals
// of each block, in the names of the P4 program. It is a local variable that clang
// takes apart into registers; -DSTATE_IN_MAP puts it into a per-CPU map instead, for
// programs whose state does not fit the kernel's stack. Each P4 block, table and
// action is an inlined function:
//
//	parse → verify_checksum → ingress → traffic manager →
//	egress → compute_checksum → deparse → transmit
//
// # What is done to the packet
//
// extract notes where a header lies (`at`) and loads only the fields that the
// program reads, and those that it may have to write back. The deparser first finds where each header has to lie. If
// all lie there already, which for many programs is known here and costs nothing, it
// writes the fields that the program assigns, in place; a packet with nothing
// assigned is not written at all. Otherwise the bytes of the headers are saved,
// the front of the packet is grown or shrunk, and headers are copied to their new
// places first.
//
// A header that lies at the same place in every packet is addressed by a constant. Bits
// in the state tell which fields were assigned, one for all that are always assigned
// together: where headers stay in place, only headers that changed are written, and a
// field that is assigned and never read is not even loaded. The state has only scalars
// that something uses (kept.go).
//
// Each exit of the parser, and each way past a condition that does not hold, is a block
// of its own, told apart by a number, because clang would set what variables have there
// in front of the test instead, on the way of all packets. The exits stand behind the
// states (parser_end.go): clang keeps the order of the text.
//
// # Tables
//
// A key is put together in registers and stored by words of eight bytes, because what
// hashes and compares it reads words, and would wait for several narrower stores. The
// masks of a tuple space are data of the program, in two generations; each brings its number into
// the key by itself, under ones in the packet's key. They stand by falling priority, and the first few are tried
// inline, one after another; a function has the loop over the others and copies the entry that it finds, as the verifier
// lets no global function return a pointer. Elements lie in an array with an index of our own (tuples.go), whose words tell
// for most masks that there is no element for the packet.
//
// The cells of a small counter are one element of its map (cells.go), which a control looks up once.
//
// A program with many chains applies tables in many places. Those that it applies in several are then functions
// (share.go), so that neither clang nor the verifier meets their text again and again.
//
// # Checksums
//
// Under @incremental a checksum is updated by what changed (RFC 1624). Where headers stay
// in place, each assignment adds its difference to a sum, which is a constant where a field
// grows by one; fields that count in the same checksums share one. Otherwise what changed is known from the packet itself, which is
// still as it came when checksums are computed. XDP updates checksums where they lie; on TC the update of a checksum over
// payload is left to bpf_l4_csum_replace, which knows what to do if the checksum is
// still to be filled in by a NIC.
//
// # Keeping the verifier's work small
//
// The verifier follows every way through a program and joins two only where it knows
// no more of one than of the other. So validity is a bit in one word, and FORGET lets
// it forget that word and the headers' offsets behind the parser and between the
// steps of the deparser; masks and bounds tell it again what it has to know. Loops are
// bpf_loops, whose body it looks at once: the copies of a multicast, payload, and the
// passes of packets that are resubmitted or recirculated. Only the search of a tuple
// space behind its first masks, where a call for each mask costs as much as the lookup, is a loop that the
// verifier walks through, once: it is in a global function. Inline, such a loop would make it forget which ways it
// has seen: it keeps few states of an instruction that it meets again and again.
//
// # Copies
//
// The kernel can only send a copy of the packet at hand. Multicast and clones are
// therefore jobs in a queue: for each copy egress and deparser run, the packet is sent
// and made again what it was. A job has the state; if there is only multicast, of headers and metadata what
// egress, checksums and deparser look at (late.go). Clones that cut the packet are the last, so that a packet
// that the kernel has yet to cut into segments, whose end cannot be put back, has
// been sent before. Of a packet that is recirculated the clones are made between egress and
// deparser. Copies that start again wait with their fronts in a map until the packet's own way has ended, and
// have then, one by one, their turn with the packet at hand (turns.go).
//
// # Limits
//
// 1024 bytes of headers; 32 rounds of a parser loop that fills no stack; 256 rounds of
// a loop statement; 512 passes of a packet; 64 copies by a multicast group or clone
// session; 64 clones asked for by a packet and its copies; 64 copies that wait to start
// again, which take 2048 bytes of the packet in all their passes; 64 different masks in a
// table; 32 masked values in a value set; 128 weights in a group of an action selector;
// 9216 bytes of a packet to the CPU. A packet beyond one of them is dropped (to the
// CPU: cut), a clone is not made, an entry is refused.
// Register reads and writes of up to 64 bits are atomic each; a read and the write
// that follows are not one step where two CPUs have packets for the same cell.
//
// # Large programs
//
// A program may have more ways through it than the verifier follows, or need more than one
// stack. Spec.Split is the same program in many global functions (split.go): blocks, tables,
// pieces of large controls and actions, and loops, which are then bpf_loops. The verifier looks
// at each of them once, for any packet, and each has a stack of its own. Package dataplane takes
// it where nothing else helps: calls cost packets time.
//
// # What the kernel cannot do
//
// is told by diagnostics, at the place in the P4 text: with the code Unsupported if this
// back end knows, else with that of the limit of the kernel that the program is beyond
// (limits.go). The verifier is not meant to find anything; what it says is not shown.
package ebpf
