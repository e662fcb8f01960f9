"""The items of an assistant's message, as a model is sent them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ... import v1
from ..._convert.content import typed
from ..._convert.groups import Names
from ..._convert.report import Change, ChangeKind, ConversionError, Report
from ..._json import Value, array, read_any, string
from ._format import said, summary_of
from ._input import Content, report_extras
from ._items import CALLS, CUSTOM, FUNCTION, ITEM, REASONING, is_whole, text_of, texts_of


@dataclass
class Given:
    """What was given to a call."""

    id: str
    custom: bool = False
    """Whether it was written as that of a custom tool."""


class Turn:
    """What was written of the message so far."""

    def __init__(self, report: Report, names: Names, given: Mapping[int, Given]) -> None:
        self._report, self._names, self._given = report, names, given
        self.items: list[Value] = []
        self._said: Content | None = None  # the content of the item of type message that was begun
        self._phase = ""  # of that item
        self._thought: list[tuple[Value, str]] = []  # reasoning that something has to follow, with the paths of its parts

    def _change(self, path: str, kind: ChangeKind, why: str) -> None:
        self._report.append(Change(path, kind, why=why))

    def part(self, part: v1.Part, j: int, extras: Value | None, path: str) -> None:
        """Writes a part."""
        if extras is not None and ITEM in extras.members:
            self._end_message()
            phase = text_of(extras, ITEM, "phase")
            self._phase = phase if phase in ("commentary", "final_answer") else ""
        kind = part.WhichOneof("kind")
        if kind == "text":
            self._say().text(part.text, v1.ROLE_ASSISTANT)
            self._item_extras(path, extras)
        elif kind == "reasoning":
            self._end_message()
            self._reasoning(part.reasoning, extras, path)
        elif kind == "tool_call":
            self._call(part.tool_call, self._given[j], extras, path)
        elif kind == "media":
            self._change(path, "left_out", "messages of this role hold only text")
            report_extras(self._report, path, extras)
        elif kind == "json":
            self._json(part, extras, path)
        else:
            raise ConversionError(path, "has no kind")

    def end(self) -> None:
        """Ends the message."""
        self._end_message()
        for _, path in self._thought:
            self._change(path, "left_out", "nothing follows the reasoning")

    def _say(self) -> Content:
        if self._said is None:
            self._said = Content()
        return self._said

    def _end_message(self) -> None:
        """Writes the item of type message that was begun, if it says something."""
        if self._said is not None and not self._said.empty:
            item = said(self._said.value())
            if self._phase:
                item.members["phase"] = string(self._phase)
            self._write(item)
        self._said, self._phase = None, ""

    def _write(self, item: Value) -> None:
        """Writes an item, and before it the reasoning that it follows."""
        self.items.extend(value for value, _ in self._thought)
        self.items.append(item)
        self._thought = []

    def _item_extras(self, path: str, extras: Value | None) -> None:
        """Reports the other members of a text and of the item that it begins. What an answer tells of itself is no news to the model."""
        if extras is not None and not {ITEM, "annotations", "logprobs"}.issuperset(extras.members):
            self._change(f"{path}.extras", "left_out", "only documented members are written")

    def _reasoning(self, reasoning: v1.Reasoning, extras: Value | None, path: str) -> None:
        """Keeps reasoning that OpenAI encrypted, until something follows it."""
        encrypted = text_of(extras, "encrypted_content")
        if not encrypted:
            self._change(path, "left_out", "reasoning must be encrypted")
            return
        listed = extras.member("summary") if extras is not None else None
        if listed is not None:
            summary = array(typed("summary_text", {"text": string(text)}) for text in texts_of(listed, "summary_text")[0])
        else:
            summary = summary_of(reasoning.text)
        self._thought.append((typed(REASONING, {"encrypted_content": string(encrypted), "summary": summary}), path))

    def _call(self, call: v1.ToolCall, given: Given, extras: Value | None, path: str) -> None:
        """Writes a call, of a function or of a custom tool."""
        self._end_message()
        name = self._names.clean(call.name)
        if call.name != name or not call.HasField("name"):
            self._report.append(Change(f"{path}.tool_call.name", "renamed", from_=call.name, to=name))
        kind = text_of(extras, "type")
        given.custom = kind in ("custom", CUSTOM.kind)  # as chat completions have it, and as this API does
        if not given.custom and kind in CALLS:
            self._change(path, "replaced", "a function stands for the tool")
        called = CUSTOM if given.custom else FUNCTION
        members = {"call_id": string(given.id), "name": string(name)}
        space = text_of(extras, "namespace")
        if space and self._names.clean(space) == space:
            members["namespace"] = string(space)
        if kind not in CALLS or given.custom or kind == FUNCTION.kind:
            self._call_extras(path, extras, "namespace" in members)
        self._write(typed(called.kind, {**members, called.arguments: string(call.arguments)}))

    def _call_extras(self, path: str, extras: Value | None, namespace: bool) -> None:
        """Reports the other members of a call. That an answer has an id and a status is no news to the model."""
        quiet = {"type", "id", "status"} | ({"namespace"} if namespace else set())
        if extras is not None and not quiet.issuperset(extras.members):
            self._change(f"{path}.extras", "left_out", "only documented members are written")

    def _json(self, part: v1.Part, extras: Value | None, path: str) -> None:
        """Writes what the API takes back: a refusal, and what stands for compacted items."""
        value = read_any(part.json)
        kind, refusal, encrypted = (text_of(value, name) for name in ("type", "refusal", "encrypted_content"))
        if kind == "refusal" and refusal:
            self._say().items.append(typed("refusal", {"refusal": string(refusal)}))
            self._item_extras(path, extras)
        elif kind == "compaction" and encrypted and is_whole(part):
            self._end_message()
            self._write(typed("compaction", {"encrypted_content": string(encrypted)}))
        else:
            self._change(path, "left_out", "the API has no such item here")
