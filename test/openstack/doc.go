// Package openstack tests Catena as a whole against a real OpenStack: the binary, its
// controller, and the cloud that OS_CLOUD names. The tests run when CATENA_TEST_OPENSTACK
// is set: "fake" uses hosts with Nova's fake driver (zone "fake"), on which servers become
// ACTIVE and nothing boots.
package openstack
