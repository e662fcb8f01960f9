"""The content of messages that a model is sent."""

from __future__ import annotations

import base64

from .. import v1
from .._convert.content import typed
from .._convert.media import placeholder
from .._convert.report import Change, ChangeKind, ConversionError, Report, index
from .._convert.taker import read_extras
from .._json import NULL, Value, array, obj, read_any, string
from ._parts import AUDIO, FILE, IMAGE_URL, is_image, media_item, nested, text_item

_INLINE = {
    **dict.fromkeys(("image/png", "image/jpeg", "image/gif", "image/webp"), IMAGE_URL),
    **dict.fromkeys(("audio/wav", "audio/mp3"), AUDIO),
    "application/pdf": FILE,
}
_WEB = ("https://", "http://")


class Content:
    """Gathers the content of one message to be written. `id` is that of the call which a result answers."""

    def __init__(self, id: str | None = None) -> None:
        self._id = id
        self.items: list[Value] = []
        self.moved: list[Value] = []
        """The parts that a result cannot hold, after a text that says whose they are."""
        self._single: str | None = None

    def text(self, text: str) -> None:
        """Adds a text, unless it is empty."""
        if text:
            self._single = text
            self.items.append(text_item(text))

    def move(self, item: Value) -> None:
        """Adds a part that a result cannot hold."""
        if not self.moved:
            self.moved.append(text_item(f"[media of the result of {self._id}]"))
        self.moved.append(item)

    def value(self) -> Value:
        """A string where all is one text; without content "" on a result and null on other messages; else a list."""
        if not self.items:
            return NULL if self._id is None else string("")
        if len(self.items) == 1 and self._single is not None:
            return string(self._single)
        return array(self.items)


class Writer:
    """Writes the content of messages, and reports what is changed."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def _change(self, path: str, kind: ChangeKind, why: str) -> None:
        self._report.append(Change(path, kind, why=why))

    def content(self, message: v1.Message, path: str, content: Content) -> None:
        """Adds the content of a message."""
        for j, part in enumerate(message.parts):
            self._part(message.role, part, index(f"{path}.parts", j), content)
        if not message.parts:
            _refusal(message, content)

    def _part(self, role: v1.Role, part: v1.Part, path: str, content: Content) -> None:
        extras = read_extras(part.extras, f"{path}.extras")
        kind = part.WhichOneof("kind")
        if kind == "text":
            content.text(part.text)
            self._extras(path, part, None)
        elif kind == "reasoning":
            self._change(path, "left_out", "reasoning is not sent back")
        elif kind == "media":
            self._item(content, role, path, _media(part.media, extras), part.media.media_type)
            self._extras(path, part, extras)
        elif kind == "json":
            self._item(content, role, path, *_json(part, role))
        elif kind == "tool_call":
            if role != v1.ROLE_ASSISTANT:
                self._change(path, "left_out", "only an assistant calls tools")
            self._extras(path, part, extras)
        else:
            raise ConversionError(path, "has no kind")

    def _item(self, content: Content, role: v1.Role, path: str, item: Value | None, kind: str) -> None:
        """Adds a part that is not text, or what stands for it; item is None where the API has nothing for it."""
        if item is not None and role == v1.ROLE_TOOL:
            self._change(path, "moved", "results hold only text")
            content.move(item)
        elif item is not None and (role == v1.ROLE_USER or "refusal" in item.members):
            content.items.append(item)
        elif role in (v1.ROLE_USER, v1.ROLE_TOOL):
            text = placeholder(kind)
            self._report.append(Change(path, "replaced", to=text, why="the API has no such part"))
            content.text(text)
        else:
            self._change(path, "left_out", "messages of this role hold only text")

    def _extras(self, path: str, part: v1.Part, extras: Value | None) -> None:
        """Reports a part's other members, unless it has one and that is one that the API documents."""
        if part.extras and not (extras is not None and len(extras.members) == 1 and _documented(part, extras)):
            self._change(f"{path}.extras", "left_out", "only documented members are written")


def _documented(part: v1.Part, extras: Value) -> bool:
    if part.WhichOneof("kind") == "tool_call":
        return "type" in extras.members
    image, file = extras.member(IMAGE_URL), extras.member(FILE)
    if image is not None and len(image.members) == 1 and _detail(extras):
        return True
    return file is not None and len(file.members) == 1 and _filename(extras) != ""


def _detail(extras: Value | None) -> str:
    """How closely the model looks at an image, where the extras say so."""
    detail = _inner(extras, IMAGE_URL, "detail")
    return detail if detail in ("auto", "low", "high") else ""


def _filename(extras: Value | None) -> str:
    return _inner(extras, FILE, "filename")


def _inner(extras: Value | None, name: str, member: str) -> str:
    """A string of an object in extras, or nothing."""
    holder = extras.member(name) if extras is not None else None
    value = holder.member(member) if holder is not None else None
    return (value.string or "") if value is not None else ""


def _refusal(message: v1.Message, content: Content) -> None:
    """Adds what an answer that only refuses says."""
    extras = read_any(message.extras)
    refusal = extras.member("refusal") if extras is not None else None
    if message.role == v1.ROLE_ASSISTANT and refusal is not None and refusal.string:
        content.items.append(typed("refusal", {"refusal": refusal}))


def _media(media: v1.Media, extras: Value | None) -> Value | None:
    """The part that the API has for a piece of media, or None."""
    kind = _class(media)
    if not kind:
        return None
    item = media_item(media)
    inner = item.member(kind)
    assert inner is not None
    if kind == IMAGE_URL and _detail(extras):
        inner.members["detail"] = string(_detail(extras))
    if kind == FILE:
        inner.members["filename"] = string(_filename(extras) or "document.pdf")
    return item


def _class(media: v1.Media) -> str:
    """The type of part that holds a piece of media; empty where the API takes none of its type or source."""
    source = media.WhichOneof("source")
    if source == "inline":
        return _INLINE.get(media.media_type, "") if media.inline else ""
    if source == "uri":
        inline = _inline_type(media.uri)
        if is_image(media.media_type) and (media.uri.startswith(_WEB) or inline.startswith("image/")):
            return IMAGE_URL
        if media.media_type == FILE and inline == "application/pdf":
            return FILE
    return ""


def _inline_type(url: str) -> str:
    """The type of a data: URL that the API takes, however it is spelled: in capitals, with parameters, unpadded. Empty for others."""
    head, found, text = url.removeprefix("data:").partition(";base64,")
    if not url.startswith("data:") or not found:
        return ""
    text = text.rstrip("=")
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return ""
    media_type = head.lower().partition(";")[0]
    return media_type if data and _INLINE.get(media_type) in (IMAGE_URL, FILE) else ""


def _json(part: v1.Part, role: v1.Role) -> tuple[Value | None, str]:
    """A json part that the API takes back, an uploaded file of a user or a refusal of an assistant, or None; and the part's own type."""
    value = read_any(part.json)
    kind = value.member("type") if value is not None else None
    if value is None or kind is None:
        return None, ""
    name = kind.string or ""
    if name == "refusal" and role == v1.ROLE_ASSISTANT:
        refusal = value.member("refusal")
        if refusal is not None and refusal.string:
            return obj({"type": string("refusal"), "refusal": refusal}), name
    if name == FILE and role != v1.ROLE_ASSISTANT:
        file_id = _inner(value, FILE, "file_id")
        if file_id:
            return nested(FILE, file_id=file_id), name
    return None, name
