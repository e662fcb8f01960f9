"""Texts that SDKs and servers write into conversations."""

from __future__ import annotations

from . import v1

STUB = "[no result: the call was interrupted]"
"""The text of a stub, which a server shows in place of a result that never came."""

UNKNOWN_RESULT = "[result unknown: the agent was interrupted while this call may have been running]"
"""The result of a call of which nobody knows whether it ran."""


ERASED = "[erased]"
"""The text that stands where a message was erased."""


def stub(call_id: str | None, name: str | None) -> v1.Message:
    """The stub of a call with an id and a name, either of which may be absent."""
    message = v1.Message(role=v1.ROLE_TOOL, parts=[v1.Part(text=STUB)], origin=v1.ORIGIN_STUB)
    if call_id is not None:
        message.tool_call_id = call_id
    if name is not None:
        message.name = name
    return message


def with_depth(depth: int, text: str) -> str:
    """A reply as it is handed to people, behind the depth of the chain that it ends. What is stored has no such prefix."""
    return f"[depth:{depth}] {text}"
