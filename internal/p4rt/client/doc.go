// Package client is a P4Runtime client that speaks in names. It is the
// controller's only way to program a switch.
//
// A Client is one session with one device: it arbitrates for being the primary,
// sets the pipeline, writes and reads entities by the names that P4Info gives
// them, and passes packets and digests. Names may be control-plane names, aliases
// or the last parts of names, where these are unambiguous.
//
// Errors name the table and the field, and list the names that exist. They wrap
// the errors of package target (target.ErrNotFound, …) where a code has one.
package client
