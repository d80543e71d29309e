// Package openstack is the cloud driver for OpenStack: Keystone, Glance, Neutron and
// Nova, from Queens on (compute microversion 2.57).
//
// # What is made of what
//
// A network is a Neutron network with one IPv4 subnet, a router a Neutron router with a
// port on each of its networks (with the address that the switch answers for), a port a
// Neutron port, a server or function a Nova server on ports that exist. What runs in a
// server is a shell script in its user data (userdata.go).
//
// The switch reaches a port at the tap that libvirt makes when the server starts; its
// name is "tap" and the first 11 characters of the port's id.
//
// # How it is found again
//
// Everything carries the owner: Neutron's resources in their description, which is
// there from the first moment on, servers in tags and metadata, ports in both. The
// cloud holds the whole state; the driver keeps none on disk. A driver that is killed at
// any point leaves nothing that Observe does not report and Delete does not remove.
//
// # Why it is fast
//
// One token, connections that are kept, at most Config.Parallel requests at a time.
// Ports are made before the servers, in bulk: those asked for at the same time are two
// requests, one for the instance that Nova can begin with and one for all others
// (batch.go). That takes Neutron off Nova's path; the price is one request a server,
// because a request for several servers cannot name their ports. Servers that are waited
// for share one list, asked at an interval that follows what happens, or
// none at all when Nova's notifications are within reach (watch.go, notify.go).
package openstack
