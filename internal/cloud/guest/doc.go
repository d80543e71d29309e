// Package guest is what runs inside of instances, whatever cloud they are in: the
// configurations of the programs that make a function (haproxy, dnsmasq, nftables),
// as pure texts, and the small HTTP server of a `server`.
package guest
