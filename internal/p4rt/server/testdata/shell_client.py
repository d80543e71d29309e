"""A p4runtime-shell client: sets the pipeline, writes, reads and sends a packet."""

import sys

import p4runtime_sh.shell as sh
from p4runtime_sh.context import P4RuntimeEntity  # noqa: F401

sh.setup(
    device_id=1,
    grpc_addr=sys.argv[1],
    election_id=(0, 1),
    config=sh.FwdPipeConfig(sys.argv[2], sys.argv[2]),
    verbose=False,
)
te = sh.TableEntry("fwd")(action="In.set")
te.match["dst"] = "00:00:00:00:00:01"
te.action["port"] = "3"
te.action["mac"] = "00:00:00:00:00:02"
te.insert()
got = list(sh.TableEntry("fwd").read())
assert len(got) == 1, got

acl = sh.TableEntry("acl")(action="drop")
acl.match["src"] = "10.0.0.0 &&& 255.0.0.0"
acl.match["dst"] = "10.0.0.0/8"
acl.match["port"] = "80..90"
acl.priority = 7
acl.insert()
(back,) = list(sh.TableEntry("acl").read())
assert back.priority == 7, back

default = sh.TableEntry("fwd")(action="drop", is_default=True)
default.modify()

member = sh.ActionProfileMember("sel")(member_id=1, action="drop")
member.insert()
group = sh.ActionProfileGroup("sel")(group_id=1)
group.add(1)
group.insert()

counter = sh.CounterEntry("cnt")
counter.index = 2
counter.packet_count = 5
counter.modify()
(cell,) = list(counter.read())
assert cell.packet_count == 5, cell

mc = sh.MulticastGroupEntry(5)
mc.add(1, 1).add(2, 1)
mc.insert()
clone = sh.CloneSessionEntry(9)
clone.add(3, 1)
clone.insert()

out = sh.PacketOut(b"\x00" * 20, egress_port="257")
out.metadata["pad"] = "0"
packets = sh.PacketIn()
out.send()
for packet in packets.sniff(timeout=5):
    assert len(packet.packet.payload) == 20, packet
    break
else:
    raise AssertionError("no packet-in")

te.delete()
assert not list(sh.TableEntry("fwd").read())
sh.teardown()
print("OK")
