"""Neutron's API for uwsgi. Unlike the packages' own it is ready when it takes its first request: SQLAlchemy connects
the models then, and requests that come meanwhile fail ("type object 'Port' has no attribute …")."""
from neutron.cmd.eventlet.server import main_api_eventlet
from sqlalchemy import orm

application = main_api_eventlet()
orm.configure_mappers()
