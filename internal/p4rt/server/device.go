package server

import (
	"context"

	"github.com/catena-nfv/catena/internal/p4/target"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// Device runs P4 programs. The server serialises all calls but Compile and Inject.
type Device interface {
	// Compile turns a device configuration into a program. It changes nothing
	// that runs. An error is the program's fault and is shown to the client.
	Compile(ctx context.Context, deviceConfig []byte) (Program, error)
	// Inject gives the running program a packet as if it came from the CPU port,
	// controller header included.
	Inject(ctx context.Context, packet []byte) error
	// Listen says where packets sent to the CPU port (controller header included)
	// and digests go. It is called once, before anything runs. The functions do
	// not block and do not keep the slices.
	Listen(packetIn func(packet []byte), digest func(target.Digest))
}

// Program is a compiled program.
type Program interface {
	P4Info() *configv1.P4Info
	// Load makes the program ready to run, beside the one that runs. With keep it
	// takes over the running program's state where both have the same object. After
	// a restart of the server that is what a device keeps without it: counters,
	// meters and registers.
	Load(ctx context.Context, keep bool) (Pipeline, error)
}

// Pipeline is a program that runs or is ready to. It may also implement Finder.
type Pipeline interface {
	target.Switch
	// Commit replaces the program that runs. When it fails, the old one goes on.
	Commit(ctx context.Context) error
	// Close frees a pipeline that was not committed.
	Close() error
}

// Finder is implemented by pipelines that can read one entry without reading the
// whole table. Table, Match and Priority of key count.
type Finder interface {
	FindEntry(key target.Entry) (target.Entry, error)
}
