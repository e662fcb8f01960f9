"""What a node's id is computed from: the canonical bytes of messages, metadata and envelopes, and their digests.

docs/design.md of transcriptd, "Identity", is the rule. A verifier hashes the bytes that it received, and encodes nothing again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from . import v1

_ID = re.compile(r"[0-9a-f]{64}", re.ASCII)


def encode_messages(messages: Iterable[v1.Message]) -> bytes:
    """The canonical bytes of a node's messages: what a Payload with them is encoded to."""
    return v1.Payload(messages=messages).SerializeToString(deterministic=True)


def encode_metadata(entries: Iterable[v1.MetadataEntry]) -> bytes:
    """The canonical bytes of metadata, whose order is that of the keys' UTF-8, however it is given. No entries are no bytes."""
    ordered = sorted(entries, key=lambda entry: entry.key.encode())
    return v1.Metadata(entries=ordered).SerializeToString(deterministic=True)


def payload_digest(payload: bytes, salt: bytes = b"") -> bytes:
    """The digest, 32 bytes, of the canonical bytes of messages under a salt of 0 or 16 to 32 bytes. ValueError for another salt."""
    return _salted(b"transcript.payload.v1", salt, payload)


def metadata_digest(entries: Iterable[v1.MetadataEntry], salt: bytes = b"") -> bytes:
    """The digest, 32 bytes, of metadata under the salt of its node. ValueError for another salt than one of 0 or 16 to 32 bytes."""
    return _salted(b"transcript.metadata.v1", salt, encode_metadata(entries))


def _salted(domain: bytes, salt: bytes, content: bytes) -> bytes:
    if salt and not 16 <= len(salt) <= 32:
        raise ValueError(f"salt must have 16 to 32 bytes, or none: it has {len(salt)}")
    return hashlib.sha256(domain + b"\0" + bytes([len(salt)]) + salt + content).digest()


def node_id(envelope: v1.NodeEnvelope) -> str:
    """The id, 64 lower-case hex digits, of the node that has an envelope."""
    return hashlib.sha256(b"transcript.node.v1\0" + envelope.SerializeToString(deterministic=True)).hexdigest()


def id_bytes(node_id: str) -> bytes:
    """The 32 bytes of an id. ValueError where it is not 64 lower-case hex digits."""
    if not _ID.fullmatch(node_id):
        raise ValueError("an id must be 64 lower-case hex digits")
    return bytes.fromhex(node_id)
