"""Transcript messages into items that the Responses API accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ... import v1
from ..._convert.content import typed
from ..._convert.framework import all_for_provider
from ..._convert.groups import Names, Step, split
from ..._convert.report import Change, ChangeKind, ConversionError, NoMessagesError, Report, index
from ..._convert.taker import read_extras
from ..._json import Value, array, obj, plain, string, write
from ...texts import STUB
from ._input import Input
from ._items import INNER, NAMES
from ._turn import Given, Turn

_MAX_BYTES = 64  # of names and ids: the API's limit
_NO_NAME, _NO_ID = "unknown", "call"


def for_model(messages: Sequence[v1.Message]) -> tuple[list[dict[str, Any]], Report]:
    """Writes messages as items that the Responses API accepts as input, from whatever provider they came.

    Each call is followed by exactly one result, behind the items of its group; call ids are unique and well-formed; no message is empty; each
    part is of a kind that its role may have. Reasoning goes back where OpenAI encrypted it, and something follows it. Items have no ids, so
    that nothing need be stored at OpenAI; what its tools did is left out. The report tells, by the paths of the given messages, all that was
    changed. Call arguments are never touched.

    What was written for the messages of a chain begins what is written for a longer chain, unless the chain ended within a group or in
    reasoning. NoMessagesError; ConversionError as for `format`.
    """
    value, report = _for_model(messages)
    return plain(value), report


def for_model_text(messages: Sequence[v1.Message]) -> tuple[str, Report]:
    """`for_model` as JSON text."""
    value, report = _for_model(messages)
    return write(value), report


def _for_model(messages: Sequence[v1.Message]) -> tuple[Value, Report]:
    report: Report = []
    model = _Model(all_for_provider(messages, INNER, report), report)
    steps, left_out = split(model.messages)
    for i in left_out:
        model.change(_path(i), "left_out", "answers no call of its group")
    for step in steps:
        model.step(step)
    if not model.out:
        raise NoMessagesError(report)
    return array(model.out), report


def _path(i: int) -> str:
    return index("messages", i)


class _Model:
    """The state of one for_model."""

    def __init__(self, messages: Sequence[v1.Message], report: Report) -> None:
        self.messages, self.report = messages, report
        self.out: list[Value] = []
        self._ids, self._names = Names(_MAX_BYTES, _NO_ID), Names(_MAX_BYTES, _NO_NAME)

    def change(self, path: str, kind: ChangeKind, why: str) -> None:
        self.report.append(Change(path, kind, why=why))

    def step(self, step: Step) -> None:
        """Writes a message or a group."""
        if step.calls:
            self._group(step)
        elif self.messages[step.message].role == v1.ROLE_ASSISTANT:
            self._turn(step.message, {})
        else:
            self._speaks(step.message)

    def _speaks(self, i: int) -> None:
        """Writes a message of the system, the developer or the user."""
        message = self.messages[i]
        if message.role not in NAMES:
            raise ConversionError(f"{_path(i)}.role", "is not a role")
        content = self._input(i)
        if content.empty:
            self.change(_path(i), "left_out", "has no content")
            return
        self.out.append(obj({"role": string(NAMES[message.role]), "content": content.value()}))

    def _input(self, i: int) -> Input:
        content = Input(self.messages[i], _path(i), self.report)
        self._others(i)
        return content

    def _others(self, i: int) -> None:
        """Reports a message's other members, none of which is written."""
        if self.messages[i].HasField("name"):
            self.change(f"{_path(i)}.name", "left_out", "items have no such member")
        if self.messages[i].extras not in ("", '{"type":"message"}'):
            self.change(f"{_path(i)}.extras", "left_out", "only documented members are written")

    def _turn(self, i: int, given: Mapping[int, Given]) -> None:
        """Writes the items of an assistant's message, whose calls were given these by their parts."""
        turn = Turn(self.report, self._names, given)
        for j, part in enumerate(self.messages[i].parts):
            path = index(f"{_path(i)}.parts", j)
            turn.part(part, j, read_extras(part.extras, f"{path}.extras"), path)
        turn.end()
        self._others(i)
        if not turn.items:
            self.change(_path(i), "left_out", "has no content")
        self.out.extend(turn.items)

    def _group(self, step: Step) -> None:
        """Writes a group: the items of its assistant messages, then a result for each of its calls."""
        given = [Given(self._ids.unique(call.call.id)) for call in step.calls]
        for call, one in zip(step.calls, given, strict=True):
            if call.call.id != one.id or not call.call.HasField("id"):
                path = f"{index(f'{_path(call.message)}.parts', call.part)}.tool_call.id"
                self.report.append(Change(path, "renamed", from_=call.call.id, to=one.id))
        for i in step.assistants:
            self._turn(i, {call.part: one for call, one in zip(step.calls, given, strict=True) if call.message == i})
        for k in step.answered:
            result = step.calls[k].result
            assert result is not None
            content = self._input(result)
            if self.messages[result].is_error:
                self.change(f"{_path(result)}.is_error", "left_out", "results have no such member")
            self.out.append(_output(given[k], content.value()))
        for call, one in zip(step.calls, given, strict=True):
            if call.result is None:
                self.change(index(f"{_path(call.message)}.parts", call.part), "added", "has no result")
                self.out.append(_output(one, string(STUB)))


def _output(given: Given, content: Value) -> Value:
    """The item of a call's result."""
    kind = "custom_tool_call_output" if given.custom else "function_call_output"
    return typed(kind, {"call_id": string(given.id), "output": content})
