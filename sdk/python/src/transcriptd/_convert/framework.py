"""What is a framework's own, which no provider is sent: opaque messages, and the member "framework" of extras."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import v1
from .._json import Value, compact, obj
from ..messages import is_opaque
from .content import list_form
from .report import Change, Report, index, join
from .taker import read_extras

FRAMEWORK = "framework"
"""The member of extras, of messages and of parts, that holds a framework's own members."""

_WHY = "is a framework's own"


@dataclass(frozen=True)
class Inner:
    """The members of extras that hold members of another object of the provider's: of a message's extras, and of its parts'. Empty: none."""

    message: str = ""
    part: str = ""


def for_provider(message: v1.Message, path: str, inner: Inner, report: Report) -> v1.Message:
    """A message without what is a framework's own in its extras, in those of its parts, and in the inner members of both.

    Each that goes is reported as left_out. The message stays as it is, and is returned where nothing goes.
    """
    extras = _without(message.extras, f"{path}.extras", inner.message, report)
    own = [_without(part.extras, f"{index(f'{path}.parts', i)}.extras", inner.part, report) for i, part in enumerate(message.parts)]
    if extras == message.extras and all(part.extras == rest for part, rest in zip(message.parts, own, strict=True)):
        return message
    out = v1.Message()
    out.CopyFrom(message)
    out.extras = extras
    for part, rest in zip(out.parts, own, strict=True):
        part.extras = rest
    if not out.content_form and not list_form(message.parts):  # a text that had no other extras stays in a list
        out.content_form = list_form(out.parts)
    return out


def _without(extras: str, path: str, inner: str, report: Report) -> str:
    """Extras without the framework's member, at their top and in the member inner."""
    if f'"{FRAMEWORK}"' not in extras:
        return extras
    value = read_extras(extras, path)
    assert value is not None
    members: dict[str, Value | None] = dict(value.members)
    gone = _leave_out(members, path, report)
    if inner and (nested := members.get(inner)) is not None and FRAMEWORK in nested.members:
        rest: dict[str, Value | None] = dict(nested.members)
        gone = _leave_out(rest, join(path, inner), report)
        members[inner] = obj(rest) if rest else None
    left = obj(members)
    if not gone:
        return extras
    return compact(left, path) if left.members else ""


def _leave_out(members: dict[str, Value | None], path: str, report: Report) -> bool:
    if members.pop(FRAMEWORK, None) is None:
        return False
    report.append(Change(join(path, FRAMEWORK), "left_out", why=_WHY))
    return True


def all_for_provider(messages: Sequence[v1.Message], inner: Inner, report: Report) -> list[v1.Message]:
    """Messages in their places, each for_provider. Opaque messages stay as they are, and are reported as left_out."""
    return [_one(message, index("messages", i), inner, report) for i, message in enumerate(messages)]


def _one(message: v1.Message, path: str, inner: Inner, report: Report) -> v1.Message:
    if is_opaque(message):
        report.append(Change(path, "left_out", why=_WHY))
        return message
    return for_provider(message, path, inner, report)


def without_opaque(messages: Sequence[v1.Message], inner: Inner, report: Report) -> list[tuple[v1.Message, str]]:
    """all_for_provider without the opaque messages, each with its path."""
    every = all_for_provider(messages, inner, report)
    return [(message, index("messages", i)) for i, message in enumerate(every) if not is_opaque(message)]
