"""Blocks that a model is sent, each with the part that it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .. import v1
from .._convert.content import is_blank, typed
from .._convert.groups import Names
from .._convert.media import placeholder
from .._convert.report import Change, ChangeKind, ConversionError, Report, index
from .._convert.taker import read_extras
from .._json import Value, array, obj, read_any, read_compactable, string
from ._blocks import DOCUMENT, IMAGE, is_encrypted, is_image, media_block, text_block, thinking_block
from ._server import server_block

Place = tuple[int, int]
"""Where a call stands: its message and its part."""

_INLINE = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")
_WEB = ("https://", "http://")


@dataclass
class Item:
    """A block to be written."""

    value: Value
    kind: str
    """The block's type."""
    path: str
    """Of the part that it came from."""
    text: str = ""
    """Of a text block."""
    server: str = ""
    """The id that a server tool's call and its result share; empty of other blocks."""
    answer: str = ""
    """On a server tool's call the type of its result."""


def text_item(text: str, path: str) -> Item:
    """A text block."""
    return Item(text_block(text), "text", path, text)


def content_value(items: Sequence[Item]) -> Value:
    """A string where all is one text, else a list."""
    if len(items) == 1 and items[0].kind == "text":
        return string(items[0].text)
    return array(item.value for item in items)


def failed(items: Sequence[Item], path: str, report: Report) -> list[Item]:
    """The content of a result that failed: text, and not none."""
    out: list[Item] = []
    for item in items:
        if item.kind != "text":
            text = placeholder(item.kind)
            report.append(Change(item.path, "replaced", to=text, why="an error holds only text"))
            item = text_item(text, item.path)
        out.append(item)
    if not out:
        text = "[the call failed]"
        report.append(Change(path, "replaced", to=text, why="an error says something"))
        out.append(text_item(text, path))
    return out


class Items:
    """Writes the blocks of messages, and reports what is changed."""

    def __init__(self, report: Report, names: Names, ids: Names) -> None:
        self._report, self._names, self._ids = report, names, ids

    def _change(self, path: str, kind: ChangeKind, why: str) -> None:
        self._report.append(Change(path, kind, why=why))

    def of(self, message: v1.Message, i: int, path: str, ids: Mapping[Place, str]) -> list[Item]:
        """The blocks of message i, whose calls have these ids."""
        items: list[Item] = []
        for j, part in enumerate(message.parts):
            at = index(f"{path}.parts", j)
            extras = read_extras(part.extras, f"{at}.extras")
            item = self._item(part, at, message.role, ids.get((i, j), ""))
            if item is not None:
                items.append(item)
            if extras is not None:
                self._extras(item, at, extras)
        return items

    def _item(self, part: v1.Part, path: str, role: v1.Role, call_id: str) -> Item | None:
        """The block of a part; None where there is none. `call_id` is that given to a call."""
        kind = part.WhichOneof("kind")
        if kind == "text":
            if not is_blank(part.text):
                return text_item(part.text, path)
            if part.text:  # one that is empty says nothing, and goes unreported
                self._change(path, "left_out", "a text cannot be blank")
            return None
        if kind == "reasoning":
            return self._thinking(part.reasoning, path, role)
        if kind == "tool_call":
            if not call_id:
                self._change(path, "left_out", "only an assistant calls tools")
                return None
            return self._call(part.tool_call, path, call_id)
        if kind == "media":
            return self._or_placeholder(_media(part.media, path), path, role, part.media.media_type)
        if kind == "json":
            item, own = self._json(part.json, path, role)
            return self._or_placeholder(item, path, role, own)
        raise ConversionError(path, "has no kind")

    def _thinking(self, reasoning: v1.Reasoning, path: str, role: v1.Role) -> Item | None:
        """The block of reasoning that Anthropic signed or encrypted; no other is accepted."""
        if role != v1.ROLE_ASSISTANT:
            self._change(path, "left_out", "only an assistant thinks")
            return None
        if is_encrypted(reasoning):
            return Item(thinking_block(reasoning), "redacted_thinking", path)
        if not reasoning.signature:
            self._change(path, "left_out", "thinking must be signed")
            return None
        return Item(thinking_block(reasoning), "thinking", path)

    def _call(self, call: v1.ToolCall, path: str, call_id: str) -> Item:
        """A tool_use block. Arguments that are no JSON object become one: {} where they are blank, else {"arguments": TEXT}."""
        name = self._names.clean(call.name)
        if call.name != name or not call.HasField("name"):
            self._report.append(Change(f"{path}.tool_call.name", "renamed", from_=call.name, to=name))
        given = read_compactable(call.arguments)
        if given is None or given.kind != "object":
            self._change(f"{path}.tool_call.arguments", "replaced", "the input is an object")
            given = obj({"arguments": None if is_blank(call.arguments) else string(call.arguments)})
        return Item(typed("tool_use", {"id": string(call_id), "name": string(name), "input": given}), "tool_use", path)

    def _or_placeholder(self, item: Item | None, path: str, role: v1.Role, kind: str) -> Item | None:
        """The item, if there is one; else a text that says what was left out, except of an assistant or the system, to whom no words are
        given."""
        speaks = role in (v1.ROLE_USER, v1.ROLE_TOOL)
        if item is not None and (speaks or item.kind not in (IMAGE, DOCUMENT)):
            return item
        if not speaks:
            self._change(path, "left_out", "the API has no such block here")
            return None
        text = placeholder(kind)
        self._report.append(Change(path, "replaced", to=text, why="the API has no such block"))
        return text_item(text, path)

    def _extras(self, item: Item | None, path: str, extras: Value) -> None:
        """Reports a part's other members, and writes those of a document that the model reads."""
        written = 0
        for name in ("title", "context"):
            value = extras.member(name)
            text = (value.string or "") if value is not None else ""
            if item is not None and item.kind == DOCUMENT and not is_blank(text):
                item.value.members[name] = string(text)
                written += 1
        if written < len(extras.members):
            self._change(f"{path}.extras", "left_out", "only documented members are written")

    def _json(self, text: str, path: str, role: v1.Role) -> tuple[Item | None, str]:
        """The block of a json part that the API takes back from this role, or None; and the block's own type."""
        value = read_any(text)
        kind = value.member("type") if value is not None else None
        if value is None or kind is None:
            return None, ""
        own = kind.string or ""
        if role == v1.ROLE_ASSISTANT:
            server, answer = server_block(value, own, self._ids)
            return (Item(value, own, path, server=server, answer=answer) if server else None), own
        source = value.member("source")
        if own == DOCUMENT and source is not None:
            how, data = source.member("type"), source.member("data")
            if how is not None and how.string == "text" and data is not None and not is_blank(data.string or ""):
                return Item(typed(DOCUMENT, {"source": _plain_source(data.text)}), DOCUMENT, path), own
        return None, own


def _media(media: v1.Media, path: str) -> Item | None:
    """The block that the API has for a piece of media; None where it takes none of its type or source."""
    kind = IMAGE if is_image(media.media_type) else DOCUMENT
    source = media.WhichOneof("source")
    if source == "inline":
        if media.media_type in _INLINE and media.inline:
            return Item(media_block(media), kind, path)
        text = _utf8(media.inline)
        if media.media_type == "text/plain" and not is_blank(text):
            return Item(typed(DOCUMENT, {"source": _plain_source(text)}), DOCUMENT, path)
    if source == "uri" and media.uri.startswith(_WEB) and (kind == IMAGE or media.media_type in (DOCUMENT, "application/pdf")):
        return Item(media_block(media), kind, path)
    return None


def _utf8(data: bytes) -> str:
    """The text of bytes; none where they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


def _plain_source(text: str) -> Value:
    return typed("text", {"media_type": string("text/plain"), "data": string(text)})
