#!/usr/bin/python3
"""Reads nodes.yaml for the shell.

nodes.py FILE                 names of the nodes, one a line
nodes.py FILE --role ROLE     of those that have the role
nodes.py FILE --here          of those that run servers on the control node's machine
nodes.py FILE --shell NAME    assignments: NODE, ADDRESS, ROLES, NETNS, UPLINK, CONTROL
                              (address of the control node), BRIDGE
"""
import argparse
import ipaddress
import shlex
import sys

import yaml

ROLES = {"control", "compute", "fake"}
KEYS = {"name", "address", "roles", "netns", "uplink"}


def read(path):
    """Nodes of the file by name, and the bridge; exits with a message if they make no sense."""
    with open(path, encoding="utf-8") as f:
        doc = yaml.safe_load(f)
    nodes = {}
    for n in doc["nodes"]:
        name = n.get("name", "?")
        if unknown := set(n) - KEYS:
            sys.exit(f"{path}: node {name}: unknown {sorted(unknown)}; there are {sorted(KEYS)}")
        if name in nodes:
            sys.exit(f"{path}: two nodes are called {name}")
        if not n.get("roles") or set(n["roles"]) - ROLES:
            sys.exit(f"{path}: node {name}: roles are some of {sorted(ROLES)}")
        try:
            ipaddress.IPv4Address(n.get("address"))
        except ValueError as e:
            sys.exit(f"{path}: node {name}: {e}")
        nodes[name] = n
    control = [n for n in nodes.values() if "control" in n["roles"]]
    if len(control) != 1 or control[0].get("netns"):
        sys.exit(f"{path}: exactly one node has the role control, and no netns")
    return nodes, control[0], doc.get("bridge", "cos-mgmt")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--role", choices=sorted(ROLES))
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--shell", metavar="NAME")
    args = parser.parse_args()
    nodes, control, bridge = read(args.file)
    if args.here:
        here = [name for name, n in nodes.items() if set(n["roles"]) & {"compute", "fake"} and
                (n["address"] == control["address"] or n.get("netns"))]
        print(*here, sep="\n")
        return
    if args.shell is None:
        print(*(name for name, n in nodes.items() if not args.role or args.role in n["roles"]), sep="\n")
        return
    node = nodes.get(args.shell)
    if node is None:
        sys.exit(f"{args.file}: there is no node {args.shell}; there are {', '.join(nodes)}")
    values = {"NODE": args.shell, "ADDRESS": node["address"], "ROLES": " ".join(node["roles"]),
              "NETNS": node.get("netns", ""), "UPLINK": node.get("uplink", ""),
              "CONTROL": control["address"], "BRIDGE": bridge}
    for key, value in values.items():
        print(f"{key}={shlex.quote(value)}")


if __name__ == "__main__":
    main()
