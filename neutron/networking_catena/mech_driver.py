"""The ML2 mechanism driver `catena`."""

from neutron.db import provisioning_blocks
from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.callbacks import events, registry, resources
from neutron_lib.plugins.ml2 import api
from oslo_config import cfg
from oslo_log import log
from oslo_utils import timeutils

from networking_catena import agents, config, journal, kinds

LOG = log.getLogger(__name__)

# Ports of Neutron's own services are nobody's interface on a host.
_SERVICE_PORTS = (constants.DEVICE_OWNER_NETWORK_PREFIX,)


class CatenaMechanismDriver(api.MechanismDriver):
    """Binds ports to the kernel switch, and journals changes in their transactions.

    A bound port stays DOWN until the agent has its tap: nova waits for it.
    """

    # Ports reach the other ports of their network.
    connectivity = portbindings.CONNECTIVITY_L2

    def initialize(self):
        config.register()
        self._vif_details = {
            portbindings.CAP_PORT_FILTER: True,
            portbindings.VIF_DETAILS_CONNECTIVITY: self.connectivity,
        }
        for resource, kind in ((resources.SECURITY_GROUP, kinds.SECURITY_GROUP), (resources.ROUTER, kinds.ROUTER)):
            for event in (events.PRECOMMIT_CREATE, events.PRECOMMIT_UPDATE, events.PRECOMMIT_DELETE):
                registry.subscribe(_recorder(kind), resource, event)
        registry.subscribe(self._rule_created, resources.SECURITY_GROUP_RULE, events.PRECOMMIT_CREATE)
        registry.subscribe(self._rule_deleted, resources.SECURITY_GROUP_RULE, events.PRECOMMIT_DELETE)
        LOG.info("catena: the controller is %s", cfg.CONF.catena.controller)

    # Security groups are sent with their rules.

    @staticmethod
    def _rule_created(resource, event, trigger, payload):
        group = payload.latest_state["security_group_id"]
        journal.record(payload.context.session, kinds.SECURITY_GROUP, group)

    @staticmethod
    def _rule_deleted(resource, event, trigger, payload):
        journal.record(payload.context.session, kinds.SECURITY_GROUP, payload.metadata["security_group_id"])

    # What ML2 tells in the transaction of a change.

    def create_network_precommit(self, context):
        _record(context, kinds.NETWORK)

    update_network_precommit = delete_network_precommit = create_network_precommit

    def create_subnet_precommit(self, context):
        _record(context, kinds.SUBNET)

    update_subnet_precommit = delete_subnet_precommit = create_subnet_precommit

    def create_port_precommit(self, context):
        _record(context, kinds.PORT)
        self._hold(context)

    def update_port_precommit(self, context):
        _record(context, kinds.PORT)
        if context.host != context.original_host:
            self._hold(context)

    def delete_port_precommit(self, context):
        _record(context, kinds.PORT)

    def _hold(self, context):
        """Keep the port from becoming ACTIVE until the agent has its tap."""
        port = context.current
        if not context.host or port["status"] == constants.PORT_STATUS_ACTIVE or not _is_ours(port):
            return
        if any(a["configurations"].get("taps", True) for a in context.host_agents(agents.TYPE)):
            provisioning_blocks.add_provisioning_component(
                context._plugin_context, port["id"], resources.PORT, provisioning_blocks.L2_AGENT_ENTITY)

    def bind_port(self, context):
        port = context.current
        if not _is_ours(port):
            return
        for agent in context.host_agents(agents.TYPE):
            if not agent["alive"] and not _in_grace(agent):
                LOG.warning("port %s is not bound: the agent of host %s has not reported since %s",
                            port["id"], context.host, agent["heartbeat_timestamp"])
                continue
            for segment in context.segments_to_bind:
                # Other types cross hosts, which the switch does not do yet.
                if segment[api.NETWORK_TYPE] != constants.TYPE_LOCAL:
                    continue
                # No status: what the port has, DOWN, until the agent reports.
                taps = agent["configurations"].get("taps", True)
                context.set_binding(segment[api.ID], portbindings.VIF_TYPE_BRIDGE, self._vif_details,
                                    status=None if taps else constants.PORT_STATUS_ACTIVE)
                return


def _is_ours(port):
    vnic = port.get(portbindings.VNIC_TYPE, portbindings.VNIC_NORMAL)
    return vnic == portbindings.VNIC_NORMAL and not port["device_owner"].startswith(_SERVICE_PORTS)


def _in_grace(agent):
    seen = timeutils.normalize_time(agent["heartbeat_timestamp"])
    return not timeutils.is_older_than(seen, cfg.CONF.catena.agent_grace)


def _record(context, kind):
    journal.record(context._plugin_context.session, kind, context.current["id"])


def _recorder(kind):
    def callback(resource, event, trigger, payload):
        journal.record(payload.context.session, kind, payload.resource_id)
    return callback
