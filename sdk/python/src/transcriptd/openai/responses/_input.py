"""The content of items that are not the assistant's, as a model is sent it."""

from __future__ import annotations

from ... import v1
from ..._convert.content import typed
from ..._convert.media import placeholder
from ..._convert.report import Change, ChangeKind, ConversionError, Report, index
from ..._convert.taker import read_extras
from ..._json import Value, array, read_any, string
from .._parts import FILE, IMAGE_URL, is_image
from ._items import is_whole, text_of
from ._parts import INPUT_FILE, INPUT_IMAGE, media_item, text_item

_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_WEB = ("https://", "http://")


class Content:
    """Gathers what one item is to hold."""

    def __init__(self) -> None:
        self.items: list[Value] = []
        self._single: str | None = None

    @property
    def empty(self) -> bool:
        """Whether it is to hold nothing."""
        return not self.items

    def text(self, text: str, role: v1.Role) -> None:
        """Adds a text of what a role says, unless it is empty."""
        if text:
            self._single = text
            self.items.append(text_item(text, role))

    def value(self) -> Value:
        """A string where all is one text, and where there is nothing; else a list."""
        if not self.items:
            return string("")
        if len(self.items) == 1 and self._single is not None:
            return string(self._single)
        return array(self.items)


class Input(Content):
    """The content of a message."""

    def __init__(self, message: v1.Message, path: str, report: Report) -> None:
        super().__init__()
        self._role, self._report = message.role, report
        for j, part in enumerate(message.parts):
            at = index(f"{path}.parts", j)
            self._part(part, read_extras(part.extras, f"{at}.extras"), at)

    def _change(self, path: str, kind: ChangeKind, why: str) -> None:
        self._report.append(Change(path, kind, why=why))

    def _part(self, part: v1.Part, extras: Value | None, path: str) -> None:
        kind = part.WhichOneof("kind")
        if kind == "text":
            self.text(part.text, self._role)
            report_extras(self._report, path, extras)
        elif kind == "reasoning":
            self._change(path, "left_out", "only an assistant thinks")
        elif kind == "media":
            item, kept = _media(part.media, extras)
            self._item(item, path, part.media.media_type)
            report_extras(self._report, path, extras, kept)
        elif kind == "json":
            self._item(*_uploaded(part, path))
        elif kind == "tool_call":
            self._change(path, "left_out", "only an assistant calls tools")
        else:
            raise ConversionError(path, "has no kind")

    def _item(self, item: Value | None, path: str, kind: str) -> None:
        """Adds a part that is not text, or what stands for it; item is None where the API has nothing for it."""
        if self._role not in (v1.ROLE_USER, v1.ROLE_TOOL):
            self._change(path, "left_out", "messages of this role hold only text")
        elif item is not None:
            self.items.append(item)
        else:
            text = placeholder(kind)
            self._report.append(Change(path, "replaced", to=text, why="the API has no such part"))
            self.text(text, self._role)


def report_extras(report: Report, path: str, extras: Value | None, kept: str = "") -> None:
    """Reports a part's other members, unless it has just the one that is kept."""
    if extras is not None and not (kept and list(extras.members) == [kept]):
        report.append(Change(f"{path}.extras", "left_out", why="only documented members are written"))


def _media(media: v1.Media, extras: Value | None) -> tuple[Value | None, str]:
    """The item that the API has for a piece of media, or None, and which of its extras stands in it."""
    kind, item = _class(media), media_item(media)
    if not kind or item is None:
        return None, ""
    if kind == INPUT_IMAGE:
        item.members["detail"] = string(_detail(extras))
        return item, "detail"
    if media.WhichOneof("source") == "uri":
        return item, ""
    item.members["filename"] = string(text_of(extras, "filename") or "document.pdf")
    return item, "filename"


def _detail(extras: Value | None) -> str:
    """How closely the model looks at an image; chat completions have it in another place."""
    detail = text_of(extras, "detail") or text_of(extras, IMAGE_URL, "detail")
    return detail if detail in ("low", "high", "original") else "auto"


def _class(media: v1.Media) -> str:
    """The type of item that holds a piece of media; empty where the API takes none of its type or source."""
    source = media.WhichOneof("source")
    if source == "inline" and media.inline:
        return INPUT_IMAGE if media.media_type in _IMAGES else INPUT_FILE if media.media_type == "application/pdf" else ""
    if source == "uri" and media.uri.startswith(_WEB):
        files = (FILE, "document", "application/pdf")
        return INPUT_IMAGE if is_image(media.media_type) else INPUT_FILE if media.media_type in files else ""
    return ""


def _uploaded(part: v1.Part, path: str) -> tuple[Value | None, str, str]:
    """The item of a json part that names a file by its id, or None; the part's path and its own type."""
    value = read_any(part.json)
    kind, file_id = text_of(value, "type"), text_of(value, "file_id")
    if value is None or not file_id or is_whole(part) or {"image_url", "file_url", "file_data"} & value.members.keys():
        return None, path, kind
    if kind == INPUT_IMAGE:
        return typed(kind, {"file_id": string(file_id), "detail": string(_detail(value))}), path, kind
    if kind == INPUT_FILE:
        return typed(kind, {"file_id": string(file_id)}), path, kind
    return None, path, kind
