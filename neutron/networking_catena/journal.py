"""The journal: which objects have changed since they were last sent.

A row names an object, not the change: what is sent is the object as it is then. So it
does not matter how often a row is written, by whom it is taken, or in which order.
"""

import collections

import sqlalchemy as sa
from neutron_lib.db import model_base

Row = collections.namedtuple("Row", "id kind object_id repair")


class JournalRow(model_base.BASEV2):
    """One change; the row is written in its transaction."""

    __tablename__ = "catena_journal"

    id = sa.Column(sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=True)
    kind = sa.Column(sa.SmallInteger(), nullable=False)
    object_id = sa.Column(sa.String(36), nullable=False)
    # The row comes from a comparison: the controller takes the object even when its revision is older.
    repair = sa.Column(sa.Boolean(), nullable=False, default=False)


def record(session, kind, object_id, repair=False):
    """Write down that an object has changed. The session is that of the change's transaction.

    A plain INSERT: through the unit of work it was a fifth of what binding a port costs, since that sorts all
    that the session has.
    """
    session.execute(JournalRow.__table__.insert().values(kind=kind, object_id=object_id, repair=repair))


def take(session, limit):
    """The oldest rows, at most `limit`. They stay until they are dropped."""
    columns = (JournalRow.id, JournalRow.kind, JournalRow.object_id, JournalRow.repair)
    return [Row(*r) for r in session.query(*columns).order_by(JournalRow.id).limit(limit)]


def drop(session, rows):
    """Remove rows whose objects were sent."""
    ids = [r.id for r in rows]
    session.query(JournalRow).filter(JournalRow.id.in_(ids)).delete(synchronize_session=False)


def objects(rows):
    """{(kind, id): repair} of rows, in their order: an object is sent once."""
    out = {}
    for r in rows:
        key = (r.kind, r.object_id)
        out[key] = out.get(key, False) or r.repair
    return out
