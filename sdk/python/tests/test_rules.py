from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.message import DecodeError

import vectors
from transcriptd import identity, v1
from transcriptd.rules import FieldError, check_node

REFUSED = vectors.load("refused.json")


@pytest.mark.parametrize("case", **vectors.named([c for c in REFUSED if "stored_hex" not in c]))
def test_refused(case: dict[str, Any]) -> None:
    try:
        messages, metadata = vectors.expand(case), vectors.metadata(case)
        if "wire_hex" in case:
            messages = list(v1.Payload.FromString(bytes.fromhex(case["wire_hex"])).messages)
        if "metadata_wire_hex" in case:
            metadata = list(v1.Metadata.FromString(bytes.fromhex(case["metadata_wire_hex"])).entries)
    except DecodeError:
        assert case["kind"] == "malformed"
        return
    spawned = json_format.ParseDict(case["spawned_from"], v1.SpawnedFromRef()) if "spawned_from" in case else None
    with pytest.raises(FieldError) as refused:
        check_node(messages, metadata, bytes.fromhex(case.get("salt", "")), spawned)
    assert (refused.value.field, refused.value.kind) == (case["field"], case["kind"])


@pytest.mark.parametrize("case", **vectors.named([c for c in REFUSED if "stored_hex" in c]))
def test_stored_bytes_that_are_not_canonical(case: dict[str, Any]) -> None:
    stored = bytes.fromhex(case["stored_hex"])
    try:
        messages = v1.Payload.FromString(stored).messages
    except DecodeError:
        return
    assert identity.encode_messages(messages) != stored


@pytest.mark.parametrize("vector", **vectors.named([v for v in vectors.load("vectors.json") if "stored" not in v]))
def test_vectors_are_accepted(vector: dict[str, Any]) -> None:
    salt = bytes.fromhex(vector.get("salt", ""))
    check_node(vectors.expand(vector), vectors.metadata(vector), salt)


def test_there_are_cases() -> None:
    assert len(REFUSED) > 170
