"""The service plugin `catena_router`: routers that the data plane is.

Rows of the database and their journal are all there is to do: no agent, no namespace.
The switch routes between the networks of a router and answers for its addresses.
"""

from neutron.db import extraroute_db
from neutron.db.models import l3 as l3_models
from neutron.quota import resource_registry
from neutron_lib import constants, exceptions
from neutron_lib.api.definitions import l3 as l3_apidef
from neutron_lib.plugins import constants as plugin_constants
from neutron_lib.plugins import directory
from neutron_lib.services import base


class CatenaRouterPlugin(base.ServicePluginBase, extraroute_db.ExtraRoute_dbonly_mixin):
    """Routers without gateways to other networks: these come with the overlay between hosts."""

    supported_extension_aliases = [l3_apidef.ALIAS]

    @resource_registry.tracked_resources(router=l3_models.Router, floatingip=l3_models.FloatingIP)
    def __init__(self):
        super().__init__()

    def get_plugin_type(self):
        return plugin_constants.L3

    def get_plugin_description(self):
        return "Routing in Catena's kernel switch"

    def create_router(self, context, router):
        _check(router)
        return super().create_router(context, router)

    def update_router(self, context, id, router):  # noqa: A002, the name is the caller's
        _check(router)
        return super().update_router(context, id, router)

    def add_router_interface(self, context, router_id, interface_info=None):
        out = super().add_router_interface(context, router_id, interface_info)
        # Nobody plugs in a router's port: it works from now on.
        directory.get_plugin().update_port_status(context.elevated(), out["port_id"], constants.PORT_STATUS_ACTIVE)
        return out

    def create_floatingip(self, context, floatingip, initial_status=constants.FLOATINGIP_STATUS_DOWN):
        raise exceptions.BadRequest(resource="floatingip", msg="Catena's routers have no floating IPs")


def _check(router):
    if router["router"].get(l3_apidef.EXTERNAL_GW_INFO) not in (None, constants.ATTR_NOT_SPECIFIED, {}):
        raise exceptions.BadRequest(
            resource="router", msg="Catena's routers have no external gateway; leave external_gateway_info out")
