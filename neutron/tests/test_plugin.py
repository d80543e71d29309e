"""The plugin in Neutron's own test bed: the real ML2 plugin over SQLite."""

import unittest
from unittest import mock

try:
    from neutron.tests.unit.plugins.ml2 import test_plugin
except ImportError as e:
    raise unittest.SkipTest(f"Neutron's test bed is not there: {e}") from e

import grpc
from neutron_lib import constants, exceptions
from neutron_lib import context as neutron_context
from neutron_lib.api.definitions import portbindings
from neutron_lib.db import api as db_api
from neutron_lib.plugins import constants as plugin_constants
from neutron_lib.plugins import directory
from oslo_config import cfg
from oslo_utils import timeutils

from networking_catena import agents, journal, kinds, ports, push, repair
from networking_catena.api import mirror_pb2 as pb

HOST = "node1"


class Refused(grpc.RpcError):
    def __init__(self, code, details=""):
        self._code, self._details = code, details

    def code(self):
        return self._code

    def details(self):
        return self._details


class Controller:
    """What the Go side does with pushes and comparisons, in a few lines."""

    def __init__(self):
        self.objects = {}  # (kind, id) → change
        self.down = False
        self.senseless = set()  # ids

    def Push(self, request, timeout):  # noqa: N802, a method of gRPC
        if self.down:
            raise Refused(grpc.StatusCode.UNAVAILABLE)
        if any(c.ref.id in self.senseless for c in request.changes):
            raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "no sense")
        for c in request.changes:
            key = (c.ref.kind, c.ref.id)
            if c.WhichOneof("object") is None:
                self.objects.pop(key, None)
            elif key not in self.objects or c.repair or c.ref.revision >= self.objects[key].ref.revision:
                self.objects[key] = c

    def refs(self):
        return sorted((k, i, c.ref.revision) for (k, i), c in self.objects.items())

    def Compare(self, request, timeout):  # noqa: N802
        have = self.refs()
        if request.digest == repair.digest(have):
            return pb.CompareResponse(equal=True)
        there = [(r.kind, r.id, r.revision) for r in request.refs]
        differing = {(k, i) for k, i, _ in set(have) ^ set(there)}
        return pb.CompareResponse(differing=[pb.MirrorRef(kind=k, id=i) for k, i in sorted(differing)])


class Bed(test_plugin.Ml2PluginV2TestCase):
    _mechanism_drivers = ["catena"]
    l3_plugin = "catena_router"

    def setUp(self):
        cfg.CONF.set_override("type_drivers", ["local"], "ml2")
        cfg.CONF.set_override("tenant_network_types", ["local"], "ml2")
        super().setUp()
        self.admin = neutron_context.get_admin_context()
        self.controller = Controller()

    def get_additional_service_plugins(self):
        return {"revisions": "revisions"}  # Neutron loads it by default

    def l3(self):
        return directory.get_plugin(plugin_constants.L3)

    def a_router(self, **more):
        router = {"name": "r", "admin_state_up": True, "tenant_id": "t", "project_id": "t", **more}
        return self.l3().create_router(self.admin, {"router": router})

    def rows(self):
        with db_api.CONTEXT_READER.using(self.admin):
            return [(r.kind, r.object_id) for r in journal.take(self.admin.session, 1000)]

    def send(self):
        """Push until the journal is empty; what the controller has then must be what there is."""
        while push.push(self.admin, self.controller):
            pass
        with db_api.CONTEXT_READER.using(self.admin):
            self.assertEqual(repair.revisions(self.admin.session), self.controller.refs())

    def mirrored(self, kind, object_id):
        return self.controller.objects.get((kind, object_id))

    def server_port(self, subnet, host=HOST):
        return self.port(subnet=subnet, device_owner="compute:nova", device_id="vm", is_admin=True,
                         arg_list=(portbindings.HOST_ID,), **{portbindings.HOST_ID: host})

    def status(self, port_id):
        return self.plugin.get_port(self.admin, port_id)["status"]


class JournalTest(Bed):
    def test_every_change_is_sent(self):
        l3, r = self.l3(), self.a_router()
        with self.network() as n, self.subnet(n, cidr="10.0.0.0/24") as s, self.port(s) as p:
            n, s, p = n["network"], s["subnet"], p["port"]
            self.send()
            self.assertEqual("10.0.0.0/24", self.mirrored(kinds.SUBNET, s["id"]).subnet.cidr)
            port = self.mirrored(kinds.PORT, p["id"]).port
            self.assertEqual([(s["id"], p["fixed_ips"][0]["ip_address"])],
                             [(a.subnet_id, a.ip) for a in port.fixed_ips])

            self._update("networks", n["id"], {"network": {"name": "other"}})
            self._update("subnets", s["id"], {"subnet": {"dns_nameservers": ["9.9.9.9"]}})
            self._update("ports", p["id"], {"port": {"admin_state_up": False}})
            l3.update_router(self.admin, r["id"], {"router": {"admin_state_up": False}})
            interface = l3.add_router_interface(self.admin, r["id"], {"subnet_id": s["id"]})
            self.send()
            self.assertEqual("other", self.mirrored(kinds.NETWORK, n["id"]).network.name)
            self.assertEqual(["9.9.9.9"], self.mirrored(kinds.SUBNET, s["id"]).subnet.dns_nameservers)
            self.assertFalse(self.mirrored(kinds.PORT, p["id"]).port.admin_state_up)
            self.assertFalse(self.mirrored(kinds.ROUTER, r["id"]).router.admin_state_up)
            self.assertEqual(r["id"], self.mirrored(kinds.PORT, interface["port_id"]).port.device_id)
            self.assertEqual(constants.PORT_STATUS_ACTIVE, self.status(interface["port_id"]))

            l3.remove_router_interface(self.admin, r["id"], {"subnet_id": s["id"]})
            l3.delete_router(self.admin, r["id"])
            self._delete("ports", p["id"])
            self._delete("subnets", s["id"])
            self._delete("networks", n["id"])
            self.send()
            self.assertEqual({kinds.SECURITY_GROUP}, {k for k, _ in self.controller.objects})

    def test_security_groups(self):
        sg = self.plugin.create_security_group(
            self.admin, {"security_group": {"name": "web", "description": "", "tenant_id": "t", "stateful": True}})
        self.send()
        self.assertEqual({("egress", "IPv4"), ("egress", "IPv6")},
                         {(r.direction, r.ethertype) for r in
                          self.mirrored(kinds.SECURITY_GROUP, sg["id"]).security_group.rules})
        rule = self.plugin.create_security_group_rule(self.admin, {"security_group_rule": {
            "security_group_id": sg["id"], "direction": "ingress", "protocol": "tcp", "port_range_min": 80,
            "port_range_max": 80, "ethertype": "IPv4", "remote_ip_prefix": "10.0.0.0/8", "remote_group_id": None,
            "remote_address_group_id": None, "tenant_id": "t", "description": ""}})
        self.send()
        got = [r for r in self.mirrored(kinds.SECURITY_GROUP, sg["id"]).security_group.rules if r.id == rule["id"]][0]
        self.assertEqual(("tcp", 80, 80, ["10.0.0.0/8"]),
                         (got.protocol, got.port_range_min, got.port_range_max, list(got.remote_ip_prefixes)))
        self.plugin.delete_security_group_rule(self.admin, rule["id"])
        self.send()
        self.assertEqual(2, len(self.mirrored(kinds.SECURITY_GROUP, sg["id"]).security_group.rules))
        self.plugin.delete_security_group(self.admin, sg["id"])
        self.send()
        self.assertIsNone(self.mirrored(kinds.SECURITY_GROUP, sg["id"]))

    def test_what_is_rolled_back_is_not_sent(self):
        driver = self.driver.mechanism_manager.mech_drivers["catena"].obj
        record = type(driver).create_network_precommit

        def fail(context):
            record(driver, context)
            raise ValueError("the transaction fails")

        with mock.patch.object(driver, "create_network_precommit", fail):
            res = self._create_network(self.fmt, "n", True)
        self.assertEqual(500, res.status_int)
        self.assertNotIn(kinds.NETWORK, [kind for kind, _ in self.rows()])

    def test_controller_is_down(self):
        self.controller.down = True
        with self.network() as n:
            for _ in range(3):
                self.assertRaises(grpc.RpcError, push.push, self.admin, self.controller)
            self.controller.down = False
            self.send()
            self.assertIn((kinds.NETWORK, n["network"]["id"]), self.controller.objects)

    def test_a_senseless_object_holds_up_nothing(self):
        with self.network() as bad, self.network() as good:
            self.controller.senseless = {bad["network"]["id"]}
            while push.push(self.admin, self.controller):
                pass
            self.assertIn((kinds.NETWORK, good["network"]["id"]), self.controller.objects)
            self.assertEqual([], self.rows())

    def test_repair(self):
        with self.network() as a, self.network() as b:
            self.send()
            a, b = (kinds.NETWORK, a["network"]["id"]), (kinds.NETWORK, b["network"]["id"])
            self.assertEqual(0, repair.compare(self.admin, self.controller))
            stranger = (kinds.PORT, "0" * 8)
            self.controller.objects[stranger] = pb.MirrorChange(ref=pb.MirrorRef(kind=kinds.PORT, id=stranger[1]))
            del self.controller.objects[a]
            self.controller.objects[b].ref.revision += 7  # Neutron's database is from a backup
            self.assertEqual(3, repair.compare(self.admin, self.controller))
            self.send()

    def test_digest_is_the_controllers(self):
        # The same as in internal/mirror/mirror_test.go.
        self.assertEqual("401108a06daaf68c8e9388e06962533b557c4eeaa83c2e75b37c31d65069af22",
                         repair.digest([(1, "0a", 3), (4, "0b", 12)]).hex())


class PortTest(Bed):
    def report(self, complete, up=(), down=(), host=HOST):
        ports.apply(self.admin, pb.NodesReport(
            complete=complete, nodes=[pb.NodePorts(host=host, up=up, down=down)]))

    def test_a_port_is_active_when_its_tap_is_there(self):
        self.report(True)
        with self.subnet() as s, self.server_port(s) as p:
            p = p["port"]
            self.assertEqual(portbindings.VIF_TYPE_BRIDGE, p[portbindings.VIF_TYPE])
            self.assertEqual(constants.PORT_STATUS_DOWN, p["status"])
            self.report(False, up=[p["id"], "of nobody"])
            self.assertEqual(constants.PORT_STATUS_ACTIVE, self.status(p["id"]))
            self.report(False, down=[p["id"], "of nobody"])
            self.assertEqual(constants.PORT_STATUS_DOWN, self.status(p["id"]))
            # What was missed is in the next complete report.
            self.report(True, up=[p["id"]])
            self.assertEqual(constants.PORT_STATUS_ACTIVE, self.status(p["id"]))
            self.report(True)
            self.assertEqual(constants.PORT_STATUS_DOWN, self.status(p["id"]))

    def test_another_hosts_report_changes_nothing(self):
        self.report(True)
        self.report(True, host="node2")
        with self.subnet() as s, self.server_port(s) as p:
            self.report(False, up=[p["port"]["id"]])
            self.report(False, down=[p["port"]["id"]], host="node2")
            self.report(True, host="node2")
            self.assertEqual(constants.PORT_STATUS_ACTIVE, self.status(p["port"]["id"]))

    def test_no_agent_no_binding(self):
        with self.subnet() as s, self.server_port(s) as p:
            self.assertEqual(portbindings.VIF_TYPE_BINDING_FAILED, p["port"][portbindings.VIF_TYPE])

    def test_an_agent_that_is_away_for_a_while(self):
        self.report(True)
        now = timeutils.utcnow()
        for seconds, vif in ((300, portbindings.VIF_TYPE_BRIDGE), (3600, portbindings.VIF_TYPE_BINDING_FAILED)):
            timeutils.set_time_override(now)
            timeutils.advance_time_seconds(seconds)
            self.addCleanup(timeutils.clear_time_override)
            with self.subnet(cidr=f"10.{seconds // 100}.0.0/24") as s, self.server_port(s) as p:
                self.assertEqual(vif, p["port"][portbindings.VIF_TYPE], f"after {seconds} s")

    def test_fake_host(self):
        agents.report(self.plugin, self.admin, HOST, taps=False)
        with self.subnet() as s, self.server_port(s) as p:
            self.assertEqual(portbindings.VIF_TYPE_BRIDGE, p["port"][portbindings.VIF_TYPE])
            self.assertEqual(constants.PORT_STATUS_ACTIVE, self.status(p["port"]["id"]))


class RouterTest(Bed):
    def test_what_the_switch_cannot_do_is_refused(self):
        gateway = {"external_gateway_info": {"network_id": "x"}}
        self.assertRaises(exceptions.BadRequest, self.a_router, **gateway)
        r = self.a_router()
        self.assertRaises(exceptions.BadRequest, self.l3().update_router, self.admin, r["id"], {"router": gateway})
        self.assertRaises(exceptions.BadRequest, self.l3().create_floatingip, self.admin, {"floatingip": {}})

    def test_dvr_and_ha_are_not_claimed(self):
        self.assertEqual(["router"], self.l3().supported_extension_aliases)
