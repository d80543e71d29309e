// Package service holds the domain types of a service: the networks, routers,
// servers, network functions and chains that one operator asks for in one
// request, and what a driver is told and tells back about them.
//
// Three layers of types live here, from the operator's words to the machine's:
//
//   - Service and its parts (types.go) say what is wanted. They come from YAML
//     (Parse) or from the API (the server converts), have their defaults filled
//     in by Service.Default and are checked by Service.Validate.
//   - PortSpec, ServerSpec, FunctionSpec (spec.go) say what a cloud driver has
//     to make, with every name resolved to an address. They are computed from a
//     Service by the planner; a driver needs nothing else to do its work.
//   - Port, Object, Observation, SwitchConfig, SwitchState (deployed.go) say
//     what exists: in the cloud, and on the switch.
//
// The package is pure: no clock, no randomness, no I/O, and it imports nothing
// of this module, so that drivers, planner and server can all share it.
package service
