"""Neutron's plugin for Catena.

The mechanism driver `catena` (mech_driver.py) binds ports of hosts on which Catena's
agent runs, and writes down in the journal (journal.py), in the transaction of each
change, which object has changed. The process `neutron-catena-sync` (sync.py) sends the
objects that the journal names to the controller (push.py), compares all revisions now
and then (repair.py), and carries back which ports work (ports.py). A controller that is
down therefore delays the data plane, but never a user's call, and loses nothing.

Routers are the service plugin `catena_router` (l3.py): routing is in the data plane, so
there is neither an L3 agent nor a namespace.
"""
