// Package compose joins NF programs and a backbone into one v1model program, in
// which a packet meets the NFs of its chain in the merged order.
//
// An NF is an ordinary program (see docs/nf-authoring.md). What composing makes of
// it:
//
//   - its headers are those of the backbone with the same instance name, which
//     must have the same structure; others are added;
//   - its parser and the backbone's become one that reads a packet as both do, side
//     by side: where both extract the same header they go on together;
//   - its metadata becomes a member of the composed metadata, named after the NF;
//     members annotated @shared are one for all programs;
//   - its ingress, without the blocks annotated @standalone, stands at the
//     backbone's @hook once for each node of the merged order that is this NF,
//     under a test of that node's bit in meta.sfc.nodes; a node that drops ends
//     the chain; its egress runs behind the backbone's for packets that met it;
//   - its tables get the key `scope` in front, so that every entry belongs to a
//     scope; tables, actions and extern objects are called NF.name;
//   - a second node of the same NF uses the same tables: state and rules are one.
//     Targets that forbid this get copies (Options.CopyTables).
//
// Whatever cannot be joined without changing what a program means is a diagnostic
// that shows both positions.
package compose
