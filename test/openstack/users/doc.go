// Package users tests what a cloud's users get without knowing of Catena: networks and
// servers made by Neutron's and Nova's APIs alone, on hosts where Catena's agent runs.
//
// The tests run when CATENA_TEST_OPENSTACK is set, against the cloud that OS_CLOUD (a
// plain user) and CATENA_TEST_ADMIN (an administrator, default "admin") name in
// clouds.yaml, with backend catena and a controller on this machine (CATENA_RUN,
// CATENA_STATE). "guests" also starts real servers.
package users
