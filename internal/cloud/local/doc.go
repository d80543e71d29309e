// Package local is the cloud driver that needs no cloud: it makes networks,
// ports, servers and functions out of what one Linux kernel has.
//
// An instance (server or function) is a network namespace, and what runs in it
// is the real program: haproxy for a load balancer, dnsmasq for DNS, nftables
// for a firewall, and for a server a small HTTP server (guest.Serve) or any command.
// A port is a veth pair: eth0, eth1, … inside the namespace, and a link named
// PREFIXp<8 hex digits> outside, which the node's switch takes. There is no
// bridge: the switch alone moves packets, so networks and routers are nothing
// but records here.
//
// # What survives what
//
// Every object has a record, one JSON file below Config.StateDir, written
// (atomically) before the first thing of the object is made and changed to
// ACTIVE after the last. A driver that is killed at any point therefore leaves
// nothing that Observe does not report and Delete does not remove. Names of
// namespaces, links (with their ifalias) and the environment of processes carry
// the instance id of the state directory, so that Purge finds everything even
// when records are lost, and never touches what another driver made.
//
// Processes run in sessions of their own and outlive the driver; the next one
// adopts them, knowing them by pid and start time.
package local
