import hashlib
import pathlib
import unittest

from networking_catena import api, kinds
from networking_catena.api import mirror_pb2 as pb

PROTO = pathlib.Path(__file__).parents[2] / "api" / "catena" / "v1" / "mirror.proto"


class StubsTest(unittest.TestCase):
    def test_up_to_date(self):
        digest = hashlib.sha256(PROTO.read_bytes()).hexdigest()
        self.assertEqual(api.PROTO_SHA256, digest, "mirror.proto has changed; run neutron/generate")

    def test_kinds(self):
        for kind in kinds.ALL:
            self.assertEqual("MIRROR_KIND_" + kinds.NAMES[kind].upper(), pb.MirrorKind.Name(kind))
