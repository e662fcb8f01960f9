"""JSON as a tree that keeps the order of members and the spelling of numbers, for what ids are computed from."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from typing import Any, Literal

from ._convert.report import Change, ConversionError, Report, index, join

Kind = Literal["null", "bool", "number", "string", "list", "object"]

MAX_EXTRAS_DEPTH = 128
"""How many objects and lists may lie in each other in extras."""

_MAX_DEPTH = 256  # in a document; it leaves room for extras below what a converter takes
_PATH_LEVELS = 16  # how deep a path names; what lies deeper is named by "…"

_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"', re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[0-9]+)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?")  # as far as it may go; it is whole where _WHOLE is it
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_LITERAL = re.compile("null|true|false")
_quote = json.JSONEncoder(ensure_ascii=False).encode  # escapes as JSON.stringify does


class Value:
    """One JSON value: read from a document, or made to be written."""

    __slots__ = ("items", "kind", "members", "parent", "place", "text")

    def __init__(self, kind: Kind, text: str = "", items: list[Value] | None = None, members: dict[str, Value] | None = None) -> None:
        self.kind: Kind = kind
        self.text = text
        """A string's text, in which a lone surrogate is U+FFFD; the spelling of a number or a literal."""
        self.items = items if items is not None else []
        self.members = members if members is not None else {}
        self.parent: Value | None = None
        self.place: str | int = ""
        """The name or number in the parent; of a document its path."""

    @property
    def path(self) -> str:
        """The value's path: `messages[3].content`. Empty for a document without a name."""
        places: list[str | int] = []
        value = self
        while value.parent is not None:
            places.append(value.place)
            value = value.parent
        path = str(value.place)
        for place in places[: -_PATH_LEVELS - 1 : -1]:
            path = index(path, place) if isinstance(place, int) else join(path, place)
        return path + "…" if len(places) > _PATH_LEVELS else path

    def member(self, name: str) -> Value | None:
        """The member with that name; None also of what is no object."""
        return self.members.get(name)

    @property
    def string(self) -> str | None:
        """A string's text; None of any other kind."""
        return self.text if self.kind == "string" else None

    @property
    def is_true(self) -> bool:
        """Whether the value is the literal true."""
        return self.kind == "bool" and self.text == "true"

    def without(self, name: str) -> Value:
        """The object without a member, in the same place."""
        other = Value("object", members={n: v for n, v in self.members.items() if n != name})
        other.parent, other.place = self.parent, self.place
        return other


def string(text: str) -> Value:
    """A string."""
    return Value("string", text)


def array(items: Iterable[Value] = ()) -> Value:
    """A list."""
    return Value("list", items=list(items))


def obj(members: dict[str, Value | None] | None = None) -> Value:
    """An object of the members that are there."""
    return Value("object", members={name: value for name, value in (members or {}).items() if value is not None})


NULL = Value("null", "null")
TRUE = Value("bool", "true")


def merged(value: Value, extras: Value | None) -> Value:
    """An object and the members of extras that it has not.

    Where both have an object, these are merged likewise; where both have something else, the object's stays. The members that extras has
    come last, in its order, so that taking the others out gives extras again.
    """
    if extras is None:
        return value
    members = {name: own for name, own in value.members.items() if name not in extras.members}
    for name, more in extras.members.items():
        have = value.members.get(name, more)
        members[name] = merged(have, more) if have is not more and have.kind == more.kind == "object" else have
    return Value("object", members=members)


def write(value: Value) -> str:
    """The one compact form: members in their order, no white space, strings escaped as JSON.stringify does, numbers as they are spelled."""
    out: list[str] = []
    _append(out, value, sys.maxsize)
    return "".join(out)


def compact(value: Value, path: str) -> str:
    """The compact form, as extras have it. ConversionError where it is nested more than 128 deep."""
    out: list[str] = []
    if not _append(out, value, MAX_EXTRAS_DEPTH):
        raise ConversionError(path, f"is refused: nested deeper than {MAX_EXTRAS_DEPTH}")
    return "".join(out)


def _append(out: list[str], value: Value, levels: int) -> bool:
    """Appends the compact form; False where it is nested deeper than so many levels."""
    if value.kind == "string":
        out.append(_quote(value.text))
        return True
    if value.kind not in ("list", "object"):
        out.append(value.text)
        return True
    if levels == 0:
        return False
    before = "[" if value.kind == "list" else "{"
    for item in value.items:
        out.append(before)
        before = ","
        if not _append(out, item, levels - 1):
            return False
    for name, member in value.members.items():
        out.append(f"{before}{_quote(name)}:")
        before = ","
        if not _append(out, member, levels - 1):
            return False
    brackets = "[]" if value.kind == "list" else "{}"
    out.append(brackets if before != "," else brackets[1])
    return True


def plain(value: Value) -> Any:
    """What the json module reads a value as. ConversionError for a number that Python has not."""
    if value.kind == "string":
        return value.text
    if value.kind == "list":
        return [plain(item) for item in value.items]
    if value.kind == "object":
        return {name: plain(member) for name, member in value.members.items()}
    try:
        made = json.loads(value.text)
    except ValueError:  # Python has a limit on the digits of an int
        made = float("inf")
    if made in (float("inf"), float("-inf")):
        raise ConversionError(value.path, "is a number that Python does not hold: take the JSON text instead")
    return made


def read_any(text: str) -> Value | None:
    """The value that a text is JSON of; None where it is none."""
    try:
        return read(text, "", [])
    except ConversionError:
        return None


def read_compactable(text: str) -> Value | None:
    """The value that a text is JSON of, as extras may have it: at most 128 deep. None where it is none."""
    value = read_any(text)
    return value if value is not None and _append([], value, MAX_EXTRAS_DEPTH) else None


def read(source: object, root: str, report: Report) -> Value:
    """Reads one JSON text (RFC 8259), whose path is root: a str, bytes in UTF-8, or lists and dicts, which are written as JSON before.

    No member may stand twice in an object. Each string with lone surrogates is noted in the report. ConversionError where it is no JSON;
    TypeError for objects of which JSON has none.
    """
    return _Reader(_text_of(source, root), report).document(root)


def _text_of(source: object, root: str) -> str:
    """The text to read. Bytes that are not UTF-8 are surrogates by themselves in it."""
    if isinstance(source, str):
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source).decode("utf-8", "surrogateescape")
    try:
        return json.dumps(source, allow_nan=False, check_circular=True)
    except TypeError:
        how = "pass JSON as str or bytes, or as lists and dicts; of a client's object its model_dump(mode='json', exclude_unset=True)"
        raise TypeError(f"{how}: {root or 'the document'} is a {type(source).__name__}, or holds what JSON has not") from None
    except (ValueError, RecursionError):
        raise ConversionError(root, "holds NaN, an infinite number or itself, or is nested too deep, and is not JSON") from None


class _Reader:
    """Reads one document once, without recursion."""

    def __init__(self, source: str, report: Report) -> None:
        self._source, self._report, self._at = source, report, 0

    def document(self, root: str) -> Value:
        parent: Value | None = None
        place: str | int = root
        depth = 1
        while True:
            value = self._value(parent, place, depth)
            if value.kind in ("list", "object") and not self._skip("]" if value.kind == "list" else "}"):
                parent, depth = value, depth + 1
                place = self._first(value)
                continue
            while True:  # value is whole
                if parent is None:
                    if self._next():
                        raise ConversionError(root, "holds more than one JSON text")
                    return value
                if parent.kind == "list":
                    parent.items.append(value)
                    place = len(parent.items)
                elif value.place in parent.members:
                    raise ConversionError(value.path, "stands twice in its object")
                else:
                    parent.members[str(value.place)] = value
                if self._skip(","):
                    if parent.kind == "object":
                        place = self._name(parent)
                    break
                if not self._skip("]" if parent.kind == "list" else "}"):
                    raise _not_json(parent)
                value, parent, depth = parent, parent.parent, depth - 1

    def _first(self, container: Value) -> str | int:
        return 0 if container.kind == "list" else self._name(container)

    def _next(self) -> str:
        """Skips white space and gives the character there, nothing at the end."""
        match = _SPACE.match(self._source, self._at)
        assert match is not None
        self._at = match.end()
        return self._source[self._at : self._at + 1]

    def _skip(self, character: str) -> bool:
        if self._next() != character:
            return False
        self._at += 1
        return True

    def _value(self, parent: Value | None, place: str | int, depth: int) -> Value:
        """Reads a value, of a list or an object the bracket alone."""
        first = self._next()
        value = Value("null")
        value.parent, value.place = parent, place
        if depth > _MAX_DEPTH:
            raise ConversionError(value.path, "is nested too deep")
        if first == '"':
            value.kind, value.text = "string", self._string(value)
        elif first == "{" or first == "[":
            self._at += 1
            value.kind = "object" if first == "{" else "list"
        elif first == "-" or "0" <= first <= "9":
            value.kind, value.text = "number", self._take(_NUMBER, value)
            if not _WHOLE.fullmatch(value.text):
                raise _not_json(value)
        else:
            value.text = self._take(_LITERAL, value)
            value.kind = "null" if value.text == "null" else "bool"
        return value

    def _take(self, pattern: re.Pattern[str], value: Value) -> str:
        match = pattern.match(self._source, self._at)
        if match is None:
            raise _not_json(value)
        self._at = match.end()
        return match[0]

    def _name(self, container: Value) -> str:
        """Reads a member's name and the colon."""
        if self._next() != '"':
            raise _not_json(container)
        name = self._string(container)
        if not self._skip(":"):
            raise _not_json(container)
        return name

    def _string(self, value: Value) -> str:
        """Reads a string; errors name value."""
        token = self._take(_STRING, value)
        if "\\" not in token:
            text, escaped = token[1:-1], False
        else:
            try:
                text, escaped = json.loads(token), True
            except ValueError:
                raise _not_json(value) from None
        if not text.isascii():
            if _SURROGATE.search(token):
                raise ConversionError(value.path, "is not UTF-8")
            if escaped:
                text, lone = _SURROGATE.subn("\ufffd", text)
                if lone:
                    self._report.append(Change(value.path, "surrogates", count=lone))
        return str(text)


def _not_json(value: Value) -> ConversionError:
    return ConversionError(value.path, "is not JSON")
