"""Transcript messages into what the chat-completions API accepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import v1
from .._convert.framework import Inner, all_for_provider
from .._convert.groups import Names, Step, split
from .._convert.report import Change, ChangeKind, NoMessagesError, Report, index
from .._json import Value, array, obj, plain, string, write
from ..texts import STUB
from ._calls import model_call
from ._content import Content, Writer
from ._format import role_of

_MAX_NAME_BYTES, _MAX_ID_BYTES = 64, 40  # the API's limits
_NO_NAME, _NO_ID = "unknown", "call"


def for_model(messages: Sequence[v1.Message]) -> tuple[list[dict[str, Any]], Report]:
    """Writes messages as the chat-completions API accepts them, from whatever provider they came.

    Each assistant message with calls is followed by exactly one result for each call, the assistant messages of a group are one, call ids
    are unique and well-formed, no message is empty, and each part is of a kind that its role may have. The report tells, by the paths of
    the given messages, all that was changed. Call arguments are never touched. What was written for the messages of a chain begins what is
    written for a longer chain, unless the chain ended within a group. NoMessagesError; ConversionError as for `format`.
    """
    value, report = _for_model(messages)
    return plain(value), report


def for_model_text(messages: Sequence[v1.Message]) -> tuple[str, Report]:
    """`for_model` as JSON text."""
    value, report = _for_model(messages)
    return write(value), report


def _for_model(messages: Sequence[v1.Message]) -> tuple[Value, Report]:
    report: Report = []
    model = _Model(all_for_provider(messages, Inner(), report), report)
    steps, left_out = split(model.messages)
    for i in left_out:
        model.change(_path(i), "left_out", "answers no call of its group")
    for step in steps:
        if step.calls:
            model.group(step)
        else:
            model.message(step.message)
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
        # Unique in the whole request: the API may take one again that was answered, but servers that have its form may not.
        self._ids = Names(_MAX_ID_BYTES, _NO_ID)
        self._names = Names(_MAX_NAME_BYTES, _NO_NAME)
        self._writer = Writer(report)

    def change(self, path: str, kind: ChangeKind, why: str) -> None:
        self.report.append(Change(path, kind, why=why))

    def message(self, i: int) -> None:
        """Writes a message that is in no group, if it has content."""
        role = role_of(self.messages[i], _path(i))
        content = Content()
        self._content(i, content)
        if not content.items:
            self.change(_path(i), "left_out", "has no content")
            return
        self.out.append(obj({"role": role, "content": content.value(), "name": self._name(i)}))

    def group(self, step: Step) -> None:
        """Writes a group: one assistant message, a result for each of its calls, and what the results cannot hold."""
        content = Content()
        for k, i in enumerate(step.assistants):
            if k > 0:
                self.change(_path(i), "joined", "one assistant message comes before the results")
                self._no_name(i, "the message has the first one's")
            self._content(i, content)
        name = self._name(step.assistants[0])
        ids, calls = self._calls(step)
        self.out.append(obj({"role": string("assistant"), "content": content.value(), "name": name, "tool_calls": array(calls)}))
        self._results(step, ids)

    def _content(self, i: int, content: Content) -> None:
        self._writer.content(self.messages[i], _path(i), content)
        if self.messages[i].extras:
            self.change(f"{_path(i)}.extras", "left_out", "only documented members are written")

    def _calls(self, step: Step) -> tuple[list[str], list[Value]]:
        """The ids and the items of a group's calls."""
        ids: list[str] = []
        calls: list[Value] = []
        for call in step.calls:
            path = f"{index(f'{_path(call.message)}.parts', call.part)}.tool_call"
            ids.append(self._ids.unique(call.call.id))
            self._renamed(f"{path}.id", call.call, "id", ids[-1])
            name = self._names.clean(call.call.name)
            self._renamed(f"{path}.name", call.call, "name", name)
            calls.append(model_call(self.messages[call.message].parts[call.part], ids[-1], name))
        return ids, calls

    def _renamed(self, path: str, message: v1.Message | v1.ToolCall, field: str, to: str) -> None:
        was = getattr(message, field)
        if was != to or not message.HasField(field):
            self.report.append(Change(path, "renamed", from_=was, to=to))

    def _results(self, step: Step, ids: Sequence[str]) -> None:
        """Writes the results of a group in the order in which they came, then a stub for each call without one, then a user's message with
        the media that results cannot hold."""
        moved: list[Value] = []
        for k in step.answered:
            i = step.calls[k].result
            assert i is not None
            content = Content(ids[k])
            self._content(i, content)
            if self.messages[i].is_error:
                self.change(f"{_path(i)}.is_error", "left_out", "results have no such member")
            self._no_name(i, "results have no such member")
            self._result(ids[k], content.value())
            moved.extend(content.moved)
        for k, call in enumerate(step.calls):
            if call.result is None:
                self.change(index(f"{_path(call.message)}.parts", call.part), "added", "has no result")
                self._result(ids[k], string(STUB))
        if moved:
            self.out.append(obj({"role": string("user"), "content": array(moved)}))

    def _result(self, call_id: str, content: Value) -> None:
        self.out.append(obj({"role": string("tool"), "tool_call_id": string(call_id), "content": content}))

    def _name(self, i: int) -> Value | None:
        """The name of a speaker that is not a tool."""
        message = self.messages[i]
        if not message.HasField("name"):
            return None
        if not message.name:
            self.change(f"{_path(i)}.name", "left_out", "is empty")
            return None
        name = self._names.clean(message.name)
        self._renamed(f"{_path(i)}.name", message, "name", name)
        return string(name)

    def _no_name(self, i: int, why: str) -> None:
        """Reports a name that is not written."""
        if self.messages[i].HasField("name"):
            self.change(f"{_path(i)}.name", "left_out", why)
