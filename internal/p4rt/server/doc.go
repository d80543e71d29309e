// Package server is a P4Runtime 1.5.0 server for one device.
//
// It works over a Device, which it declares: something that compiles device
// configurations, runs one, and passes packets. What runs is a target.Switch, so
// the same server stands before the kernel's data plane and before the reference
// interpreter.
//
// # What p4_device_config is
//
// Whatever the Device's Compile takes. Both devices of this project take v1model
// P4 source text: any P4Runtime client can push a program without a compiler of
// ours. The P4Info that the client sends must describe that program; its ids may
// differ from those that the compiler would give, names and types may not. An
// empty P4Info stands for the compiler's own.
//
// # Pipelines
//
// VERIFY_AND_SAVE loads the new program beside the running one; reads and writes
// then go to the new one, and COMMIT makes it run. RECONCILE_AND_COMMIT keeps the
// state of all tables, counters, meters and registers that the new program still
// has. The configuration and all that is written is kept in a journal, so that a
// server that starts again, after a crash or a reboot, has it all.
//
// # Concurrency
//
// Writes run one after another, reads beside each other; compiling blocks neither.
// The order of the locks is config, state, arbiter.
//
// # What is not implemented
//
// DATAPLANE_ATOMIC batches, role.config schemes, backup replicas, per-colour meter
// counters and extern entries get UNIMPLEMENTED (role.config INVALID_ARGUMENT, as
// the specification asks).
package server
