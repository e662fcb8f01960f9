"""Transcript messages into what a request of the Messages API has, without loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import v1
from .._convert.content import differences, format_content, literal_true, optional_string, typed
from .._convert.framework import Inner, without_opaque
from .._convert.report import Change, ConversionError, Report, index
from .._convert.taker import read_extras
from .._json import Value, array, merged, obj, plain, string, write
from ._blocks import format_block
from ._parse import MESSAGE, parse, parse_message

_ROLES = {
    v1.ROLE_USER: "user",
    v1.ROLE_TOOL: "user",
    v1.ROLE_ASSISTANT: "assistant",
    v1.ROLE_SYSTEM: "system",
    v1.ROLE_DEVELOPER: "system",
}

Placed = tuple[v1.Message, str]
"""A message and its path."""


def format(messages: Sequence[v1.Message]) -> tuple[dict[str, Any], Report]:
    """Writes messages as {"system": …, "messages": […]}: for what `parse` read, the same system and messages again and an empty report.

    What is a framework's own is not written: opaque messages, and the member "framework" of extras; the report has each (`left_out`). Other
    messages (put by another client, or by another provider's converter) are written as nearly as Anthropic's form can; the report then
    names each field that `parse` would not give back (`inexact`). ConversionError, with paths that begin `messages`: a message without a
    role, a part without a kind, extras that are no JSON object.
    """
    value, report = _format(messages)
    return plain(value), report


def format_text(messages: Sequence[v1.Message]) -> tuple[str, Report]:
    """`format` as JSON text, which has numbers as they were spelled."""
    value, report = _format(messages)
    return write(value), report


def format_message(messages: Sequence[v1.Message]) -> tuple[dict[str, Any], Report]:
    """Writes messages that are one at the provider, such as `parse_message` gives, as `format` does.

    ConversionError also where they are none or more than one there.
    """
    value, report = _format_one(messages)
    return plain(value), report


def format_message_text(messages: Sequence[v1.Message]) -> tuple[str, Report]:
    """`format_message` as JSON text, which has numbers as they were spelled."""
    value, report = _format_one(messages)
    return write(value), report


def _format(messages: Sequence[v1.Message]) -> tuple[Value, Report]:
    report: Report = []
    sent = without_opaque(messages, Inner(message=MESSAGE), report)
    first = sent[:1] if sent and _is_system(sent[0][0]) else []
    system = _content(*first[0]) if first else None
    written: list[Value] = []
    at = len(first)
    while at < len(sent):
        count = _one(sent[at:])
        written.append(_message(sent[at : at + count]))
        at += count
    request = obj({"system": system, "messages": array(written)})
    _compare(sent, request, parse, report)
    return request, report


def _format_one(messages: Sequence[v1.Message]) -> tuple[Value, Report]:
    report: Report = []
    sent = without_opaque(messages, Inner(message=MESSAGE), report)
    if not sent or _one(sent) != len(sent):
        raise ConversionError("messages", "is not one message of the provider")
    value = _message(sent)
    _compare(sent, value, parse_message, report)
    return value, report


def _compare(sent: Sequence[Placed], written: Value, read: Callable[[object], tuple[list[v1.Message], Report]], report: Report) -> None:
    """Tells what reading again what was written does not give back."""
    try:
        again, _ = read(write(written))
    except ConversionError:
        again = []
    if len(again) != len(sent):
        report.append(Change("messages", "inexact", count=len(sent)))
        return
    for (message, path), other in zip(sent, again, strict=True):
        differences(path, message, other, report)


def _is_system(message: v1.Message) -> bool:
    """Whether a first message is the member system, rather than one of the messages with that role."""
    return message.role == v1.ROLE_SYSTEM and not message.extras


def _one(messages: Sequence[Placed]) -> int:
    """How many of the messages, from the first on, are one at the provider."""
    count = 1
    role = role_name(messages[0][0])
    while count < len(messages) and messages[count][0].joined and role_name(messages[count][0]) == role:
        count += 1
    return count


def role_name(message: v1.Message) -> str:
    """The provider's role of a message; empty where it has none."""
    return _ROLES.get(message.role, "")


def _message(messages: Sequence[Placed]) -> Value:
    """The one message that these are at the provider."""
    first, path = messages[0]
    role = role_name(first)
    if not role:
        raise ConversionError(f"{path}.role", "is not a role")
    extras = read_extras(first.extras, f"{path}.extras")
    if first.role == v1.ROLE_TOOL and extras is not None:
        extras = extras.member(MESSAGE)
    single = len(messages) == 1 and first.role != v1.ROLE_TOOL
    content = _content(first, path) if single else array(_blocks(messages))
    return merged(obj({"role": string(role), "content": content}), extras)


def _content(message: v1.Message, path: str) -> Value | None:
    parts = [(part, index(f"{path}.parts", i)) for i, part in enumerate(message.parts)]
    return format_content(parts, message.content_form, format_block)


def _blocks(messages: Sequence[Placed]) -> list[Value]:
    """A block of each result, and the blocks of all else."""
    blocks: list[Value] = []
    for i, (message, path) in enumerate(messages):
        if message.role == v1.ROLE_TOOL:
            blocks.append(_result(message, path, i == 0))
        else:
            blocks.extend(format_block(part, index(f"{path}.parts", j)) for j, part in enumerate(message.parts))
    return blocks


def _result(message: v1.Message, path: str, first: bool) -> Value:
    """A tool_result block. The first of a message does not hold the message's other members."""
    extras = read_extras(message.extras, f"{path}.extras")
    members: dict[str, Value | None] = {
        "tool_use_id": optional_string(message, "tool_call_id"),
        "content": _content(message, path),
        "is_error": literal_true(message.is_error),
    }
    if first and extras is not None:
        extras = extras.without(MESSAGE)
    return merged(typed("tool_result", members), extras)
