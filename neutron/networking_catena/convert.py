"""From Neutron's dictionaries, as its plugins return them, to the API's messages."""

from networking_catena import kinds
from networking_catena.api import mirror_pb2 as pb


def network(n):
    return pb.MirroredNetwork(
        project=n["project_id"], name=n["name"], admin_state_up=n["admin_state_up"],
        mtu=n.get("mtu") or 0, dns_domain=n.get("dns_domain") or "")


def _routes(routes):
    return [pb.MirroredRoute(destination=r["destination"], nexthop=r["nexthop"]) for r in routes or []]


def subnet(s):
    return pb.MirroredSubnet(
        project=s["project_id"], name=s["name"], network_id=s["network_id"], cidr=s["cidr"],
        gateway_ip=s["gateway_ip"] or "", enable_dhcp=s["enable_dhcp"], dns_nameservers=s["dns_nameservers"],
        host_routes=_routes(s["host_routes"]))


def router(r):
    return pb.MirroredRouter(
        project=r["project_id"], name=r["name"], admin_state_up=r["admin_state_up"], routes=_routes(r.get("routes")))


def port(p):
    return pb.MirroredPort(
        project=p["project_id"], name=p["name"], network_id=p["network_id"], mac=p["mac_address"],
        admin_state_up=p["admin_state_up"],
        fixed_ips=[pb.MirroredAddress(subnet_id=a["subnet_id"], ip=a["ip_address"]) for a in p["fixed_ips"]],
        device_id=p["device_id"], device_owner=p["device_owner"], host=p.get("binding:host_id") or "",
        port_security_enabled=p.get("port_security_enabled", True), security_groups=p.get("security_groups") or [],
        allowed_address_pairs=[
            # Neutron fills in the port's own address where none was given.
            pb.MirroredAddressPair(ip=a["ip_address"], mac=a.get("mac_address") or "")
            for a in p.get("allowed_address_pairs") or []],
        dns_name=p.get("dns_name") or "")


def security_group(g, address_groups):
    """address_groups: {id: [prefix]} of those that the rules name."""
    return pb.MirroredSecurityGroup(
        project=g["project_id"], name=g["name"], stateful=g.get("stateful", True),
        rules=[_rule(r, address_groups) for r in g["security_group_rules"] if not _empty(r, address_groups)])


def _empty(r, address_groups):
    """A rule for an address group without addresses lets nothing through."""
    group = r.get("remote_address_group_id")
    return bool(group) and not address_groups.get(group)


def _rule(r, address_groups):
    out = pb.MirroredSecurityRule(
        id=r["id"], direction=r["direction"], ethertype=r["ethertype"], protocol=str(r["protocol"] or ""),
        remote_group_id=r["remote_group_id"] or "")
    if r["port_range_min"] is not None:
        out.port_range_min = r["port_range_min"]
    if r["port_range_max"] is not None:
        out.port_range_max = r["port_range_max"]
    if r.get("remote_address_group_id"):
        out.remote_ip_prefixes.extend(address_groups[r["remote_address_group_id"]])
    elif r["remote_ip_prefix"]:
        out.remote_ip_prefixes.append(str(r["remote_ip_prefix"]))
    return out


def change(kind, object_id, obj, repair, address_groups=None):
    """The API's change. obj: Neutron's dictionary of the object; None: it is gone."""
    out = pb.MirrorChange(ref=pb.MirrorRef(kind=kind, id=object_id), repair=repair)
    if obj is None:
        return out
    out.ref.revision = obj["revision_number"]
    if kind == kinds.NETWORK:
        out.network.CopyFrom(network(obj))
    elif kind == kinds.SUBNET:
        out.subnet.CopyFrom(subnet(obj))
    elif kind == kinds.ROUTER:
        out.router.CopyFrom(router(obj))
    elif kind == kinds.PORT:
        out.port.CopyFrom(port(obj))
    else:
        out.security_group.CopyFrom(security_group(obj, address_groups or {}))
    return out
