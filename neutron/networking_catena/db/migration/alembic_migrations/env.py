"""Runs the migrations of this branch, with a version table of its own."""

from alembic import context
from neutron.db.migration.connection import DBConnection
from neutron_lib.db import model_base

from networking_catena import journal  # noqa: F401, its table is known by this

VERSION_TABLE = "alembic_version_catena"


def run():
    config = context.config
    with DBConnection(config.neutron_config.database.connection, config.attributes.get("connection")) as connection:
        context.configure(
            connection=connection, target_metadata=model_base.BASEV2.metadata, version_table=VERSION_TABLE)
        with context.begin_transaction():
            context.run_migrations()


if context.is_offline_mode():
    raise SystemExit("networking-catena: migrations need the database; leave --sql out")
run()
