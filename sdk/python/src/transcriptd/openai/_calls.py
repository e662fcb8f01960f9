"""Calls of tools, as OpenAI writes them."""

from __future__ import annotations

from .. import v1
from .._convert.content import optional_string
from .._convert.report import ConversionError
from .._convert.taker import Taker, read_extras
from .._json import Value, compact, merged, obj, string

# Members of a call part's extras that say how the call was written. No call of the documented form has members of the first two names, and
# a type only where it is "custom".
WHOLE = "tool_call"
"""Is UNTYPED where the item of tool_calls has no type and else the documented form; of an item of another form it holds the whole."""
UNTYPED = "untyped"
FUNCTION_CALL = "function_call"
"""The call was the deprecated member function_call; holds what else stood in it."""
CUSTOM = "custom"


def parse_calls(taker: Taker) -> list[v1.Part]:
    """Takes tool_calls of an assistant; null and an empty list stay."""
    value = taker.look("tool_calls")
    if value is None or value.kind == "null":
        return []
    if value.kind != "list":
        raise ConversionError(value.path, "is neither a list nor null")
    if not value.items:
        return []
    taker.take("tool_calls")
    return [_parse_call(item) for item in value.items]


def _parse_call(value: Value) -> v1.Part:
    if value.kind != "object":
        raise ConversionError(value.path, "is not an object")
    kind = value.member("type")
    name = "function" if kind is None else kind.string or ""
    id_ = Taker(value).string_or_null("id")
    called, regular = _parse_called(value, *_members(name))
    call = v1.ToolCall(id=id_, name=called.name if called.HasField("name") else None, arguments=called.arguments)
    if regular and _members(name)[0] == name and WHOLE not in value.members and FUNCTION_CALL not in value.members:
        extras = _regular_extras(value, name, kind is None)
    else:
        extras = compact(obj({WHOLE: value}), value.path)
    return v1.Part(tool_call=call, extras=extras)


def _members(kind: str) -> tuple[str, str]:
    """The member of a call that holds what is called, and that of it which holds the arguments."""
    return (CUSTOM, "input") if kind == CUSTOM else ("function", "arguments")


def _parse_called(value: Value, name: str, member: str) -> tuple[v1.ToolCall, bool]:
    """Name and arguments, and whether they stand as the API documents."""
    call = v1.ToolCall()
    inner = value.member(name)
    if inner is None or inner.kind == "null":
        return call, False
    if inner.kind != "object":
        raise ConversionError(inner.path, "is not an object")
    taker = Taker(inner)
    called = taker.string_or_null("name")
    if called is not None:
        call.name = called
    arguments = taker.string_or_null(member)
    call.arguments = arguments or ""
    return call, arguments is not None


def _regular_extras(value: Value, kind: str, untyped: bool) -> str:
    """A documented call's other members. The type "custom" stays; "function" is implied."""
    taker = Taker(value)
    if kind != CUSTOM:
        taker.take("type")
    taker.take_string("id")
    name, member = _members(kind)
    inner = taker.sub(name)
    inner.take(member)
    inner.take_string("name")
    if untyped:
        return compact(merged(obj({WHOLE: string(UNTYPED)}), taker.rest()), value.path)
    return taker.extras()


def parse_function_call(taker: Taker) -> list[v1.Part]:
    """Takes the deprecated function_call of an assistant: a call without an id, after all others."""
    value = taker.look(FUNCTION_CALL)
    if value is None or value.kind == "null":
        return []
    name, arguments = value.member("name"), value.member("arguments")
    if name is None or name.kind != "string" or arguments is None or arguments.kind != "string":
        raise ConversionError(value.path, "has not a string as name and as arguments")
    taker.take(FUNCTION_CALL)
    rest = value.without("name").without("arguments")
    extras = compact(obj({FUNCTION_CALL: rest}), value.path)
    return [v1.Part(tool_call=v1.ToolCall(name=name.text, arguments=arguments.text), extras=extras)]


def format_call(part: v1.Part, path: str) -> tuple[Value, bool]:
    """The item of tool_calls that a call part stands for; or, with True, the deprecated member function_call."""
    extras = read_extras(part.extras, f"{path}.extras") or obj()
    call = part.tool_call
    whole, deprecated = extras.member(WHOLE), extras.member(FUNCTION_CALL)
    if whole is not None and whole.kind == "object":
        return whole, False
    if deprecated is not None:
        return merged(_called(call, "arguments"), deprecated), True
    kind = called_kind(extras)
    name, member = _members(kind)
    written = obj(
        {
            "id": optional_string(call, "id"),
            "type": string(kind) if whole is None else None,
            name: _called(call, member),
        }
    )
    return merged(written, extras.without(WHOLE)), False


def called_kind(extras: Value | None) -> str:
    """The type of the call that has these extras."""
    kind = extras.member("type") if extras is not None else None
    return CUSTOM if kind is not None and kind.text == CUSTOM else "function"


def _called(call: v1.ToolCall, member: str) -> Value:
    return obj({"name": optional_string(call, "name"), member: string(call.arguments)})


def model_call(part: v1.Part, call_id: str, name: str) -> Value:
    """A call as the API documents it, of a function or of a custom tool."""
    kind = called_kind(read_extras(part.extras, ""))
    holder, member = _members(kind)
    called = obj({"name": string(name), member: string(part.tool_call.arguments)})
    return obj({"id": string(call_id), "type": string(kind), holder: called})
