// Package orchestration measures how long it takes until a service runs on OpenStack, as
// papers 000 (Tables V and VI) and 001 (Tables II and III) do: their use cases, asked for
// by one client or several at the same time.
//
// A platform is an interface and an engine. The papers compare a REST orchestrator that
// makes OpenStack's calls one after another with a gRPC one, and attribute the difference
// to the interface. Here all combinations run in turns:
//
//	REST           REST interface, the papers' sequence: one function after another
//	gRPC           gRPC interface, Catena's engine: the product
//	REST, overlap  the sequence, but all servers are asked for before any is waited for
//	mixed          Catena's engine behind REST; the papers' sequence behind gRPC
//
// and beside them the limit: the cloud's calls without any orchestrator, each made as soon
// as what it needs is there. What the limit takes, the cloud takes.
//
// # The papers' REST method
//
// The papers give no code. What is done here, and why:
//
//   - Each request of a client authenticates (001, section 4.2), once: one token for all of
//     the request's calls. A client that got one for each call would be slower.
//   - Images and flavors are looked up by name, once a request; ids of networks are those of
//     the answers that made them, although section 4.1 (step 10) looks them up again.
//   - Connections are kept from call to call. Python's requests, which the paper uses, opens
//     one for each.
//   - A function is asked for when the one before it is ACTIVE. Section 4 of paper 001 has
//     "once the instance is launched, a response is sent to the client after the status is
//     ACTIVE", one instance a request. The figures of paper 000 agree: on the same cloud
//     (Table V, Open vSwitch) another server adds 3.2 s to gRPC, which launches all and then
//     looks (001, section 4.1, steps 11 to 14), and 6.2 s to REST. Had REST asked for all of
//     them at once, the cloud would have been as fast for it. As this is a conclusion and not
//     the papers' word, the platform "REST, overlap" has the other reading.
//   - The status is asked for each second. The papers do not say how often; OpenStack's own
//     Python client asks every 2 s (--poll sets it).
//   - Nova makes the ports, since the request names networks (001, figure 5).
//   - N clients are served at the same time, each by a sequence of its own.
package orchestration
