"""Chat-completions messages into transcript messages."""

from __future__ import annotations

from .. import v1
from .._convert.content import check, parse_content
from .._convert.media import decode_base64
from .._convert.report import ConversionError, Report, join
from .._convert.taker import Taker
from .._json import Value, read
from ._calls import parse_calls, parse_function_call
from ._parts import parse_part

ROLES = {
    "system": v1.ROLE_SYSTEM,
    "developer": v1.ROLE_DEVELOPER,
    "user": v1.ROLE_USER,
    "assistant": v1.ROLE_ASSISTANT,
    "tool": v1.ROLE_TOOL,
}
"""OpenAI's names of the roles. The deprecated role "function" is TOOL with {"role":"function"} in extras."""

OPAQUE = "opaque"
"""The member of a message in a line of a file that holds an opaque message's state."""


def parse(source: object) -> tuple[list[v1.Message], Report]:
    """Reads a JSON list of chat-completions messages: one transcript message for each, and each such that a server accepts it.

    It also reads what format_line writes. The report tells of lone surrogates. ConversionError, with paths that begin `messages`.
    """
    report: Report = []
    value = read(source, "messages", report)
    if value.kind != "list":
        raise ConversionError("messages", "is not a list")
    return [message_of(item) for item in value.items], report


def parse_message(source: object) -> tuple[v1.Message, Report]:
    """Reads one message, such as an answer's `choices[0].message`. What it becomes is what it becomes in a list.

    ConversionError, with paths that begin `message`.
    """
    report: Report = []
    return message_of(read(source, "message", report)), report


def message_of(value: Value) -> v1.Message:
    """The message of a value."""
    if value.kind != "object":
        raise ConversionError(value.path, "is not an object")
    opaque = _opaque(value)
    if opaque is not None:
        return opaque
    taker = Taker(value)
    message = v1.Message(role=_role(taker))
    reasoning = taker.take_string("reasoning_content")  # compatible APIs have it
    if reasoning is not None:
        message.parts.append(v1.Part(reasoning=v1.Reasoning(text=reasoning)))
    content = taker.look("content")
    taker.take("content")
    parts, message.content_form = parse_content(content, join(taker.path, "content"), parse_part)
    message.parts.extend(parts)
    if message.role == v1.ROLE_ASSISTANT:
        message.parts.extend(parse_calls(taker))
        message.parts.extend(parse_function_call(taker))
    if message.role == v1.ROLE_TOOL:
        _result(taker, message)
    name = taker.string_or_null("name")
    if name is not None:
        message.name = name
    message.extras = taker.extras()
    check(message, value.path)
    return message


def _role(taker: Taker) -> v1.Role:
    value = taker.look("role")
    if value is None or value.kind != "string":
        raise ConversionError(join(taker.path, "role"), "is not a string")
    if value.text in ROLES:
        taker.take("role")
        return ROLES[value.text]
    if value.text == "function":
        return v1.ROLE_TOOL
    raise ConversionError(value.path, "is not a role of this provider")


def _result(taker: Taker, message: v1.Message) -> None:
    """Takes what says which call a result answers, and whether it failed (is_error, which is not OpenAI's)."""
    failed = taker.look("is_error")
    if failed is not None and failed.is_true:
        taker.take("is_error")
        message.is_error = True
    answered = taker.string_or_null("tool_call_id")
    if answered is not None:
        message.tool_call_id = answered


def _opaque(value: Value) -> v1.Message | None:
    """The opaque message of an object that has just the members of one; None of any other."""
    role, state = value.member("role"), value.member(OPAQUE)
    if role is None or state is None or len(value.members) != 2 or len(state.members) != 2:
        return None
    kind, text = state.member("type"), state.member("data")
    if role.string not in ROLES or kind is None or kind.string is None or text is None or text.string is None:
        return None
    data = decode_base64(text.text)
    if data is None:
        return None
    message = v1.Message(role=ROLES[role.text], parts=[v1.Part(opaque=v1.Opaque(type=kind.text, data=data))])
    try:
        check(message, "")
    except ConversionError:
        return None
    return message
