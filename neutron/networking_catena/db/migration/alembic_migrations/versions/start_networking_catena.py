"""The root of both branches.

Revision ID: start_networking_catena
Revises: None
"""

revision = "start_networking_catena"
down_revision = None


def upgrade():
    pass
