"""The journal.

Revision ID: c47e1a000001
Revises: start_networking_catena
"""

import sqlalchemy as sa
from alembic import op
from neutron.db.migration import cli

revision = "c47e1a000001"
down_revision = "start_networking_catena"
branch_labels = (cli.EXPAND_BRANCH,)


def upgrade():
    op.create_table(
        "catena_journal",
        sa.Column("id", sa.BigInteger(), primary_key=True, autoincrement=True),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("object_id", sa.String(36), nullable=False),
        sa.Column("repair", sa.Boolean(), nullable=False),
        mysql_engine="InnoDB")
