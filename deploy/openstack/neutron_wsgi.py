"""Neutron's API for uwsgi. Unlike the packages' own it is ready when it takes its first request: SQLAlchemy connects
the models then, and requests that come meanwhile fail ("type object 'Port' has no attribute …")."""
import gc

from neutron.cmd.eventlet.server import main_api_eventlet
from neutron_lib.callbacks import registry
from neutron_lib.db import model_base
from neutron_lib.plugins import directory
from oslo_config import cfg
from sqlalchemy import orm

application = main_api_eventlet()
orm.configure_mappers()

# What belongs to an object is read by SELECT … WHERE id IN (…), which SQLAlchemy compiles once, in place of a
# subquery that it writes anew for each object: nearly half of the time of all requests. `lazy` stays as it is:
# neutron_lib reads it.
for mapper in model_base.BASEV2.registry.mappers:
    for relationship in mapper.relationships:
        if relationship.strategy_key == (("lazy", "subquery"),):
            relationship.strategy_key = (("lazy", "selectin"),)
            relationship.strategy = relationship._get_strategy(relationship.strategy_key)

# After each change the object is read again and sent to agents that keep copies. With catena alone there are none:
# an eighth of what a port costs.
if cfg.CONF.ml2.mechanism_drivers == ["catena"]:
    for resource, handler in directory.get_plugin().ovo_notifier._resource_handlers.items():
        registry.unsubscribe_by_resource(handler.handle_event, resource)
        handler.stop()

# What is there now stays: the collector need not look at it again with every few requests.
gc.collect()
gc.freeze()
gc.set_threshold(20000, 20, 20)
