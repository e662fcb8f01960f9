"""Messages of a text, calls and results: how they are made, and what they hold."""

from __future__ import annotations

from typing import Any

from . import _check, v1
from .texts import UNKNOWN_RESULT


def system(text: str) -> v1.Message:
    """A system message of one text."""
    return _message(v1.ROLE_SYSTEM, text)


def user(text: str) -> v1.Message:
    """A user message of one text."""
    return _message(v1.ROLE_USER, text)


def assistant(text: str, *calls: v1.ToolCall) -> v1.Message:
    """An assistant message of a text, which may be empty where there are calls, and calls."""
    _check.text("text", text)
    parts = [v1.Part(text=text)] if text or not calls else []
    parts.extend(v1.Part(tool_call=_call(f"calls[{i}]", one)) for i, one in enumerate(calls))
    return v1.Message(role=v1.ROLE_ASSISTANT, parts=parts)


def call(id: str, name: str, arguments: str) -> v1.ToolCall:
    """A tool call with the arguments as the model wrote them."""
    if isinstance(arguments, (dict, list)):
        raise TypeError("arguments must be the text that the model wrote, as a str: json.dumps makes one of an object")
    return v1.ToolCall(id=_check.text("id", id), name=_check.text("name", name), arguments=_check.text("arguments", arguments))


def result(call: v1.ToolCall, text: str, *, is_error: bool = False) -> v1.Message:
    """The result of a call: a tool message of one text with the call's id and name. `is_error`: the call failed."""
    _call("call", call)
    message = _message(v1.ROLE_TOOL, text)
    message.is_error = is_error
    if call.HasField("id"):
        message.tool_call_id = call.id
    if call.HasField("name"):
        message.name = call.name
    return message


def unknown_result(call: v1.ToolCall) -> v1.Message:
    """The answer to a call of which nobody knows whether it ran."""
    return result(call, UNKNOWN_RESULT, is_error=True)


def opaque(kind: str, data: bytes) -> v1.Message:
    """A framework's own state, for a node: the service gives it back in the full view, and no model is sent it.

    `kind` tells a framework its own; `data` is at most 1 MiB. The role, SYSTEM, says nothing.
    """
    if not isinstance(data, (bytes, bytearray)):
        raise TypeError(f"data must be bytes, not {type(data).__name__}")
    return v1.Message(role=v1.ROLE_SYSTEM, parts=[v1.Part(opaque=v1.Opaque(type=_check.text("kind", kind), data=bytes(data)))])


def is_opaque(message: v1.Message) -> bool:
    """Whether a message is a framework's own state: see `opaque`."""
    return len(message.parts) == 1 and message.parts[0].WhichOneof("kind") == "opaque"


def text(message: v1.Message) -> str:
    """The text of a message: its text parts, end to end."""
    return "".join(part.text for part in _check.message("message", message, v1.Message).parts)


def calls(message: v1.Message) -> list[v1.ToolCall]:
    """The tool calls of a message, in order."""
    return [part.tool_call for part in _check.message("message", message, v1.Message).parts if part.WhichOneof("kind") == "tool_call"]


def _message(role: v1.Role, text: str) -> v1.Message:
    return v1.Message(role=role, parts=[v1.Part(text=_check.text("text", text))])


def _call(name: str, value: Any) -> v1.ToolCall:
    if not isinstance(value, v1.ToolCall):
        raise TypeError(f"{name} must be a transcriptd.v1.ToolCall, not {type(value).__name__}; transcriptd.call makes one")
    return value
