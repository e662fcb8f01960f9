"""What the tools of a thread tell a model, and read of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import v1

RECALL = "recall_tool_call"
SEARCH = "search_history"

RECALL_DESCRIPTION = (
    "Get back the full result of an earlier tool call of this conversation. Results that were left out are shown as a line "
    "'[result of NAME, B bytes, left out; recall CALL_ID PLACE]'. Where arguments of a call show '[N bytes left out]', get them back with its id "
    "and arguments true."
)
SEARCH_DESCRIPTION = "Search everything that was said earlier in this conversation, also what is no longer shown. Newest first."

RECALL_USAGE = (
    "The arguments have to be a JSON object with call_id and, where the line has one, place, both texts; offset is a whole number, arguments true or "
    "false."
)
SEARCH_USAGE = "The arguments have to be a JSON object with query, a text; regexp is true or false."

MOST_HITS = 10  # of a search
MOST_PAGES = 20  # that are looked at for them: each is about half a second at most
_TEXT = 20_000  # the characters of a result, or of arguments that it asks for, that a model is given at once
_ARGUMENTS = 2_000  # those of arguments beside a result
_EXCERPT = 200
_PLACE_DIGITS = 12  # the digits of a node's id that name it in a place
_REDACTED = "[redacted]"  # what the server puts in a secret's place


def recall_parameters() -> dict[str, Any]:
    """The arguments of recall_tool_call, as a JSON Schema."""
    return {
        "type": "object",
        "properties": {
            "call_id": {
                "type": "string",
                "description": "The id of the tool call, as the line names it after 'recall'. '-' where it has none.",
            },
            "place": {
                "type": "string",
                "description": "What stands behind the id in the line, such as 3f2a9c0d1e4b.0: names exactly that result.",
            },
            "arguments": {
                "type": "boolean",
                "description": "Whether to get the arguments of the call in place of its result. Default false.",
            },
            "offset": {"type": "integer", "description": "Where to go on in a long text, in characters. Default 0."},
        },
        "required": ["call_id"],
    }


def search_parameters() -> dict[str, Any]:
    """The arguments of search_history, as a JSON Schema."""
    return {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "The text to find, in any case of its letters; or an RE2 pattern where regexp is true.",
            },
            "regexp": {"type": "boolean", "description": "Whether query is an RE2 pattern. Default false."},
        },
        "required": ["query"],
    }


def _object(arguments: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """The members of arguments that a model gave. Empty: they are no JSON object, or hold what is no text."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):  # the latter is for lists in lists, some thousand deep
            return {}
    if not isinstance(arguments, Mapping):
        return {}
    try:
        for value in arguments.values():
            if isinstance(value, str):
                value.encode()
    except UnicodeEncodeError:
        return {}
    return {name: value for name, value in arguments.items() if value is not None}


@dataclass(frozen=True)
class RecallArguments:
    """The arguments of recall_tool_call."""

    call_id: str
    place: str
    arguments: bool
    offset: int

    @classmethod
    def read(cls, given: str | Mapping[str, Any]) -> RecallArguments | None:
        """Reads what a model gave; None: it is of another shape."""
        members = _object(given)
        call_id, place = members.get("call_id", ""), members.get("place", "")
        arguments, offset = members.get("arguments", False), members.get("offset", 0)
        if not isinstance(call_id, str) or not isinstance(place, str) or not isinstance(arguments, bool):
            return None
        if not isinstance(offset, int) or isinstance(offset, bool) or not (call_id or place):
            return None
        return cls(call_id, place, arguments, offset)

    def exact_id(self, redact: bool) -> str | None:
        """The id of the call; None where it has none, or it is not known: an id without its secret is none, and its place is exact."""
        unknown = redact and bool(self.place) and _REDACTED in self.call_id
        return None if self.call_id in ("", "-") or unknown else self.call_id


@dataclass(frozen=True)
class SearchArguments:
    """The arguments of search_history."""

    query: str
    regexp: bool

    @classmethod
    def read(cls, given: str | Mapping[str, Any]) -> SearchArguments | None:
        """Reads what a model gave; None: it is of another shape."""
        members = _object(given)
        query, regexp = members.get("query", ""), members.get("regexp", False)
        if not isinstance(query, str) or not query or not isinstance(regexp, bool):
            return None
        return cls(query, regexp)


def result_text(got: v1.RecallToolCallResponse, offset: int) -> str:
    """A recalled call as a model reads it, with the text of its result from an offset on."""
    head = ""
    if got.HasField("call"):
        shown = got.call.arguments
        head = f"call: {got.call.name} {shown if len(shown) <= _ARGUMENTS else shown[:_ARGUMENTS] + '...'}\n"
    if not got.HasField("result_place"):
        return head + "It has no result."
    error = got.state == v1.TOOL_CALL_STATE_ERROR
    return head + ("result, an error:\n" if error else "result:\n") + _part(_parts_text(got.parts), offset)


def arguments_text(got: v1.RecallToolCallResponse, offset: int) -> str:
    """A recalled call with its arguments from an offset on."""
    if not got.HasField("call"):
        return "The call of this result is not in this conversation."
    return f"call: {got.call.name}, with the arguments:\n" + _part(got.call.arguments, offset)


def _part(text: str, offset: int) -> str:
    """What a model is given at once of a text, from an offset on."""
    if offset > 0 and len(text) <= offset:
        return f"[it has {len(text)} characters: there is nothing at offset {offset}]"
    begin = max(offset, 0)
    end = min(len(text), begin + _TEXT)
    more = f"\n[{len(text) - end} more characters: ask again with offset {end}]" if end < len(text) else ""
    return text[begin:end] + more


def _parts_text(parts: Iterable[v1.Part]) -> str:
    """The text of parts; what is not text is named."""
    return "".join(f"[{part.media.media_type}]" if part.WhichOneof("kind") == "media" else part.text or part.json for part in parts)


def of_tools(name: str) -> bool:
    """Whether a tool is one of these."""
    return name in (SEARCH, RECALL)


def literal(text: str) -> re.Pattern[str]:
    """What a search for a text looks for."""
    return re.compile(re.escape(text), re.IGNORECASE)


def hit_beside_tools(hit: v1.SearchHit, parts: Iterable[v1.Part], pattern: re.Pattern[str]) -> v1.SearchHit | None:
    """A hit in the first of these parts that matches and is no call of the tools themselves; None: there is none."""
    for part in parts:
        call = part.tool_call if part.WhichOneof("kind") == "tool_call" else None
        if call is not None and of_tools(call.name):
            continue
        for text in (part.text, part.reasoning.text, part.json, call.name if call else "", call.arguments if call else ""):
            found = pattern.search(text) if text else None
            if found:
                return _hit_in(hit, call, _around(text, found.start()))
    return None


def _hit_in(hit: v1.SearchHit, call: v1.ToolCall | None, excerpt: str) -> v1.SearchHit:
    """A hit in another part of its message."""
    other = v1.SearchHit(place=hit.place, role=hit.role, excerpt=excerpt)
    if hit.HasField("sent_at"):
        other.sent_at.CopyFrom(hit.sent_at)
    if hit.role == v1.ROLE_TOOL:
        if hit.HasField("tool_call_id"):
            other.tool_call_id = hit.tool_call_id
        if hit.HasField("tool_name"):
            other.tool_name = hit.tool_name
    if call is not None and call.HasField("name"):
        other.tool_name = call.name
    return other


def _around(text: str, at: int) -> str:
    """Some 200 characters of a text, a third of them before a place, as the server's excerpts are."""
    before = _EXCERPT // 3
    return text[max(0, at - before) : at + _EXCERPT - before]


def hits_text(hits: Sequence[v1.SearchHit], more: bool) -> str:
    """What was found as a model reads it."""
    lines = "".join(map(_hit_text, hits[:MOST_HITS]))
    if len(hits) > MOST_HITS:
        return lines + "[there is more: use a narrower query]\n"
    if more:
        return lines + "[the oldest messages were not looked at: it would take too long]\n"
    return lines or "Nothing was found."


def _hit_text(hit: v1.SearchHit) -> str:
    """A hit as a model reads it, with what recall_tool_call needs to give all of a result."""
    what = v1.Role.Name(hit.role).removeprefix("ROLE_").lower()
    if hit.HasField("tool_name"):
        what += f" {hit.tool_name}"
    if hit.HasField("sent_at"):
        what += hit.sent_at.ToDatetime().strftime(" %Y-%m-%d %H:%M")
    if hit.role == v1.ROLE_TOOL and len(hit.place.node_id) >= _PLACE_DIGITS:
        call_id = hit.tool_call_id if hit.HasField("tool_call_id") else "-"
        what += f" (recall {call_id} {hit.place.node_id[:_PLACE_DIGITS]}.{hit.place.message_index})"
    return f"- {what}: {' '.join(hit.excerpt.split())}\n"
