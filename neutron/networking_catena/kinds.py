"""The kinds of mirrored objects. The values are those of MirrorKind in the API."""

NETWORK = 1
SUBNET = 2
ROUTER = 3
PORT = 4
SECURITY_GROUP = 5

ALL = (NETWORK, SUBNET, ROUTER, PORT, SECURITY_GROUP)
NAMES = {NETWORK: "network", SUBNET: "subnet", ROUTER: "router", PORT: "port", SECURITY_GROUP: "security_group"}
