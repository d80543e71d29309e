"""Options, in section [catena] of neutron.conf or ml2_conf.ini."""

from oslo_config import cfg

OPTS = [
    cfg.StrOpt("controller", default="127.0.0.1:7650",
               help="gRPC address of Catena's controller: HOST:PORT or unix:///PATH."),
    cfg.StrOpt("token_file",
               help="File whose first word is a token of the controller for an administrator. Not needed with unix://."),
    cfg.StrOpt("ca_file",
               help="Certificates of the authorities that may sign the controller's; the connection uses TLS then."),
    cfg.StrOpt("cert_file", help="Certificate of this client, where the controller asks for one."),
    cfg.StrOpt("key_file", help="Key of cert_file."),
    cfg.FloatOpt("poll_interval", default=0.2, min=0.01,
                 help="Seconds between two looks at the journal."),
    cfg.IntOpt("sync_interval", default=60, min=1,
               help="Seconds between two comparisons of all revisions with the controller's."),
    cfg.IntOpt("agent_grace", default=600, min=0,
               help="Seconds for which ports are still bound to a host whose agent has stopped reporting: "
                    "the agent attaches them when it is back."),
    cfg.ListOpt("fake_hosts", default=[],
                help="Hosts of nova's fake driver. Their ports are ACTIVE at once, since no tap will ever come."),
]


def register(conf=cfg.CONF):
    """Make the options known; may be called again."""
    conf.register_opts(OPTS, group="catena")


def list_opts():
    """The options for oslo-config-generator."""
    return [("catena", OPTS)]
