"""Catena's agents as Neutron knows them: rows of its table of agents."""

TYPE = "Catena agent"


def report(plugin, context, host, taps=True):
    """Tell Neutron that the agent of a host is alive.

    taps: False for a host of nova's fake driver, whose ports need no tap to be ACTIVE.
    """
    plugin.create_or_update_agent(context, {
        "agent_type": TYPE, "binary": "catena", "host": host, "topic": "N/A", "configurations": {"taps": taps},
    })
