"""The process `neutron-catena-sync`: one thread sends, one listens, the main one follows.

It is a process of its own, and not a worker of neutron-server, so that it is there
however the API is served, and because gRPC wants threads that eventlet has not patched.
Any number of them may run.
"""

import os
import queue
import signal
import sys
import threading
import time

import eventlet
import grpc
from eventlet import hubs
from neutron import manager
from neutron.common import config as neutron_config
from neutron_lib import context as neutron_context
from neutron_lib.plugins import directory
from oslo_config import cfg
from oslo_log import log

from networking_catena import agents, client, config, ports, push, repair
from networking_catena.api import mirror_pb2 as pb

LOG = log.getLogger(__name__)

FIRST_PAUSE, LAST_PAUSE = 0.2, 5.0  # seconds after a failure
PATIENCE = 0.5  # seconds until what else is to be done is looked at
FAKE_HOSTS_INTERVAL = 30  # seconds between two reports of fake hosts


class Outage:
    """Says once that the controller does not answer, and once that it does again."""

    def __init__(self, what):
        self._what = what
        self.pause = FIRST_PAUSE
        self.on = False

    def failed(self, error):
        if not self.on:
            LOG.warning("%s: the controller does not answer, trying again: %s", self._what, error)
        self.on = True
        self.pause = min(2 * self.pause, LAST_PAUSE)

    def over(self):
        if self.on:
            LOG.info("%s: the controller answers again", self._what)
        self.on = False
        self.pause = FIRST_PAUSE


class Sender(threading.Thread):
    """Sends what the journal names, and compares now and then."""

    def __init__(self, stub, conf, stop):
        super().__init__(name="sender", daemon=True)
        self._stub = stub
        self._conf = conf
        self._stop_event = stop
        self._outage = Outage("journal")
        self._compare_at = 0.0

    def run(self):
        while not self._stop_event.is_set():
            self._stop_event.wait(self.step())

    def step(self):
        """Do what there is to do; the seconds until the next step."""
        context = neutron_context.get_admin_context()
        try:
            if push.push(context, self._stub):
                self._outage.over()
                return 0
            if time.monotonic() >= self._compare_at:
                repair.compare(context, self._stub)
                self._outage.over()
                self._compare_at = time.monotonic() + self._conf.sync_interval
                return 0
        except grpc.RpcError as e:
            self._outage.failed(f"{e.code().name}: {e.details()}")
            # It may come back without what it had.
            self._compare_at = 0.0
            return self._outage.pause
        except Exception:  # of the database, which may be away, too
            LOG.exception("the journal is not sent")
            return LAST_PAUSE
        return self._conf.poll_interval


class Reports:
    """A queue from threads to a green thread, which sleeps until there is something."""

    def __init__(self):
        self._queue = queue.Queue()
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def put(self, report):
        self._queue.put(report)
        try:
            os.write(self._write, b"x")
        except BlockingIOError:
            pass  # it is full, and so read soon

    def get(self, timeout):
        """The next report; None when there is none for so many seconds."""
        end = time.monotonic() + timeout
        while True:
            try:
                return self._queue.get_nowait()
            except queue.Empty:
                pass
            try:
                hubs.trampoline(self._read, read=True, timeout=max(0, end - time.monotonic()), timeout_exc=TimeoutError)
                os.read(self._read, 4096)
            except TimeoutError:
                return None


class Listener(threading.Thread):
    """Puts the controller's reports into a queue."""

    def __init__(self, stub, reports, stop):
        super().__init__(name="listener", daemon=True)
        self._stub = stub
        self._reports = reports
        self._stop_event = stop
        self._outage = Outage("ports")

    def run(self):
        while not self._stop_event.is_set():
            try:
                for report in self._stub.WatchNodes(pb.WatchNodesRequest()):
                    self._outage.over()
                    self._reports.put(report)
            except grpc.RpcError as e:
                self._outage.failed(f"{e.code().name}: {e.details()}")
            except Exception:  # such as a token file that is not there
                LOG.exception("the controller is not listened to")
            self._stop_event.wait(self._outage.pause)


def follow(reports, conf, stop):
    """Apply reports until the process is told to stop."""
    fake_at = 0.0
    while not stop.is_set():
        context = neutron_context.get_admin_context()
        try:
            if conf.fake_hosts and time.monotonic() >= fake_at:
                fake_at = time.monotonic() + FAKE_HOSTS_INTERVAL
                for host in conf.fake_hosts:
                    agents.report(directory.get_plugin(), context, host, taps=False)
            report = reports.get(PATIENCE)
            if report:
                ports.apply(context, report)
        except Exception:
            # The next complete report repairs it.
            LOG.exception("a report is not followed")
            eventlet.sleep(0.5)


def main():
    neutron_config.register_common_config_options()
    neutron_config.init(sys.argv[1:])
    neutron_config.setup_logging()
    config.register()
    manager.init()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    conf = cfg.CONF.catena
    channel = client.connect(conf)
    stub = client.stub(channel)
    reports = Reports()
    Sender(stub, conf, stop).start()
    Listener(stub, reports, stop).start()
    LOG.info("the journal is sent to %s", conf.controller)
    follow(reports, conf, stop)
    channel.close()
