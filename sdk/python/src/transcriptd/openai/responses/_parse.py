"""Items into transcript messages."""

from __future__ import annotations

from ... import v1
from ..._convert.content import check, json_part, parse_content
from ..._convert.report import ConversionError, Report, join
from ..._convert.taker import Taker, read_extras
from ..._json import Value, compact, merged, obj, read, string
from ...rules import MAX_CALLS
from ._items import (
    CALLS,
    FUNCTION,
    ITEM,
    MESSAGE,
    REASONING,
    RESULTS,
    ROLES,
    WHOLE_ITEM,
    WHOLE_OUTPUT,
    Called,
    is_string,
    says,
    text_of,
    texts_of,
)
from ._parts import parse_input, parse_output


def parse(source: object) -> tuple[list[v1.Message], Report]:
    """Reads a JSON list of items, such as a request's input or a response's output.

    What a model gives between two others, reasoning, texts and calls, is one message of the assistant; a message of anybody else, and a
    result, is one by itself. Each message is such that a server accepts it. The report tells of lone surrogates. ConversionError, with paths
    that begin `items`.
    """
    report: Report = []
    listed = read(source, "items", report)
    if listed.kind != "list":
        raise ConversionError("items", "is not a list")
    parser = _Parser()
    for item in listed.items:
        parser.item(item)
    parser.close()
    return parser.messages, report


class _Parser:
    """The messages so far."""

    def __init__(self) -> None:
        self.messages: list[v1.Message] = []
        self._turn: v1.Message | None = None  # the assistant's message that further parts belong to
        self._path = ""  # of its first item
        self._calls = 0

    def item(self, value: Value) -> None:
        """Takes an item."""
        if value.kind != "object":
            raise ConversionError(value.path, "is not an object")
        kind = text_of(value, "type")
        if kind == MESSAGE or ("type" not in value.members and "role" in value.members):
            self._message(value)
        elif kind == REASONING:
            self._add(_reasoning(value), value)
        elif kind in CALLS:
            self._add(_call(value, CALLS[kind]), value)
        elif kind in RESULTS and is_string(value.member("call_id")):
            self._result(value, RESULTS[kind])
        else:
            self._whole(value)

    def close(self) -> None:
        """Ends the assistant's message."""
        turn, self._turn, self._calls = self._turn, None, 0
        if turn is not None:
            self.messages.append(turn)
            check(turn, self._path)

    def _own(self, message: v1.Message, value: Value) -> None:
        """Adds a message by itself."""
        self.close()
        self.messages.append(message)
        check(message, value.path)

    def _append(self, value: Value, part: v1.Part) -> None:
        """Adds a part of an item to the assistant's message."""
        if self._turn is None:
            self._turn, self._path = v1.Message(role=v1.ROLE_ASSISTANT), value.path
        self._turn.parts.append(part)

    def _add(self, part: v1.Part | None, value: Value) -> None:
        """Adds the part that an item becomes; where it becomes none, it is one whole. A message has no more calls than a server accepts."""
        if part is None:
            self._whole(value)
            return
        if part.WhichOneof("kind") == "tool_call":
            if self._calls == MAX_CALLS:
                self.close()
            self._calls += 1
        self._append(value, part)

    def _whole(self, value: Value) -> None:
        """Keeps an item as it is: in a message of the role that it has, or of the user who approves; else in the assistant's."""
        part = json_part(value)
        part.extras = WHOLE_ITEM
        role = ROLES.get(text_of(value, "role"), v1.ROLE_ASSISTANT)
        if text_of(value, "type") == "mcp_approval_response":
            role = v1.ROLE_USER
        if role == v1.ROLE_ASSISTANT:
            self._append(value, part)
        else:
            self._own(v1.Message(role=role, parts=[part]), value)

    def _message(self, value: Value) -> None:
        """Takes an item of type message."""
        taker = Taker(value)
        name = taker.take_string("role")
        if name is None:
            raise ConversionError(join(value.path, "role"), "is not a string")
        if name not in ROLES:
            raise ConversionError(join(value.path, "role"), "is not a role of this provider")
        content = taker.look("content")
        taker.take("content")
        if ROLES[name] == v1.ROLE_ASSISTANT:
            self._said(value, content, taker.extras())
            return
        parts, form = parse_content(content, join(value.path, "content"), parse_input)
        self._own(v1.Message(role=ROLES[name], parts=parts, content_form=form, extras=taker.extras()), value)

    def _said(self, value: Value, content: Value | None, others: str) -> None:
        """Adds what an assistant's message says."""
        if content is not None and content.kind == "string":
            marked = others or (self._turn is not None and says(self._turn.parts[-1]))
            extras = _begins(others, value.path, content_is_text=True) if marked else ""
            self._append(value, v1.Part(text=content.text, extras=extras))
            return
        if content is None or content.kind != "list" or not content.items:
            self._whole(value)
            return
        for i, item in enumerate(content.items):
            part = parse_output(item)
            if i == 0:
                part.extras = _begins(others, value.path, part.extras)
            self._append(value, part)

    def _result(self, value: Value, called: Called) -> None:
        """Takes a call's result."""
        taker = Taker(value)
        message = v1.Message(role=v1.ROLE_TOOL, tool_call_id=taker.take_string("call_id"))
        output = taker.look(called.result)
        taker.take(called.result)
        if called == FUNCTION:
            taker.take("type")
        if output is None or output.kind in ("null", "string", "list"):
            parts, message.content_form = parse_content(output, value.path, parse_input)
            message.parts.extend(parts)
        else:
            part = json_part(output)
            part.extras = WHOLE_OUTPUT
            message.parts.append(part)
        message.extras = taker.extras()
        self._own(message, value)


def _begins(others: str, path: str, extras: str = "", *, content_is_text: bool = False) -> str:
    """A content part's extras where it begins an item with those other members."""
    item = merged(obj({"content": string("")} if content_is_text else {}), read_extras(others, path))
    own = read_extras(extras, path)
    return compact(obj({ITEM: item, **(own.members if own is not None else {})}), path)


def _call(value: Value, called: Called) -> v1.Part | None:
    """The call that an item is; None where it has not the documented form."""
    taker = Taker(value)
    call_id = taker.take_string("call_id")
    if call_id is None:
        return None
    call = v1.ToolCall(id=call_id)
    arguments = taker.look(called.arguments)
    if called.named:
        name = taker.take_string("name")
        if name is None or arguments is None or arguments.kind != "string":
            return None
        call.name, call.arguments = name, arguments.text
    else:
        call.name = called.tool_name
        if arguments is not None:
            call.arguments = compact(arguments, arguments.path)
    taker.take(called.arguments)
    if called == FUNCTION:
        taker.take("type")
    return v1.Part(tool_call=call, extras=taker.extras())


def _reasoning(value: Value) -> v1.Part | None:
    """The reasoning of an item with a summary; None where it has not the documented form."""
    taker = Taker(value)
    taker.take("type")
    summary = taker.look("summary")
    if summary is None or summary.kind != "list":
        return None
    texts, exact = texts_of(summary, "summary_text")
    thought, _ = texts_of(taker.look("content"), "reasoning_text")
    if not texts and thought:
        texts = thought
    elif exact and (not texts or (len(texts) == 1 and texts[0])):
        taker.take("summary")
    return v1.Part(reasoning=v1.Reasoning(text="\n\n".join(texts)), extras=taker.extras())
