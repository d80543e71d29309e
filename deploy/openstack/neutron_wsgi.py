"""Neutron's API for uwsgi. Unlike the packages' own it is ready when it takes its first request: SQLAlchemy connects
the models then, and requests that come meanwhile fail ("type object 'Port' has no attribute …")."""
import gc

from neutron.cmd.eventlet.server import main_api_eventlet
from sqlalchemy import orm

application = main_api_eventlet()
orm.configure_mappers()

# What is there now stays: the collector need not look at it again with every few requests.
gc.collect()
gc.freeze()
gc.set_threshold(20000, 20, 20)
