"""A finsy client: sets the pipeline, writes, reads, sends a packet and wipes all."""

import asyncio
import sys
from pathlib import Path

import finsy as fy


async def main(address: str, program: Path) -> None:
    options = fy.SwitchOptions(p4info=program, p4blob=program)
    async with fy.Switch("sw", address, options) as sw:
        assert sw.is_primary

        def entry() -> fy.P4TableEntry:
            return fy.P4TableEntry(
                "fwd",
                match=fy.Match(dst="00:00:00:00:00:01"),
                action=fy.Action("set", port=3, mac="00:00:00:00:00:02"),
                metadata=b"mine",
            )

        await sw.write([+entry()])
        got = [e async for e in sw.read(fy.P4TableEntry("fwd"))]
        assert len(got) == 1 and got[0].metadata == b"mine", got
        assert got[0].match["dst"] == 1 and got[0].action.args == {"port": 3, "mac": 2}, got

        acl = fy.P4TableEntry(
            "acl",
            match=fy.Match(src="0x0a000000/&0xff000000", dst="10.0.0.0/8", port="80...90", proto=6),
            action=fy.Action("drop"),
            priority=7,
        )
        await sw.write([+acl])
        (back,) = [e async for e in sw.read(fy.P4TableEntry("acl"))]
        assert back.priority == 7 and len(back.match) == 4, back

        group = fy.P4MulticastGroupEntry(5, replicas=[1, 2])
        session = fy.P4CloneSessionEntry(9, replicas=[3])
        await sw.write([+group, +session])
        (back,) = [e async for e in sw.read(fy.P4MulticastGroupEntry())]
        assert back.multicast_group_id == 5 and len(back.replicas) == 2, back

        await sw.write([~fy.P4CounterEntry("cnt", index=2, data=fy.P4CounterData(byte_count=9, packet_count=1))])
        (cell,) = [e async for e in sw.read(fy.P4CounterEntry("cnt", index=2))]
        assert cell.packet_count == 1 and cell.byte_count == 9, cell

        try:
            await sw.write([+entry()])
            raise AssertionError("inserted twice")
        except fy.P4ClientError as error:
            assert error.details[0].canonical_code == fy.GRPCStatusCode.ALREADY_EXISTS, error

        # Packet-out. What comes back is a packet-in.
        await sw.write([fy.P4PacketOut(b"\x00" * 20, egress_port=257, pad=0)])
        async with asyncio.timeout(5):
            async for packet in sw.read_packets():
                assert packet["ingress_port"] == 257 and len(packet.payload) == 20, packet
                break

        # delete_all leaves groups and sessions alone when there are constant tables.
        await sw.delete([fy.P4MulticastGroupEntry(5), fy.P4CloneSessionEntry(9)])
        await sw.delete_all()
        left = [e async for e in sw.read([fy.P4TableEntry("fwd"), fy.P4TableEntry("acl"), fy.P4MulticastGroupEntry()])]
        assert not left, left


asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
print("OK")
