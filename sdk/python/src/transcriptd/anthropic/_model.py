"""Transcript messages into a request that the Messages API accepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import v1
from .._convert.content import WHITE_SPACE
from .._convert.framework import Inner, all_for_provider
from .._convert.groups import Names, Step, split
from .._convert.report import Change, ChangeKind, ConversionError, NoMessagesError, Report, index
from .._json import TRUE, Value, array, obj, plain, string, write
from ..texts import STUB
from ._finish import finish
from ._format import role_name
from ._items import Item, Items, Place, content_value, failed, text_item
from ._parse import MESSAGE

_MAX_NAME_BYTES, _MAX_ID_BYTES = 128, 64  # the API's limits
_NO_NAME, _NO_ID = "unknown", "call"


def for_model(messages: Sequence[v1.Message]) -> tuple[dict[str, Any], Report]:
    """Writes messages as {"system": …, "messages": […]} that the Messages API accepts, from whatever provider they came.

    The user speaks first, roles alternate, each assistant message with calls is followed by a user's message that begins with exactly one
    result for each call, call ids are unique and well-formed, inputs are objects, thinking is signed, and no text is blank. The report
    tells, by the paths of the given messages, all that was changed. A request of the caller's adds model, max_tokens and the like, and
    declares the server tools whose blocks it holds.

    What was written for the messages of a chain begins what is written for a longer chain, unless the chain ended within a group or with an
    assistant message. NoMessagesError; ConversionError as for `format`.
    """
    value, report = _for_model(messages)
    return plain(value), report


def for_model_text(messages: Sequence[v1.Message]) -> tuple[str, Report]:
    """`for_model` as JSON text, which has numbers as they were spelled."""
    value, report = _for_model(messages)
    return write(value), report


def _for_model(messages: Sequence[v1.Message]) -> tuple[Value, Report]:
    report: Report = []
    model = _Model(all_for_provider(messages, Inner(message=MESSAGE), report), report)
    steps, left_out = split(model.messages)
    for i in left_out:
        model.change(_path(i), "left_out", "answers no call of its group")
    for step in steps:
        model.step(step)
    turns = _whole(model.turns, report)
    if not turns:
        raise NoMessagesError(report)
    written = array(obj({"role": string(turn.role), "content": content_value(turn.items)}) for turn in turns)
    return obj({"system": content_value(model.system) if model.system else None, "messages": written}), report


def _path(i: int) -> str:
    return index("messages", i)


@dataclass
class _Turn:
    """One message to be written."""

    role: str
    items: list[Item]


def _whole(turns: Sequence[_Turn], report: Report) -> list[_Turn]:
    """The turns that have content, as finish leaves it; the last does not end in white space if it is the assistant's."""
    joined: list[_Turn] = []
    for turn in turns:
        items = finish(turn.items, report) if turn.role == "assistant" else turn.items
        if items and joined and joined[-1].role == turn.role:
            joined[-1].items.extend(items)
        elif items:
            joined.append(_Turn(turn.role, items))
    if joined and joined[-1].role == "assistant":
        last = joined[-1].items[-1]
        trimmed = last.text.rstrip(WHITE_SPACE)
        if last.kind == "text" and trimmed != last.text:
            report.append(Change(last.path, "replaced", why="the last message cannot end in white space"))
            joined[-1].items[-1] = text_item(trimmed, last.path)
    return joined


class _Model:
    """The state of one for_model."""

    def __init__(self, messages: Sequence[v1.Message], report: Report) -> None:
        self.messages, self.report = messages, report
        self.system: list[Item] = []
        self.turns: list[_Turn] = []
        self._ids = Names(_MAX_ID_BYTES, _NO_ID)
        self._writer = Items(report, Names(_MAX_NAME_BYTES, _NO_NAME), self._ids)

    def change(self, path: str, kind: ChangeKind, why: str) -> None:
        self.report.append(Change(path, kind, why=why))

    def step(self, step: Step) -> None:
        """Writes a message or a group. Until a user has spoken, only what the system says is written."""
        role = role_name(self.messages[step.message])
        if not role:
            raise ConversionError(f"{_path(step.message)}.role", "is not a role")
        if role == "system":
            self._instruction(step.message)
        elif role == "user":
            self._plain("user", step.message)
        elif not self.turns:
            self._lead_in(step)
        elif not step.calls:
            self._plain("assistant", step.message)
        else:
            self._group(step)

    def _lead_in(self, step: Step) -> None:
        """Reports what comes before any user."""
        results = [step.calls[k].result for k in step.answered]
        for i in [*(step.assistants or [step.message]), *(r for r in results if r is not None)]:
            self.change(_path(i), "left_out", "comes before the first user's message")

    def _items(self, i: int, ids: Mapping[Place, str] | None = None) -> list[Item]:
        """The blocks of a message whose calls have these ids."""
        items = self._writer.of(self.messages[i], i, _path(i), ids or {})
        if self.messages[i].HasField("name"):
            self.change(f"{_path(i)}.name", "left_out", "messages have no such member")
        if self.messages[i].extras not in ("", '{"role":"system"}'):
            self.change(f"{_path(i)}.extras", "left_out", "only documented members are written")
        return items

    def _instruction(self, i: int) -> None:
        """Writes what the system or developer says: to the member system before any user has spoken, else as marked text of the user's."""
        items = self._items(i)
        if not items:
            self.change(_path(i), "left_out", "has no content")
        elif not self.turns:
            self.system.extend(items)
        else:
            self.change(_path(i), "replaced", "the system speaks only before all others")
            self._append("user", [text_item(f"<system>\n{item.text}\n</system>", item.path) for item in items])

    def _plain(self, role: str, i: int) -> None:
        """Writes a message that is in no group, if it has content."""
        items = self._items(i)
        if not items:
            self.change(_path(i), "left_out", "has no content")
            return
        self._append_reported(role, items, i)

    def _append(self, role: str, items: list[Item]) -> bool:
        """Adds blocks to the last turn, if it is the role's, else a turn. It tells whether it was."""
        if self.turns and self.turns[-1].role == role:
            self.turns[-1].items.extend(items)
            return True
        self.turns.append(_Turn(role, items))
        return False

    def _append_reported(self, role: str, items: list[Item], i: int) -> None:
        if self._append(role, items) and not self.messages[i].joined:
            self.change(_path(i), "joined", "roles alternate")

    def _group(self, step: Step) -> None:
        """Writes a group: one assistant message, then one of the user's with a result for each call."""
        ids: dict[Place, str] = {}
        for call in step.calls:
            unique = self._ids.unique(call.call.id)
            ids[(call.message, call.part)] = unique
            if call.call.id != unique or not call.call.HasField("id"):
                path = f"{index(f'{_path(call.message)}.parts', call.part)}.tool_call.id"
                self.report.append(Change(path, "renamed", from_=call.call.id, to=unique))
        for i in step.assistants:
            self._append_reported("assistant", self._items(i, ids), i)
        self._results(step, list(ids.values()))

    def _results(self, step: Step, ids: Sequence[str]) -> None:
        """Writes the results of a group in the order in which they came, then a stub for each call without one."""
        items: list[Item] = []
        for k in step.answered:
            i = step.calls[k].result
            assert i is not None
            items.append(self._result(i, ids[k]))
        for k, call in enumerate(step.calls):
            if call.result is None:
                path = index(f"{_path(call.message)}.parts", call.part)
                self.change(path, "added", "has no result")
                items.append(_result_item(path, ids[k], string(STUB)))
        self._append("user", items)

    def _result(self, i: int, call_id: str) -> Item:
        """The tool_result block of a result. One that failed holds text, and nothing else."""
        items = self._items(i)
        if self.messages[i].is_error:
            items = failed(items, _path(i), self.report)
        content = content_value(items) if items else None
        return _result_item(_path(i), call_id, content, TRUE if self.messages[i].is_error else None)


def _result_item(path: str, call_id: str, content: Value | None, is_error: Value | None = None) -> Item:
    block = obj({"type": string("tool_result"), "tool_use_id": string(call_id), "is_error": is_error, "content": content})
    return Item(block, "tool_result", path)
