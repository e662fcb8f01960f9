"""Messages as a person writes them, a JSON object of one level."""

from __future__ import annotations

from . import v1
from ._convert.content import check
from ._convert.report import ConversionError, Report, join
from ._json import Value, compact, read

_MEMBERS = {
    "system": (v1.ROLE_SYSTEM, ["role", "text", "name"]),
    "developer": (v1.ROLE_DEVELOPER, ["role", "text", "name"]),
    "user": (v1.ROLE_USER, ["role", "text", "name"]),
    "assistant": (v1.ROLE_ASSISTANT, ["role", "text", "calls", "name"]),
    "tool": (v1.ROLE_TOOL, ["role", "call_id", "text", "error", "name"]),
}


def message(source: object) -> v1.Message:
    """A message as a person writes one, a dict of one level, or such JSON as str or bytes.

        message({"role": "user", "text": "What is a node?"})
        message({"role": "assistant", "text": "I look.", "calls": [{"id": "c1", "name": "find", "arguments": {"word": "node"}}]})
        message({"role": "tool", "call_id": "c1", "text": "A step."})

    `role` is system, developer, user, assistant or tool, and `text` what it says; of an assistant it may be left out where there are calls.
    `calls` are an assistant's: `arguments` are a dict, or a text as the model wrote it; absent, they are `{}`. `call_id` is the call that a
    tool's message answers, and `error` True where the tool failed. `name` is optional everywhere. There are no other members. What it becomes
    is what `system`, `user`, `assistant` and `result` make.

    ConversionError names the member that is wrong, and never shows a value.
    """
    report: Report = []
    value = read(source, "message", report)
    if report:
        raise ConversionError(report[0].path, "holds a lone surrogate")
    if value.kind != "object":
        raise ConversionError(value.path, "is not an object")
    role = _string(value, "role", needed=True)
    if role not in _MEMBERS:
        raise ConversionError(join(value.path, "role"), "is none of system, developer, user, assistant and tool")
    number, members = _MEMBERS[role]
    _only(value, f"a message of the role {role}", members)
    calls = _calls(value.member("calls"))
    text = _string(value, "text", needed=not calls)
    made = v1.Message(role=number, parts=[v1.Part(text=text)] if text or not calls else [])
    made.parts.extend(v1.Part(tool_call=call) for call in calls)
    call_id, name = _string(value, "call_id", needed=role == "tool"), _string(value, "name")
    if call_id is not None:
        made.tool_call_id = call_id
    if name is not None:
        made.name = name
    error = value.member("error")
    if error is not None:
        if error.kind != "bool":
            raise ConversionError(error.path, "is neither true nor false")
        made.is_error = error.is_true
    check(made, value.path)
    return made


def _calls(value: Value | None) -> list[v1.ToolCall]:
    if value is None:
        return []
    if value.kind != "list":
        raise ConversionError(value.path, "is not a list")
    return [_call(item) for item in value.items]


def _call(value: Value) -> v1.ToolCall:
    if value.kind != "object":
        raise ConversionError(value.path, "is not an object")
    _only(value, "a call", ["id", "name", "arguments"])
    return v1.ToolCall(
        id=_string(value, "id", needed=True), name=_string(value, "name", needed=True), arguments=_arguments(value.member("arguments"))
    )


def _arguments(value: Value | None) -> str:
    """A text as it is, and an object in the one compact form, in which numbers and the order of members stay."""
    if value is None:
        return "{}"
    if value.string is not None:
        return value.string
    if value.kind != "object":
        raise ConversionError(value.path, "is neither an object nor a string")
    return compact(value, value.path)


def _string(value: Value, name: str, *, needed: bool = False) -> str | None:
    """A member that is a string; None where it is not there and need not be."""
    member = value.member(name)
    if member is None and not needed:
        return None
    if member is None:
        raise ConversionError(join(value.path, name), "is not there")
    if member.string is None:
        raise ConversionError(member.path, "is not a string")
    return member.string


def _only(value: Value, what: str, names: list[str]) -> None:
    """Refuses the first member that is none of those that something has."""
    for name, member in value.members.items():
        if name not in names:
            raise ConversionError(member.path, f"is no member of {what}, which has {', '.join(names)}")
