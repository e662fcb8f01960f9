"""A model without a network: what it says follows from what it is sent, by the rules in examples/reply-chain/README.md."""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from transcriptd import assistant, call, calls, text
from transcriptd.v1 import Message, Role, ToolCall

SUMMARY_LINES = 40  # that a summary keeps, the last ones

_SUMMARY_RESULT = re.compile(r"- (\w+) (call_[0-9a-f]{8}_[0-9]+): (.*)", re.ASCII)
_WHOLE = re.compile(r"-?[0-9]{1,9}")


class Result(NamedTuple):
    """A call with the last line of its result."""

    tool: str
    id: str
    text: str


def answer(messages: Sequence[Message]) -> Message:
    """What the model says to messages: calls of tools, or a text. No messages are an empty text."""
    last = max((i for i, m in enumerate(messages) if m.role == Role.ROLE_USER), default=-1)
    if last < 0:
        return assistant("")
    asked = _last_text(messages[last])
    if asked.startswith("Summarize"):
        return assistant(_summary(messages[:last]))
    known = _results(messages)
    by_id = {r.id: r for r in known}
    prefix = "call_" + hashlib.sha256(asked.encode()).hexdigest()[:8]
    told = []
    number = 0
    for wanted in asked.split("; "):
        round_calls = []
        for words in wanted.split(" & "):
            one = _call(f"{prefix}_{number}", words.split(" "), [r for r in known if not r.id.startswith(prefix)])
            if one is not None:
                number += 1
                round_calls.append(one)
        if any(one.id not in by_id for one in round_calls):
            return assistant("", *round_calls)
        told += [f"{by_id[one.id].tool}: {by_id[one.id].text}" for one in round_calls]
    return assistant("; ".join(told) if told else "You said: " + asked)


def _call(id: str, words: list[str], earlier: list[Result]) -> ToolCall | None:
    match words:
        case ["read", name]:
            return _json_call(id, "read_note", name=name)
        case ["calc", a, op, b]:
            return _json_call(id, "calculate", a=_number(a), op=op, b=_number(b))
        case ["pay", to, amount]:
            return _json_call(id, "pay", to=to, amount=_number(amount))
        case ["ring"]:
            return _json_call(id, "ring")
        case ["call", name, first, *more]:
            return call(id, name, " ".join([first, *more]))
        case ["recall", tool]:
            wanted = [r.id for r in earlier if r.tool == tool]
            return _json_call(id, "recall_tool_call", call_id=wanted[-1] if wanted else "none")
    return None


def _json_call(id: str, name: str, /, **arguments: str | int) -> ToolCall:
    return call(id, name, json.dumps(arguments, separators=(",", ":"), ensure_ascii=False))


def _number(word: str) -> int:
    return int(word) if _WHOLE.fullmatch(word) else 0


def _results(messages: Sequence[Message]) -> list[Result]:
    """The results in messages, also those that a summary tells of, in order."""
    found = []
    names: dict[str, str] = {}
    for m in messages:
        names |= {c.id: c.name for c in calls(m)}
        if m.role == Role.ROLE_TOOL:
            found.append(_result(m, names))
        elif m.role == Role.ROLE_USER:
            found += [Result(*line.groups()) for line in map(_SUMMARY_RESULT.fullmatch, _summary_lines(m)) if line]
    return found


def _result(m: Message, names: dict[str, str]) -> Result:
    return Result(names.get(m.tool_call_id, ""), m.tool_call_id, text(m).rstrip("\n").split("\n")[-1])


def _summary_lines(m: Message) -> list[str]:
    return [line for part in m.parts if part.text.startswith("- ") for line in part.text.split("\n")]


def _summary(messages: Sequence[Message]) -> str:
    """Tells of messages, a line each, and repeats the summary that is among them."""
    lines = []
    names: dict[str, str] = {}
    for m in messages:
        names |= {c.id: c.name for c in calls(m)}
        if m.role == Role.ROLE_TOOL:
            lines.append("- {} {}: {}".format(*_result(m, names)))
        elif m.role == Role.ROLE_USER:
            lines += _summary_lines(m)
            if not _last_text(m).startswith("- "):
                lines.append("- user: " + _last_text(m))
        elif m.role == Role.ROLE_ASSISTANT and text(m):
            lines.append("- assistant: " + text(m))
    return "\n".join(lines[-SUMMARY_LINES:])


def _last_text(m: Message) -> str:
    return next((part.text for part in reversed(m.parts) if part.HasField("text")), "")
