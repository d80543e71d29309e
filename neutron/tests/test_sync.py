"""The process's threads against a real gRPC server."""

import concurrent.futures
import pathlib
import queue
import tempfile
import threading
import unittest
from unittest import mock

import tomllib

try:
    from networking_catena import client, config, sync
except ImportError as e:
    raise unittest.SkipTest(f"Neutron is not there: {e}") from e

import grpc
from oslo_config import cfg

from networking_catena.api import mirror_pb2 as pb
from networking_catena.api import mirror_pb2_grpc


class Service(mirror_pb2_grpc.MirrorServicer):
    def __init__(self):
        self.tokens = []
        self.reports = queue.Queue()

    def _token(self, context):
        self.tokens.append(dict(context.invocation_metadata()).get("authorization"))

    def Compare(self, request, context):  # noqa: N802, a method of gRPC
        self._token(context)
        return pb.CompareResponse(equal=True)

    def WatchNodes(self, request, context):  # noqa: N802
        self._token(context)
        while True:
            report = self.reports.get(timeout=5)
            if report is None:
                return
            yield report


class SyncTest(unittest.TestCase):
    def setUp(self):
        config.register()
        self.service = Service()
        self.address = "unix://" + tempfile.mkdtemp() + "/s"
        token = tempfile.NamedTemporaryFile("w")  # noqa: SIM115, closed at the end
        self.addCleanup(token.close)
        token.write("secret-token\n")
        token.flush()
        cfg.CONF.set_override("controller", self.address, "catena")
        cfg.CONF.set_override("token_file", token.name, "catena")
        self.addCleanup(cfg.CONF.reset)
        channel = client.connect(cfg.CONF.catena)
        self.addCleanup(channel.close)
        self.stub = client.stub(channel)
        self.stop = threading.Event()
        self.addCleanup(self.stop.set)

    def serve(self):
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        mirror_pb2_grpc.add_MirrorServicer_to_server(self.service, server)
        server.add_insecure_port(self.address)
        server.start()
        self.addCleanup(server.stop, 0)
        return server

    def test_sender_waits_for_the_controller(self):
        sender = sync.Sender(self.stub, cfg.CONF.catena, self.stop)
        with mock.patch.object(sync.push, "push", return_value=0), \
                mock.patch.object(sync.repair, "compare", side_effect=lambda _, s: s.Compare(pb.CompareRequest())):
            pauses = [sender.step() for _ in range(8)]
            self.assertEqual(sorted(pauses), pauses)
            self.assertEqual(sync.LAST_PAUSE, pauses[-1])
            self.serve()
            for _ in range(50):
                if sender.step() == 0:
                    break
                self.stop.wait(0.1)
            self.assertEqual(["Bearer secret-token"], self.service.tokens)
            # The next comparison is due later.
            self.assertEqual(cfg.CONF.catena.poll_interval, sender.step())

    def test_an_error_of_the_database_ends_nothing(self):
        sender = sync.Sender(self.stub, cfg.CONF.catena, self.stop)
        with mock.patch.object(sync.push, "push", side_effect=OSError("no database")):
            self.assertEqual(sync.LAST_PAUSE, sender.step())

    def test_listener_listens_again(self):
        reports = sync.Reports()
        server = self.serve()
        sync.Listener(self.stub, reports, self.stop).start()
        self.service.reports.put(pb.NodesReport(complete=True))
        self.assertTrue(reports.get(timeout=5).complete)
        self.service.reports.put(None)  # the controller ends the stream
        self.service.reports.put(pb.NodesReport(nodes=[pb.NodePorts(host="h")]))
        self.assertEqual("h", reports.get(timeout=5).nodes[0].host)
        server.stop(0).wait()
        self.service.reports.put(None)
        self.serve()  # another controller
        self.service.reports.put(pb.NodesReport(nodes=[pb.NodePorts(host="i")]))
        self.assertEqual("i", reports.get(timeout=10).nodes[0].host)

    def test_follow_goes_on_after_an_error(self):
        reports = sync.Reports()
        for host in ("bad", "good"):
            reports.put(pb.NodesReport(nodes=[pb.NodePorts(host=host)]))
        seen = []

        def apply(context, report):
            seen.append(report.nodes[0].host)
            if report.nodes[0].host == "bad":
                raise OSError("no database")
            self.stop.set()

        with mock.patch.object(sync.ports, "apply", apply):
            sync.follow(reports, cfg.CONF.catena, self.stop)
        self.assertEqual(["bad", "good"], seen)

    def test_fake_hosts_are_reported(self):
        cfg.CONF.set_override("fake_hosts", ["fake1"], "catena")
        seen = []

        def report(plugin, context, host, taps):
            seen.append((host, taps))
            self.stop.set()

        with mock.patch.object(sync.agents, "report", report):
            sync.follow(sync.Reports(), cfg.CONF.catena, self.stop)
        self.assertEqual([("fake1", False)], seen)


class PackageTest(unittest.TestCase):
    def test_migrations_are_in_the_package(self):
        # They are no packages of Python's, so that only package-data brings them.
        root = pathlib.Path(__file__).parents[1]
        with open(root / "pyproject.toml", "rb") as f:
            data = tomllib.load(f)["tool"]["setuptools"]["package-data"]
        (package, patterns), = data.items()
        folder = root / package.replace(".", "/")
        brought = {p for pattern in patterns for p in folder.glob(pattern)}
        there = {p for p in (folder / "versions").rglob("*") if p.is_file() and p.suffix != ".pyc"}
        self.assertEqual(set(), there - brought)
