"""Compares all revisions with the controller's, and has the journal send what differs."""

import hashlib

from neutron.db import models_v2
from neutron.db.models import l3, securitygroup
from neutron_lib.db import api as db_api
from neutron_lib.db import standard_attr
from oslo_log import log

from networking_catena import journal, kinds
from networking_catena.api import mirror_pb2 as pb

LOG = log.getLogger(__name__)

_MODELS = {
    kinds.NETWORK: models_v2.Network,
    kinds.SUBNET: models_v2.Subnet,
    kinds.ROUTER: l3.Router,
    kinds.PORT: models_v2.Port,
    kinds.SECURITY_GROUP: securitygroup.SecurityGroup,
}

TIMEOUT = 30  # seconds for one call


def revisions(session):
    """[(kind, id, revision)] of all objects, sorted."""
    out = []
    for kind, model in _MODELS.items():
        query = session.query(model.id, standard_attr.StandardAttribute.revision_number).join(
            standard_attr.StandardAttribute, model.standard_attr_id == standard_attr.StandardAttribute.id)
        out.extend((kind, object_id, revision) for object_id, revision in query)
    return sorted(out)


def digest(refs):
    """What the API calls the digest of sorted (kind, id, revision)."""
    h = hashlib.sha256()
    for kind, object_id, revision in refs:
        h.update(f"{kind} {object_id} {revision}\n".encode())
    return h.digest()


def compare(context, stub):
    """Journal what the mirror has differently; how many objects that are.

    grpc.RpcError: the controller does not answer.
    """
    with db_api.CONTEXT_READER.using(context):
        refs = revisions(context.session)
    if stub.Compare(pb.CompareRequest(digest=digest(refs)), timeout=TIMEOUT).equal:
        return 0
    all_refs = [pb.MirrorRef(kind=k, id=i, revision=r) for k, i, r in refs]
    answer = stub.Compare(pb.CompareRequest(digest=digest(refs), refs=all_refs), timeout=TIMEOUT)
    if answer.differing:
        LOG.info("%d objects differ at the controller; they are sent again", len(answer.differing))
        with db_api.CONTEXT_WRITER.using(context):
            for ref in answer.differing:
                journal.record(context.session, ref.kind, ref.id, repair=True)
    return len(answer.differing)
