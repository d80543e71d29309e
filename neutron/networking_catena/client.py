"""The connection to the controller."""

import grpc
from oslo_log import log

from networking_catena.api import mirror_pb2_grpc

LOG = log.getLogger(__name__)

# The largest request holds 1000 objects, or the revisions of all; the controller takes 8 MB.
_OPTIONS = [
    ("grpc.max_send_message_length", 8 << 20),
    ("grpc.max_receive_message_length", 64 << 20),
    # A controller that is back is to be noticed soon.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.keepalive_time_ms", 20000),
    ("grpc.keepalive_timeout_ms", 5000),
]


def _read(path):
    with open(path, "rb") as f:
        return f.read()


class _Token(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Sends the token with every call; the file is read each time, so that it can be replaced."""

    def __init__(self, path):
        self._path = path

    def _with_token(self, details):
        words = _read(self._path).decode().split()
        metadata = list(details.metadata or [])
        if words:
            metadata.append(("authorization", "Bearer " + words[0]))
        return _Details(details.method, details.timeout, metadata, details.credentials,
                        details.wait_for_ready, details.compression)

    def intercept_unary_unary(self, continuation, details, request):
        return continuation(self._with_token(details), request)

    def intercept_unary_stream(self, continuation, details, request):
        return continuation(self._with_token(details), request)


class _Details(grpc.ClientCallDetails):
    def __init__(self, method, timeout, metadata, credentials, wait_for_ready, compression):
        self.method = method
        self.timeout = timeout
        self.metadata = metadata
        self.credentials = credentials
        self.wait_for_ready = wait_for_ready
        self.compression = compression


def connect(conf):
    """A channel to the controller of the options `conf` ([catena]); nothing is sent yet."""
    if conf.ca_file:
        credentials = grpc.ssl_channel_credentials(
            _read(conf.ca_file),
            _read(conf.key_file) if conf.key_file else None,
            _read(conf.cert_file) if conf.cert_file else None)
        channel = grpc.secure_channel(conf.controller, credentials, _OPTIONS)
    else:
        channel = grpc.insecure_channel(conf.controller, _OPTIONS)
    if conf.token_file:
        channel = grpc.intercept_channel(channel, _Token(conf.token_file))
    return channel


def stub(channel):
    return mirror_pb2_grpc.MirrorStub(channel)
