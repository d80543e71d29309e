// Package orch plans and carries out services: it compares what is desired with
// what exists, computes the steps that lead from one to the other (plan.go,
// pure), and runs them in parallel, recorded in a store, so that a crash at any
// point ends in a deployed service or a clean rollback (reconcile.go).
//
// It consumes four interfaces, all declared here: Cloud, Node, Fabric, Store.
// Their types live in package service, so that drivers need not import orch.
package orch

import (
	"context"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// Cloud makes networks, ports and instances.
//
// Every call returns when the object is ACTIVE (or gone), with an error, or when
// the context ends. Create calls are idempotent: when an object of that owner
// and name exists as asked, it is completed if it was left half made, and
// returned; when it exists differently it is changed. The planner deletes first
// what cannot be changed: it repeats a create only with another DHCP, DNS or MTU
// of a network, other networks of a router and another external one, another
// gateway, DNS, MTU or other security of a port, another configuration of a function,
// other rules of a security group, another port of a floating IP. Delete calls succeed when
// nothing is there, and remove half-made objects. A call that fails or is killed
// midway leaves only what Observe reports and Delete removes. Calls on different
// objects may run at the same time; the planner never starts a call before those
// that it depends on have returned.
type Cloud interface {
	// Lacks tells what of a service the cloud does not have. It asks nobody.
	Lacks(*service.Service) []service.Problem
	CreateNetwork(context.Context, service.Owner, service.Network) error
	// CreateSecurityGroup makes a group without the service's rules, and returns its id.
	CreateSecurityGroup(context.Context, service.Owner, service.SecurityGroup) (id string, err error)
	// CreateSecurityRules gives a group exactly its rules. The group exists, and those
	// that its rules name. They go with the group: Delete of them may leave that to it.
	CreateSecurityRules(context.Context, service.Owner, service.SecurityGroup) error
	CreateKeyPair(context.Context, service.Owner, service.KeyPair) error
	// CreateRouter's networks exist.
	CreateRouter(context.Context, service.Owner, service.Router) error
	// CreatePort makes the port and its link; the instance comes later. Its
	// network and security groups exist.
	CreatePort(context.Context, service.Owner, service.PortSpec) (service.Port, error)
	// CreateFloatingIP takes an address of an external network and leads it to a port.
	// The port exists, and the router that leads outside; the address stays when
	// another port is made in the place of the port.
	CreateFloatingIP(context.Context, service.Owner, service.FloatingIPSpec) error
	// CreateServer and CreateFunction start an instance on ports that exist.
	CreateServer(context.Context, service.Owner, service.ServerSpec) error
	// CreateFunction also applies a changed configuration to a running function.
	CreateFunction(context.Context, service.Owner, service.FunctionSpec) error
	// Delete removes an object of any of the kinds above.
	Delete(ctx context.Context, owner service.Owner, kind service.Kind, name string) error
	// Observe reports what exists of the service, including half-made objects; what is
	// there but has become another than it was made is StatusChanged. Security groups
	// with their rules, keypairs and floating IPs need be looked for only when their kinds
	// (that of groups for both) are given: most services have none.
	Observe(ctx context.Context, owner service.Owner, also ...service.Kind) (service.Observation, error)
}

// Node attaches ports to the switch of the node that they are on. Both calls are
// idempotent, and keep a port's number when it is attached already.
type Node interface {
	// Attach makes the link port number `number` of the switch. It waits for the
	// link to appear until the context ends.
	Attach(ctx context.Context, owner service.Owner, number uint32, port service.Port) error
	// Detach succeeds when the port is not attached or its link is gone.
	Detach(ctx context.Context, owner service.Owner, port string) error
}

// Fabric makes a switch follow a configuration. Its input is always the whole
// desired state; it finds out itself what has to change, so every call may be
// repeated. The planner makes one call at a time.
type Fabric interface {
	// Check finds, without touching anything, what is wrong with the chains and
	// rules: requests that do not parse or are cyclic, unknown NFs, tables,
	// actions, values that do not fit, paths that a chain does not have. Each is a
	// *service.ChainError; several are joined with errors.Join. Ports are missing.
	Check(context.Context, service.SwitchConfig) error
	// Prepare does what is possible before the ports exist (merge, compose,
	// compile) and keeps the result for Deploy. Ports in the configuration may
	// be missing. It runs at the same time as the cloud's work.
	Prepare(ctx context.Context, cfg service.SwitchConfig, progress func(service.Stage)) error
	// Deploy loads the program when it differs and writes the entries that
	// differ. When it fails, the switch works as before the call. A port may be in
	// the configuration that is not attached (yet, or any more).
	Deploy(ctx context.Context, cfg service.SwitchConfig, progress func(service.Stage)) (service.SwitchReport, error)
	// State reads ports, counters and the pipeline back from the switch.
	State(context.Context) (service.SwitchState, error)
	// NFs lists the NF library, sorted by name.
	NFs(context.Context) ([]service.NFInfo, error)
}

// KV is one key with its value. Revision grows with every change of the store.
type KV struct {
	Key      string
	Value    []byte
	Revision int64
}

// Store keeps bytes under keys; keys are slash-separated paths. Deleted reports
// in a watch have a nil Value.
type Store interface {
	// Get returns ok false when there is no such key.
	Get(ctx context.Context, key string) (kv KV, ok bool, err error)
	// List returns all keys below a prefix, sorted by key.
	List(ctx context.Context, prefix string) ([]KV, error)
	// Put writes one key.
	Put(ctx context.Context, key string, value []byte) error
	// Delete removes one key; it is no error when it is not there.
	Delete(ctx context.Context, key string) error
	// Txn does all writes or none: it fails with ok false when one of the keys
	// in expect has another revision (0: must not exist).
	Txn(ctx context.Context, expect map[string]int64, puts map[string][]byte, deletes []string) (ok bool, err error)
	// Watch sends every change below prefix until the context ends.
	Watch(ctx context.Context, prefix string) (<-chan KV, error)
}

// Event reports one change of one object while a service is applied or deleted.
type Event struct {
	Time    time.Time
	Owner   service.Owner
	Kind    service.Kind
	Name    string
	Status  service.Status
	Stage   string        // what is being done, e.g. "create", "compile", "load"
	Message string        // for people; the error's text when Status is ERROR
	Elapsed time.Duration // since the object's step started; at the end of a service: since the request
}
