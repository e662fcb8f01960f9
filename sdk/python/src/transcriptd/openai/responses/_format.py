"""Transcript messages into items, without loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import v1
from ..._convert.content import differences, format_content, is_content, is_plain_text, json_value, optional_string, typed
from ..._convert.framework import without_opaque
from ..._convert.report import Change, ConversionError, Report, index
from ..._convert.taker import read_extras
from ..._json import Value, array, merged, obj, plain, read_compactable, string, write
from ._items import (
    CALLS,
    FUNCTION,
    INNER,
    ITEM,
    NAMES,
    REASONING,
    RESULTS,
    WHOLE_OUTPUT,
    is_string,
    is_whole,
    item_of,
    says,
    text_of,
)
from ._parse import parse
from ._parts import format_part

_ALONE = '{"item":{"content":""}}'  # the extras of an item of nothing but a text, where that has to be said


def format(messages: Sequence[v1.Message]) -> tuple[list[dict[str, Any]], Report]:
    """Writes messages as items: for what `parse` read, the same JSON again and an empty report.

    What is a framework's own is not written: opaque messages, and the member "framework" of extras; the report has each (`left_out`). Other
    messages (put by another client, or by another provider's converter) are written as nearly as the items can; the report then names each
    field that `parse` would not give back, or, where it would give more messages or fewer, `messages` (`inexact`). ConversionError, with
    paths that begin `messages`: a message without a role, a part without a kind, extras that are no JSON object.
    """
    value, report = _format(messages)
    return plain(value), report


def format_text(messages: Sequence[v1.Message]) -> tuple[str, Report]:
    """`format` as JSON text, which has numbers as they were spelled."""
    value, report = _format(messages)
    return write(value), report


def items_of(message: v1.Message) -> list[dict[str, Any]]:
    """The items that `format` writes of a message by itself, without a report."""
    return [plain(item) for item in _written(without_opaque([message], INNER, []))]


def _written(sent: Sequence[tuple[v1.Message, str]]) -> list[Value]:
    writer = _Writer()
    for message, path in sent:
        writer.message(message, path)
    return writer.items


def _format(messages: Sequence[v1.Message]) -> tuple[Value, Report]:
    report: Report = []
    sent = without_opaque(messages, INNER, report)
    out = array(_written(sent))
    try:
        again, _ = parse(write(out))
    except ConversionError:
        again = None
    if again is None or len(again) != len(sent):
        report.append(Change("messages", "inexact", count=len(sent)))
        return out, report
    for (message, path), other in zip(sent, again, strict=True):
        differences(path, _unmarked(message), other, report)
    return out, report


def _unmarked(message: v1.Message) -> v1.Message:
    """An assistant's message in which no part is marked as an item of nothing but a text, where that need not be said: so is a part of which
    a framework's members were left out."""
    if message.role != v1.ROLE_ASSISTANT:
        return message
    out = v1.Message()
    out.CopyFrom(message)
    for i, part in enumerate(out.parts):
        follows = i > 0 and says(out.parts[i - 1])
        if part.extras == _ALONE and part.WhichOneof("kind") == "text" and not follows:
            part.extras = ""
    return out


class _Writer:
    """The items so far."""

    def __init__(self) -> None:
        self.items: list[Value] = []
        self._content: Value | None = None  # of the item of type message that further parts belong to

    def message(self, message: v1.Message, path: str) -> None:
        """Writes a message."""
        extras = read_extras(message.extras, f"{path}.extras")
        self._content = None
        if message.role == v1.ROLE_ASSISTANT:
            self._turn(message, path)
        elif message.role == v1.ROLE_TOOL:
            self.items.append(_result(message, extras, path))
        elif message.role not in NAMES:
            raise ConversionError(f"{path}.role", "is not a role")
        elif len(message.parts) == 1 and is_whole(message.parts[0]):
            self.items.append(json_value(message.parts[0]))
        else:
            written = obj({"role": string(NAMES[message.role]), "content": _content(message, path)})
            self.items.append(merged(written, extras))

    def _turn(self, message: v1.Message, path: str) -> None:
        """Writes the items of an assistant's message."""
        if not message.parts:
            self.items.append(said(string("")))
        for i, part in enumerate(message.parts):
            at = index(f"{path}.parts", i)
            extras = read_extras(part.extras, f"{at}.extras")
            if says(part):
                self._say(message, i, extras, at)
            else:
                self._content = None
                self.items.append(_item(part, extras))

    def _say(self, message: v1.Message, i: int, extras: Value | None, path: str) -> None:
        """Writes a part of what an assistant says: to the item that was begun, or to one of its own."""
        part, item = message.parts[i], item_of(extras)
        alone = not _goes_on(message.parts[i + 1 :])
        if item is None and self._content is None and alone and is_plain_text(part):
            self.items.append(said(string(part.text)))
            return
        marked = item is not None and extras is not None and len(extras.members) == 1 and is_string(item.member("content"))
        if item is not None and marked and alone and part.WhichOneof("kind") == "text":
            self.items.append(merged(said(string(part.text)), item.without("content")))
            self._content = None
            return
        own = extras.without(ITEM) if item is not None and extras is not None else extras
        written = format_part(part, own, message.role, path)
        if item is not None or self._content is None:
            self._content = array()
            self.items.append(merged(said(self._content), item))
        self._content.items.append(written)


def said(content: Value) -> Value:
    """An item of type message of the assistant."""
    return obj({"role": string("assistant"), "content": content})


def _goes_on(parts: Sequence[v1.Part]) -> bool:
    """Whether the parts that follow go on with the item before them."""
    if not parts or not says(parts[0]):
        return False
    try:
        return item_of(read_extras(parts[0].extras, "")) is None
    except ConversionError:
        return False


def _content(message: v1.Message, path: str) -> Value | None:
    """The content of a message that is not the assistant's. Only an assistant has calls and reasoning here."""
    parts = [(part, index(f"{path}.parts", i)) for i, part in enumerate(message.parts) if is_content(part)]

    def written(part: v1.Part, at: str) -> Value:
        return format_part(part, read_extras(part.extras, f"{at}.extras"), message.role, at)

    return format_content(parts, message.content_form, written)


def _result(message: v1.Message, extras: Value | None, path: str) -> Value:
    """A call's result."""
    called = RESULTS.get(text_of(extras, "type"), FUNCTION)
    output = _output(message, path)
    members = {"call_id": optional_string(message, "tool_call_id"), called.result: output}
    if output is not None and extras is not None:
        extras = extras.without(called.result)  # the content is the output, whole
    return merged(typed(called.output, members), extras)


def _output(message: v1.Message, path: str) -> Value | None:
    """What a result has as its output, or None."""
    if len(message.parts) == 1 and message.parts[0].extras == WHOLE_OUTPUT and message.parts[0].WhichOneof("kind") == "json":
        return json_value(message.parts[0])
    return _content(message, path)


def _item(part: v1.Part, extras: Value | None) -> Value:
    """The item of a call, of reasoning, or of a part that is one."""
    kind = part.WhichOneof("kind")
    if kind == "tool_call":
        return _call(part.tool_call, extras)
    if kind == "reasoning":
        has = extras is not None and "summary" in extras.members
        return merged(typed(REASONING, {"summary": None if has else summary_of(part.reasoning.text)}), extras)
    return json_value(part)


def summary_of(text: str) -> Value:
    """A summary of one text, or of none."""
    return array([typed("summary_text", {"text": string(text)})] if text else [])


def _call(call: v1.ToolCall, extras: Value | None) -> Value:
    called = CALLS.get(text_of(extras, "type"), FUNCTION)
    name = optional_string(call, "name") if called.named else None
    given: Value | None = string(call.arguments)
    if not called.named:
        given = (read_compactable(call.arguments) or given) if call.arguments else None
    if given is not None and extras is not None:
        extras = extras.without(called.arguments)  # the arguments stand there, whole
    return merged(typed(called.kind, {"call_id": optional_string(call, "id"), "name": name, called.arguments: given}), extras)
