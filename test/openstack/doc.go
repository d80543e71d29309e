// Package openstack tests Catena as a whole on OpenStack: the binary, its controller, and
// a cloud. That is a fake in the test's process or, when CATENA_TEST_OPENSTACK is "fake",
// the real one that OS_CLOUD names, on its hosts with Nova's fake driver (zone "fake"),
// on which servers become ACTIVE and nothing boots.
package openstack
