"""The branch of neutron-db-manage that has the journal."""
