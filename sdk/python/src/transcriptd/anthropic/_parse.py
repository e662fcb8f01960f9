"""Requests and messages of the Messages API into transcript messages."""

from __future__ import annotations

from .. import v1
from .._convert.content import check, list_form, parse_content
from .._convert.report import Change, ConversionError, Report, join
from .._convert.taker import Taker
from .._json import Value, compact, merged, obj, read
from ._blocks import block_parser

MESSAGE = "message"
"""The member of a result's extras that holds the other members of the user's message that it begins."""


def parse(source: object) -> tuple[list[v1.Message], Report]:
    """Reads a request: {"system": …, "messages": […]}.

    The system prompt becomes the first message; a message with tool results becomes several, all but the first joined to the one before.
    Each is such that a server accepts it. The request's other members are no part of a transcript: the report names them (`left_out`), and
    tells of lone surrogates. ConversionError, with paths that begin `system` or `messages`.
    """
    report: Report = []
    request = read(source, "", report)
    if request.kind != "object":
        raise ConversionError("", "is not an object")
    listed = request.member("messages")
    if listed is None or listed.kind != "list":
        raise ConversionError("messages", "is not a list")
    messages = _system(request.member("system"))
    for item in listed.items:
        messages.extend(messages_of(item))
    for name, value in request.members.items():
        if name not in ("system", "messages"):
            report.append(Change(value.path, "left_out", why="is no part of a transcript"))
    return messages, report


def parse_message(source: object) -> tuple[list[v1.Message], Report]:
    """Reads one message, such as an answer. What it becomes is what it becomes in a request.

    ConversionError, with paths that begin `message`.
    """
    report: Report = []
    return messages_of(read(source, "message", report)), report


def _system(value: Value | None) -> list[v1.Message]:
    """The first message, of the member system; none where it is absent."""
    if value is None:
        return []
    parts, form = parse_content(value, value.path, block_parser(v1.ROLE_SYSTEM))
    message = v1.Message(role=v1.ROLE_SYSTEM, parts=parts, content_form=form)
    check(message, value.path)
    return [message]


def messages_of(value: Value) -> list[v1.Message]:
    """The messages that one of the provider's is."""
    if value.kind != "object":
        raise ConversionError(value.path, "is not an object")
    taker = Taker(value)
    role = _role(taker)
    content = taker.look("content")
    taker.take("content")
    extras = taker.extras()
    if role == v1.ROLE_USER and content is not None and any(map(_is_result, content.items)):
        messages = _results(content, extras)
    else:
        parts, form = parse_content(content, join(value.path, "content"), block_parser(role))
        messages = [v1.Message(role=role, parts=parts, content_form=form, extras=extras)]
    for message in messages:
        check(message, value.path)
    return messages


def _role(taker: Taker) -> v1.Role:
    """Takes the role. That of a system message among the others stays, which tells it from the member system."""
    value = taker.look("role")
    if value is None or value.kind != "string":
        raise ConversionError(join(taker.path, "role"), "is not a string")
    if value.text == "system":
        return v1.ROLE_SYSTEM
    if value.text not in ("user", "assistant"):
        raise ConversionError(value.path, "is not a role of this provider")
    taker.take("role")
    return v1.ROLE_USER if value.text == "user" else v1.ROLE_ASSISTANT


def _is_result(block: Value) -> bool:
    """Whether a block becomes a message of its own. One with a member MESSAGE, which the API does not know, does not."""
    kind = block.member("type")
    return kind is not None and kind.string == "tool_result" and MESSAGE not in block.members


def _results(content: Value, extras: str) -> list[v1.Message]:
    """The messages of a user's message with results: one of each result, and one of each run of other blocks."""
    messages: list[v1.Message] = []
    parse_block = block_parser(v1.ROLE_USER)
    open_run = False
    for block in content.items:
        if _is_result(block):
            messages.append(_result(block))
            open_run = False
            continue
        part = parse_block(block)
        if not open_run:
            messages.append(v1.Message(role=v1.ROLE_USER))
            open_run = True
        messages[-1].parts.append(part)
        messages[-1].content_form = list_form(messages[-1].parts)
    for message in messages[1:]:
        message.joined = True
    if extras:
        _keep(messages[0], extras, content.path)
    return messages


def _keep(message: v1.Message, extras: str, path: str) -> None:
    """Gives the first of a user's messages the extras of them all."""
    if message.role == v1.ROLE_USER:
        message.extras = extras
        return
    own = read(message.extras, path, []) if message.extras else obj()
    message.extras = compact(merged(own, obj({MESSAGE: read(extras, path, [])})), path)


def _result(value: Value) -> v1.Message:
    taker = Taker(value)
    taker.take("type")
    taker.take("content")
    message = v1.Message(role=v1.ROLE_TOOL)
    answered = taker.string_or_null("tool_use_id")
    if answered is not None:
        message.tool_call_id = answered
    failed = taker.look("is_error")
    if failed is not None and failed.is_true:
        taker.take("is_error")
        message.is_error = True
    path = join(value.path, "content")
    parts, message.content_form = parse_content(taker.look("content"), path, block_parser(v1.ROLE_TOOL))
    message.parts.extend(parts)
    message.extras = taker.extras()
    return message
