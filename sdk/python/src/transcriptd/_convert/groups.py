"""The groups of tool calls in messages, for what providers accept: each call with its one result directly after it.

Calls and results are paired as the server's repair pairs them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from .. import v1
from ..messages import is_opaque


@dataclass
class Call:
    """A call of a group."""

    message: int
    part: int
    call: v1.ToolCall
    result: int | None = None
    """The message that answers it."""


@dataclass
class Step:
    """A message by itself, or a group."""

    message: int
    """The message, or the group's first."""
    assistants: list[int] = field(default_factory=list)
    """The group's messages with calls; none for a message by itself."""
    calls: list[Call] = field(default_factory=list)
    """The group's calls, in order."""
    answered: list[int] = field(default_factory=list)
    """Indices of the calls that have results, in the order of the results."""

    def answer(self, message: v1.Message, i: int) -> bool:
        """Gives the first unanswered call with the result's id its result, if there is one."""
        for k, call in enumerate(self.calls):
            if call.result is None and _same_id(call.call, message):
                call.result = i
                self.answered.append(k)
                return True
        return False


def _same_id(call: v1.ToolCall, result: v1.Message) -> bool:
    return call.HasField("id") == result.HasField("tool_call_id") and call.id == result.tool_call_id


def split(messages: Sequence[v1.Message]) -> tuple[list[Step], list[int]]:
    """Cuts messages into steps, in order, and gives the results that answer no call of their group; these are in no step, and nor are
    opaque messages."""
    steps: list[Step] = []
    left_out: list[int] = []
    group: Step | None = None  # the open one, the last of steps
    for i, message in enumerate(messages):
        if is_opaque(message):
            continue
        if message.role == v1.ROLE_TOOL:
            if group is None or not group.answer(message, i):
                left_out.append(i)
            continue
        calls = _calls_of(message, i)
        if not calls:
            steps.append(Step(i))
            group = None
            continue
        if group is None or group.answered:
            group = Step(i)
            steps.append(group)
        group.assistants.append(i)
        group.calls.extend(calls)
    return steps, left_out


def _calls_of(message: v1.Message, i: int) -> list[Call]:
    """The calls of an assistant; others have none, whatever their parts are."""
    if message.role != v1.ROLE_ASSISTANT:
        return []
    return [Call(i, k, part.tool_call) for k, part in enumerate(message.parts) if part.WhichOneof("kind") == "tool_call"]


_REFUSED = re.compile(rb"[^A-Za-z0-9_-]")


class Names:
    """Makes names that a provider accepts: of letters, digits, "_" and "-", at most so many bytes. `default` stands for an empty one."""

    def __init__(self, most: int, default: str) -> None:
        self._most, self._default = most, default
        self._used: set[str] = set()
        self._last: dict[str, int] = {}  # the last end that was tried for a clean name

    def clean(self, name: str) -> str:
        """The name itself where it is accepted; else it with "_" for each byte that is not, cut."""
        return _REFUSED.sub(b"_", name.encode())[: self._most].decode("ascii") or self._default

    def take(self, name: str) -> bool:
        """Gives a name out, if it is accepted and was not given before."""
        return name != "" and self.clean(name) == name and name not in self._used and self.unique(name) == name

    def unique(self, name: str) -> str:
        """The clean name, or, where it was given before, it with the first of "_2", "_3", … that was not."""
        clean = self.clean(name)
        unique, i = clean, max(2, self._last.get(clean, 0) + 1)
        while unique in self._used:
            end = f"_{i}"
            unique = clean[: self._most - len(end)] + end
            self._last[clean] = i
            i += 1
        self._used.add(unique)
        return unique
