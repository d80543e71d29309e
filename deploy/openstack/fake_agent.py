#!/usr/bin/python3
"""Reports an Open vSwitch agent for a host of nova's fake driver, so that neutron binds its servers' ports.

fake_agent.py HOST --config-file neutron.conf

There are no taps on such a host and nothing is forwarded: the ports are bound and stay DOWN.
"""
import sys
import time

from neutron.agent import rpc
from neutron.common import config
from neutron.conf.agent import common as agent_config
from neutron_lib import constants, context
from neutron_lib.agent import topics
from oslo_config import cfg

PERIOD = 20  # seconds; neutron takes an agent for dead after 75


def main():
    host, *args = sys.argv[1:]
    config.register_common_config_options()
    agent_config.register_agent_state_opts_helper(cfg.CONF)
    config.init(args)
    config.setup_logging()
    reporter = rpc.PluginReportStateAPI(topics.REPORTS)
    state = {
        "binary": "neutron-openvswitch-agent", "host": host, "topic": constants.L2_AGENT_TOPIC,
        "agent_type": constants.AGENT_TYPE_OVS, "start_flag": True,
        "configurations": {"bridge_mappings": {"external": "br-ex"}, "tunnel_types": [], "datapath_type": "netdev",
                           "ovs_hybrid_plug": False, "integration_bridge": "br-int"},
    }
    admin = context.get_admin_context_without_session()
    while True:
        reporter.report_state(admin, state)
        state.pop("start_flag", None)
        time.sleep(PERIOD)


if __name__ == "__main__":
    main()
