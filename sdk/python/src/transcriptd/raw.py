"""Replies as they were received.

A reply with messages has them in field 1, as Payload does, so the records of that field as they were received, laid end to end, are a payload:
what is hashed. They are parted from the rest before anything is decoded.
"""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import DecodeError

from . import v1
from .errors import BadReplyError, TranscriptError

_MESSAGES = 1  # the number of `repeated Message messages` in Payload and in every reply


def split(reply: bytes) -> tuple[bytes, bytes]:
    """Parts a reply into the records of its messages, laid end to end, and those of everything else. BadReplyError."""
    payload: list[bytes] = []
    rest: list[bytes] = []
    begin, own = 0, True  # of a run of records of one kind
    for start, end, number in _records(reply):
        if (number == _MESSAGES) is not own:
            (payload if own else rest).append(reply[begin:start])
            begin, own = start, number == _MESSAGES
        last = end
    if reply:
        (payload if own else rest).append(reply[begin:last])
    return b"".join(payload), b"".join(rest)


def cut(payload: bytes, count: int) -> tuple[bytes, bytes]:
    """Parts a payload behind `count` messages. BadReplyError where it has fewer."""
    at = 0
    for _ in range(count):
        if at == len(payload):
            raise BadReplyError("fewer messages than its nodes say")
        at = _record(payload, at)[0]
    return payload[:at], payload[at:]


def each(payload: bytes) -> Iterator[bytes]:
    """The records of a payload. BadReplyError."""
    for start, end, _ in _records(payload):
        yield payload[start:end]


def body(record: bytes) -> bytes:
    """What a record that has a length has behind its tag and length; nothing for another."""
    tag, at = _varint(record, 0)
    if tag & 7 != 2:
        return b""
    length, at = _varint(record, at)
    return record[at : at + length]


def messages_of(payload: bytes) -> list[v1.Message]:
    """The messages of a payload. BadReplyError."""
    try:
        return list(v1.Payload.FromString(payload).messages)
    except DecodeError as error:
        raise _malformed(error) from error


def _records(b: bytes) -> Iterator[tuple[int, int, int]]:
    """Where each record begins and ends, and the number of its field."""
    at = 0
    while at < len(b):
        end, number = _record(b, at)
        yield at, end, number
        at = end


def _record(b: bytes, at: int) -> tuple[int, int]:
    """Where the record that begins at a place ends, and the number of its field."""
    tag, at = _varint(b, at)
    number, kind = tag >> 3, tag & 7
    if number == 0:
        raise _malformed("a field has number 0")
    if kind == 0:
        _, at = _varint(b, at)
    elif kind == 1:
        at += 8
    elif kind == 2:
        length, at = _varint(b, at)
        at += length
    elif kind == 5:
        at += 4
    else:
        raise _malformed("a field is of no kind that is known")
    if at > len(b):
        raise _malformed("a field is cut off")
    return at, number


def _varint(b: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(b) or shift > 63:
            raise _malformed("a number is cut off")
        byte = b[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _malformed(what: object) -> TranscriptError:
    return BadReplyError(f"the reply does not parse: {what}")
