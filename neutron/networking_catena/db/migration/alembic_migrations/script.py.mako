"""${message}

Revision ID: ${up_revision}
Revises: ${down_revision}
"""

import sqlalchemy as sa
from alembic import op
${imports if imports else ""}
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
% if branch_labels:
branch_labels = ${repr(branch_labels)}
% endif


def upgrade():
    ${upgrades if upgrades else "pass"}
