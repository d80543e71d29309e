"""Nothing has been removed yet.

Revision ID: c47e1b000001
Revises: start_networking_catena
"""

from neutron.db.migration import cli

revision = "c47e1b000001"
down_revision = "start_networking_catena"
branch_labels = (cli.CONTRACT_BRANCH,)


def upgrade():
    pass
