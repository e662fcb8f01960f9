"""The content of messages, as all providers have it: a string, null, a list, or no such member."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .. import v1
from .._json import NULL, TRUE, Value, array, compact, obj, read_compactable, string
from ..rules import FieldError, check_message
from .report import Change, ConversionError, Report, index

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""The code points with Unicode's property White_Space, which are fewer than those that str.strip takes."""


def is_blank(text: str) -> bool:
    """Whether a text is white space, or empty."""
    return not text.strip(WHITE_SPACE)


def is_content(part: v1.Part) -> bool:
    """Whether a part is content, that is, neither a call nor reasoning."""
    return part.WhichOneof("kind") not in ("tool_call", "reasoning")


def parse_content(value: Value | None, path: str, part: Callable[[Value], v1.Part]) -> tuple[list[v1.Part], v1.ContentForm]:
    """The parts and the form of a content member; value is None where it is absent. `part` makes one of an item of a list."""
    if value is None:
        return [], v1.CONTENT_FORM_ABSENT
    if value.kind == "null":
        return [], v1.CONTENT_FORM_UNSPECIFIED
    if value.kind == "string":
        return [v1.Part(text=value.text)], v1.CONTENT_FORM_UNSPECIFIED
    if value.kind != "list":
        raise ConversionError(path, "is neither a string nor a list nor null")
    parts = [part(item) for item in value.items]
    return parts, list_form(parts)


def list_form(parts: Iterable[v1.Part]) -> v1.ContentForm:
    """The form of a content that was a list of these parts."""
    content = [part for part in parts if is_content(part)]
    if not content or (len(content) == 1 and is_plain_text(content[0])):
        return v1.CONTENT_FORM_PARTS
    return v1.CONTENT_FORM_UNSPECIFIED


def is_plain_text(part: v1.Part) -> bool:
    """Whether a part is text without extras."""
    return part.WhichOneof("kind") == "text" and not part.extras


def format_content(parts: Sequence[tuple[v1.Part, str]], form: v1.ContentForm, part: Callable[[v1.Part, str], Value]) -> Value | None:
    """The content member that parts, with their paths, and a form stand for; None where it is absent. The parts are content."""
    if form != v1.CONTENT_FORM_PARTS:
        if not parts:
            return None if form == v1.CONTENT_FORM_ABSENT else NULL
        if len(parts) == 1 and is_plain_text(parts[0][0]):
            return string(parts[0][0].text)
    return array(part(one, path) for one, path in parts)


def json_part(value: Value) -> v1.Part:
    """A part of the provider's own kind: the whole value."""
    return v1.Part(json=compact(value, value.path))


def json_value(part: v1.Part) -> Value:
    """What a json part stands for: its text where that is JSON, else a string that holds it."""
    value = read_compactable(part.json)
    return string(part.json) if value is None else value


def literal_true(is_set: bool) -> Value | None:
    """The literal true, or no member."""
    return TRUE if is_set else None


def optional_string(message: v1.Message | v1.ToolCall, field: str) -> Value | None:
    """The string of a field that is set, or no member."""
    return string(getattr(message, field)) if message.HasField(field) else None


def typed(kind: str, members: dict[str, Value | None] | None = None) -> Value:
    """An object with a type and these members."""
    return obj({"type": string(kind), **(members or {})})


def check(message: v1.Message, path: str) -> None:
    """ConversionError where a server would refuse a message that was made of what stands at a path."""
    try:
        check_message(message, "")
    except FieldError as error:
        raise ConversionError(path, "is refused: " + f"{error.field} {error.rule}".strip()) from None


def differences(path: str, want: v1.Message, got: v1.Message, report: Report) -> None:
    """Notes as inexact where got, read from what was written for want, is not want."""
    if want == got:
        return
    fields = [f"{index('.parts', i)}" for i, part in enumerate(want.parts) if i >= len(got.parts) or part != got.parts[i]]
    if not fields and len(want.parts) != len(got.parts):
        fields.append(".parts")
    for field in ("role", "tool_call_id", "is_error", "name", "state", "content_form", "joined", "origin", "extras"):
        optional = field in ("tool_call_id", "name")
        if getattr(want, field) != getattr(got, field) or (optional and want.HasField(field) != got.HasField(field)):
            fields.append(f".{field}")
    report.extend(Change(path + field, "inexact") for field in fields)
