"""Sends the objects that the journal names to the controller."""

import grpc
from neutron_lib import exceptions
from neutron_lib.db import api as db_api
from neutron_lib.plugins import constants as plugin_constants
from neutron_lib.plugins import directory
from oslo_log import log

from networking_catena import convert, journal, kinds
from networking_catena.api import mirror_pb2 as pb

LOG = log.getLogger(__name__)

BATCH = 200
TIMEOUT = 10  # seconds for one call


def push(context, stub):
    """Send the oldest rows of the journal; the number of rows that are done with.

    grpc.RpcError: the controller does not take them; they stay in the journal.
    """
    with db_api.CONTEXT_READER.using(context):
        rows = journal.take(context.session, BATCH)
    if not rows:
        return 0
    send(stub, changes(context, journal.objects(rows)))
    with db_api.CONTEXT_WRITER.using(context):
        journal.drop(context.session, rows)
    return len(rows)


def send(stub, batch):
    """Push changes. One that the controller finds senseless is left out, so that it does not hold up the others."""
    try:
        stub.Push(pb.PushRequest(changes=batch), timeout=TIMEOUT)
    except grpc.RpcError as e:
        if e.code() != grpc.StatusCode.INVALID_ARGUMENT:
            raise
        if len(batch) == 1:
            LOG.error("the controller does not take %s %s: %s",
                      kinds.NAMES[batch[0].ref.kind], batch[0].ref.id, e.details())
            return
        for c in batch:
            send(stub, [c])


def changes(context, objects):
    """The API's changes for {(kind, id): repair}, with the objects as they are now."""
    wanted = {}
    for kind, object_id in objects:
        wanted.setdefault(kind, []).append(object_id)
    found = {kind: read(context, kind, ids) for kind, ids in wanted.items()}
    groups = found.get(kinds.SECURITY_GROUP, {})
    prefixes = address_groups(context, groups.values())
    return [convert.change(kind, object_id, found[kind].get(object_id), repair, prefixes)
            for (kind, object_id), repair in objects.items()]


def read(context, kind, ids):
    """{id: Neutron's dictionary} of those objects that there are."""
    core = directory.get_plugin()
    filters = {"id": ids}
    if kind == kinds.NETWORK:
        found = core.get_networks(context, filters=filters)
    elif kind == kinds.SUBNET:
        found = core.get_subnets(context, filters=filters)
    elif kind == kinds.PORT:
        found = core.get_ports(context, filters=filters)
    elif kind == kinds.SECURITY_GROUP:
        found = core.get_security_groups(context, filters=filters)
    else:
        l3 = directory.get_plugin(plugin_constants.L3)
        found = l3.get_routers(context, filters=filters) if l3 else []
    return {o["id"]: o for o in found}


def address_groups(context, groups):
    """{id: [prefix]} of the address groups that rules of these security groups name."""
    out = {}
    for group in groups:
        for rule in group["security_group_rules"]:
            name = rule.get("remote_address_group_id")
            if name and name not in out:
                try:
                    out[name] = [str(a) for a in directory.get_plugin().get_address_group(context, name)["addresses"]]
                except exceptions.NotFound:
                    out[name] = []
    return out
