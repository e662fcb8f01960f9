"""A reader of archives by docs/archive.md alone: a bundle that transcriptctl wrote is what the page says."""

import hashlib
import io
import json
import struct
from collections.abc import Iterator

import pytest
import zstandard

from daemon import TESTDATA
from transcriptd import identity, v1

BUNDLE = (TESTDATA / "trip.bundle").read_bytes()
SKIPPABLE = 0x184D2A57


class Damaged(Exception):
    pass


def skippable(file: io.BytesIO) -> bytes:
    head = file.read(8)
    magic, length = struct.unpack("<II", head) if len(head) == 8 else (0, 0)
    content = file.read(length)
    if magic != SKIPPABLE or len(content) != length:
        raise Damaged
    return head + content


def records(data: bytes) -> Iterator[v1.ArchiveRecord]:
    """The records of an archive, each block proved before."""
    file = io.BytesIO(data)
    magic = skippable(file)
    if magic[8:] != b"transcriptd archive 1\n":
        raise Damaged
    digest, ended = hashlib.sha256(magic).digest(), False
    while file.tell() < len(data):
        if ended:
            raise Damaged
        (length,) = struct.unpack("<I", (block := skippable(file)[8:])[:4])
        frame = file.read(length)
        if hashlib.sha256(digest + frame).digest() != block[4:]:
            raise Damaged
        before, digest = digest, block[4:]
        content = zstandard.ZstdDecompressor().decompress(frame, max_output_size=17 << 20)
        at = 0
        while at < len(content):
            size, shift = 0, 0
            while True:
                byte = content[at]
                at, size, shift = at + 1, size | (byte & 0x7F) << shift, shift + 7
                if byte < 0x80:
                    break
            record = v1.ArchiveRecord.FromString(content[at : at + size])
            at += size
            yield record
            if record.WhichOneof("record") == "end":
                if record.end.digest != before or at != len(content):
                    raise Damaged
                ended = True
    if not ended:
        raise Damaged


def test_bundle() -> None:
    want = json.loads((TESTDATA / "trip.bundle.json").read_text())
    ids: list[str] = []
    aliases: list[dict[str, str]] = []
    messages = 0
    for record in records(BUNDLE):
        kind = record.WhichOneof("record")
        if kind == "header":
            assert [head.hex() for head in record.header.heads] == want["bundle"]["heads"]
        elif kind == "node":
            node = record.node
            envelope = v1.NodeEnvelope.FromString(node.envelope)
            assert identity.payload_digest(node.payload, node.salt) == envelope.payload_digest
            metadata = v1.Metadata.FromString(node.metadata).entries
            assert (identity.metadata_digest(metadata, node.salt) if metadata else b"") == envelope.metadata_digest
            for above in (envelope.parent, envelope.covers_through):
                assert not above or above.hex() in ids
            count = len(v1.Payload.FromString(node.payload).messages)
            assert len(node.copies.copied_from) == (count if envelope.covers_through else 0)
            messages += count
            ids.append(identity.node_id(envelope))
        elif kind == "alias":
            aliases.append({"name": record.alias.name, "nodeId": record.alias.states[-1].node.hex()})
        elif kind == "end":
            assert (record.end.nodes, record.end.messages, record.end.aliases) == (len(ids), messages, len(aliases))
    assert ids == want["nodeIds"]
    assert aliases == want["bundle"]["aliases"]


@pytest.mark.parametrize("at", range(0, len(BUNDLE), 37))
def test_damage(at: int) -> None:
    for data in (BUNDLE[:at], BUNDLE[:at] + bytes([BUNDLE[at] ^ 1]) + BUNDLE[at + 1 :]):
        with pytest.raises(Damaged):
            for _ in records(data):
                pass
