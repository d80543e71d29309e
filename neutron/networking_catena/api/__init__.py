"""Stubs of api/catena/v1/mirror.proto, written by neutron/generate."""

# Of the .proto file that the stubs were made from.
PROTO_SHA256 = "21633784d0bff0e4ece1768fde3530c2fde46321ece03e4d6cbd8b110354215d"
