"""Carries what the controller reports of nodes and ports into Neutron."""

from neutron.db import models_v2, provisioning_blocks
from neutron.plugins.ml2 import models as ml2_models
from neutron_lib import constants
from neutron_lib.callbacks import resources
from neutron_lib.db import api as db_api
from neutron_lib.plugins import directory
from oslo_log import log

from networking_catena import agents

LOG = log.getLogger(__name__)


def apply(context, report):
    """Follow one report (NodesReport of the API)."""
    for node in report.nodes:
        if report.complete:
            agents.report(directory.get_plugin(), context, node.host)
            up, down = differences(statuses(context, node.host), set(node.up))
        else:
            up, down = node.up, node.down
        for port_id in up:
            # The port becomes ACTIVE, unless something else holds it, and nova is told.
            provisioning_blocks.provisioning_complete(
                context, port_id, resources.PORT, provisioning_blocks.L2_AGENT_ENTITY)
        for port_id in down:
            take_down(context, node.host, port_id)


def take_down(context, host, port_id):
    plugin = directory.get_plugin()
    # After a migration the port is another host's.
    if plugin.port_bound_to_host(context, port_id, host):
        plugin.update_port_status(context, port_id, constants.PORT_STATUS_DOWN, host)


def statuses(context, host):
    """{port id: status} of the servers' ports that are bound to a host."""
    port, binding = models_v2.Port, ml2_models.PortBinding
    with db_api.CONTEXT_READER.using(context):
        query = context.session.query(port.id, port.status).join(binding, binding.port_id == port.id).filter(
            binding.host == host, binding.status == constants.ACTIVE,
            port.device_owner.startswith(constants.DEVICE_OWNER_COMPUTE_PREFIX))
        return dict(query.all())


def differences(status, up):
    """Ports that are to become ACTIVE, and those that are to become DOWN; sorted.

    status: {port id: status} of Neutron; up: ids of ports that work.
    """
    active = {i for i, s in status.items() if s == constants.PORT_STATUS_ACTIVE}
    return sorted((up & status.keys()) - active), sorted(active - up)
