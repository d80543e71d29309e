"""Migrations, as neutron-db-manage runs them."""
