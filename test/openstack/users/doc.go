// Package users tests what a cloud's users get, on hosts where Catena's agent runs:
// with Catena's two commands (shop_test.go), and without knowing of it, by networks and
// servers made by Neutron's and Nova's APIs alone.
//
// The tests run when CATENA_TEST_OPENSTACK is set, against the cloud that OS_CLOUD (a
// plain user) and CATENA_TEST_ADMIN (an administrator, default "admin") name in
// clouds.yaml: one that deploy/openstack made on this machine, with backend catena.
// "guests" also starts real servers.
package users
