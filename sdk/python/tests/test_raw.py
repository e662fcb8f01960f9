"""Replies are parted by their records, whatever their order and kind."""

from __future__ import annotations

import random

import pytest

import transcriptd
from transcriptd import raw, v1


def record(number: int, kind: int, body: bytes) -> bytes:
    return varint(number << 3 | kind) + body


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


@pytest.mark.parametrize("seed", range(50))
def test_messages_are_parted_from_the_rest(seed: int) -> None:
    draw = random.Random(seed)
    own, rest, reply = b"", b"", b""
    for _ in range(draw.randrange(12)):
        length = draw.choice((0, 1, 127, 128, 20_000))
        kind = draw.choice((0, 1, 2, 2, 5))
        body = {0: varint(draw.getrandbits(64)), 1: bytes(8), 2: varint(length) + bytes(length), 5: bytes(4)}[kind]
        number = draw.choice((1, 1, 2, 15, 16, 2**29 - 1))
        one = record(number, kind, body)
        reply += one
        own, rest = (own + one, rest) if number == 1 else (own, rest + one)
    assert raw.split(reply) == (own, rest)
    assert b"".join(raw.each(reply)) == reply
    for at in range(1, len(reply), max(1, len(reply) // 20)):
        head = reply[:at]
        try:
            parted = raw.split(head)
        except transcriptd.BadReplyError:
            continue
        assert len(parted[0]) + len(parted[1]) == at


@pytest.mark.parametrize(
    "bad", [b"\x0a", b"\x0a\x05ab", b"\x08\x80", b"\x09\x00", b"\x0d\x00", b"\x0b", b"\x0f", b"\x02\x00", b"\x80" * 11]
)
def test_what_is_cut_off_is_no_reply(bad: bytes) -> None:
    with pytest.raises(transcriptd.BadReplyError):
        raw.split(bad)


def test_messages_are_cut_by_their_number() -> None:
    messages = [transcriptd.user(str(i)) for i in range(3)]
    payload = v1.Payload(messages=messages).SerializeToString()
    head, tail = raw.cut(payload, 2)
    assert raw.messages_of(head) == messages[:2]
    assert raw.messages_of(tail) == messages[2:]
    with pytest.raises(transcriptd.BadReplyError, match="fewer messages"):
        raw.cut(payload, 4)
    assert raw.body(tail) == messages[2].SerializeToString()
    with pytest.raises(transcriptd.BadReplyError):
        raw.messages_of(b"\x0a\x02\xff\xff")
