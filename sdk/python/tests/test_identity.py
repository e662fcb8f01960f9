import hashlib
from typing import Any

import pytest

import vectors
from transcriptd import identity, v1

VECTORS = vectors.load("vectors.json")


def envelope(vector: dict[str, Any], payload: bytes, salt: bytes) -> v1.NodeEnvelope:
    entries = vectors.metadata(vector)
    made = v1.NodeEnvelope(
        payload_digest=identity.payload_digest(payload, salt),
        parent=bytes.fromhex(vector.get("parent", "")),
        covers_through=bytes.fromhex(vector.get("covers_through", "")),
        metadata_digest=identity.metadata_digest(entries, salt) if entries else b"",
    )
    if "spawned_from" in vector:
        spawned = vector["spawned_from"]
        made.spawned_from.node = bytes.fromhex(spawned["node"])
        if "tool_call_id" in spawned:
            made.spawned_from.tool_call_id = spawned["tool_call_id"]
    return made


@pytest.mark.parametrize("vector", **vectors.named(VECTORS))
def test_vectors(vector: dict[str, Any]) -> None:
    salt = bytes.fromhex(vector.get("salt", ""))
    payload = identity.encode_messages(vectors.expand(vector))
    made = envelope(vector, payload, salt)
    have = {
        "payload_hex": payload.hex(),
        "payload_length": len(payload),
        "payload_sha256": hashlib.sha256(payload).hexdigest(),
        "payload_digest": made.payload_digest.hex(),
        "metadata_hex": identity.encode_metadata(vectors.metadata(vector)).hex(),
        "metadata_digest": made.metadata_digest.hex(),
        "envelope_hex": made.SerializeToString(deterministic=True).hex(),
        "node_id": identity.node_id(made),
    }
    want = {name: vector[name] for name in have if name in vector}
    assert "node_id" in want
    assert {name: have[name] for name in want} == want
    for member in ("payload_hex", "wire_hex"):
        if member in vector:
            read = v1.Payload.FromString(bytes.fromhex(vector[member])).messages
            assert identity.encode_messages(read) == payload


def test_there_are_vectors() -> None:
    assert len(VECTORS) > 90


@pytest.mark.parametrize("salt", [b"x", b"x" * 15, b"x" * 33, b"x" * 256])
def test_a_salt_of_another_length_is_refused(salt: bytes) -> None:
    with pytest.raises(ValueError, match="salt must have 16 to 32 bytes"):
        identity.payload_digest(b"", salt)


@pytest.mark.parametrize("digits", ["", "ab", "A" * 64, "g" * 64, "0" * 65, "0" * 64 + "\n"])
def test_an_id_of_another_form_is_refused(digits: str) -> None:
    with pytest.raises(ValueError, match="64 lower-case hex digits"):
        identity.id_bytes(digits)
    assert identity.id_bytes("0f" * 32) == b"\x0f" * 32
