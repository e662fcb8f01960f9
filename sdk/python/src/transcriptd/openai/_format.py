"""Transcript messages into chat-completions messages, without loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import v1
from .._convert.content import differences, format_content, literal_true, optional_string
from .._convert.framework import Inner, for_provider, without_opaque
from .._convert.media import encode_base64
from .._convert.report import Change, ConversionError, Report, index
from .._convert.taker import read_extras
from .._json import Value, array, merged, obj, plain, string, write
from ..messages import is_opaque
from ._calls import FUNCTION_CALL, format_call
from ._parse import OPAQUE, ROLES, parse_message
from ._parts import format_part

_NAMES = {role: name for name, role in ROLES.items()}


def format(messages: Sequence[v1.Message]) -> tuple[list[dict[str, Any]], Report]:
    """Writes messages as chat-completions messages: for what `parse` read, the same JSON again and an empty report.

    What is a framework's own is not written: opaque messages, and the member "framework" of extras; the report has each (`left_out`). Other
    messages (put by another client, or by another provider's converter) are written as nearly as OpenAI's form can; the report then names
    each field that `parse` would not give back (`inexact`). ConversionError, with paths that begin `messages`: a message without a role, a
    part without a kind, extras that are no JSON object.
    """
    value, report = _format(messages)
    return plain(value), report


def format_text(messages: Sequence[v1.Message]) -> tuple[str, Report]:
    """`format` as JSON text, which has numbers as they were spelled."""
    value, report = _format(messages)
    return write(value), report


def format_message(message: v1.Message) -> tuple[dict[str, Any], Report]:
    """Writes one message, as `format` does. Paths begin `message`. ConversionError also for an opaque one, which no provider has."""
    value, report = _format_one(message)
    return plain(value), report


def format_message_text(message: v1.Message) -> tuple[str, Report]:
    """`format_message` as JSON text, which has numbers as they were spelled."""
    value, report = _format_one(message)
    return write(value), report


def format_line(message: v1.Message) -> tuple[str, Report]:
    """Writes one message as a line of a file, which `transcriptctl export` does too.

    It is format_message_text, but with the members of a framework, and an opaque message is
    {"role":ROLE,"opaque":{"type":TYPE,"data":BASE64}}. parse_message of it gives the same message.
    """
    report: Report = []
    if not is_opaque(message):
        return write(_message(message, "message", report)), report
    state = message.parts[0].opaque
    members = obj({"type": string(state.type), "data": string(encode_base64(state.data))})
    return write(obj({"role": role_of(message, "message"), OPAQUE: members})), report


def _format(messages: Sequence[v1.Message]) -> tuple[Value, Report]:
    report: Report = []
    sent = without_opaque(messages, Inner(), report)
    return array([_message(message, path, report) for message, path in sent]), report


def _format_one(message: v1.Message) -> tuple[Value, Report]:
    report: Report = []
    if is_opaque(message):
        raise ConversionError("message", "is opaque")
    return _message(for_provider(message, "message", Inner(), report), "message", report), report


def _message(message: v1.Message, path: str, report: Report) -> Value:
    value = _value(message, path)
    try:
        again, _ = parse_message(write(value))
    except ConversionError:
        report.append(Change(path, "inexact"))
    else:
        differences(path, message, again, report)
    return value


def role_of(message: v1.Message, path: str) -> Value:
    """The name of a message's role. ConversionError where it has none."""
    if message.role not in _NAMES:
        raise ConversionError(f"{path}.role", "is not a role")
    return string(_NAMES[message.role])


def _value(message: v1.Message, path: str) -> Value:
    extras = read_extras(message.extras, f"{path}.extras")
    function = message.role == v1.ROLE_TOOL and extras is not None and "role" in extras.members
    written = obj(
        {
            "role": None if function else role_of(message, path),
            **_parts(message, path),
            "tool_call_id": optional_string(message, "tool_call_id"),
            "name": optional_string(message, "name"),
            "is_error": literal_true(message.is_error),
        }
    )
    return merged(written, extras)


def _parts(message: v1.Message, path: str) -> dict[str, Value | None]:
    """Content, reasoning and calls, each in its one place."""
    content: list[tuple[v1.Part, str]] = []
    reasoning: list[str] = []
    calls: list[Value] = []
    function_call: Value | None = None
    for i, part in enumerate(message.parts):
        at, kind = index(f"{path}.parts", i), part.WhichOneof("kind")
        if kind == "reasoning":
            reasoning.append(part.reasoning.text)
        elif kind == "tool_call":
            call, deprecated = format_call(part, at)
            if deprecated and function_call is None:
                function_call = call
            else:
                calls.append(call)
        else:
            content.append((part, at))
    return {
        "content": format_content(content, message.content_form, format_part),
        "reasoning_content": string("\n\n".join(reasoning)) if reasoning else None,
        "tool_calls": array(calls) if calls else None,
        FUNCTION_CALL: function_call,
    }
