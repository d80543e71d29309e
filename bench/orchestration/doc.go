// Package orchestration measures how long it takes until a service runs on OpenStack, as
// papers 000 (Tables V and VI) and 001 (Tables II and III) do: their use cases, asked for
// by one client or several at the same time.
//
// A platform is an interface and an engine. The papers compare a REST orchestrator that
// makes OpenStack's calls one after another with a gRPC one, and attribute the difference
// to the interface. Here all four combinations run in turns:
//
//	REST      REST interface, calls one after another and polling: the papers' method
//	gRPC      gRPC interface, Catena's engine: the product
//	mixed     Catena's engine behind REST; the papers' sequence behind gRPC
//
// and beside them the limit: the cloud's calls without any orchestrator, each made as soon
// as what it needs is there. What the limit takes, the cloud takes.
package orchestration
