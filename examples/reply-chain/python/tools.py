"""The tools of the model."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from transcriptd import AsyncTool

from files import Files, Payment

_LIMIT = 10_000_000
_TEXT, _INTEGER = {"type": "string"}, {"type": "integer"}


def of(files: Files, key: str) -> list[AsyncTool]:
    """The tools for a call. What has an effect is written down under its key."""

    def pay(to: str, amount: int) -> str:
        return files.pay(Payment(key, to, amount))

    operator = {"type": "string", "enum": ["+", "-", "*"]}
    return [
        _tool("read_note", "Read a note.", {"name": _TEXT}, files.note),
        _tool("calculate", "Calculate with two whole numbers.", {"a": _INTEGER, "op": operator, "b": _INTEGER}, _calculate),
        _tool("pay", "Pay somebody an amount of euros.", {"to": _TEXT, "amount": _INTEGER}, pay),
        _tool("ring", "Ring the bell at the door.", {}, lambda: files.ring(key)),
    ]


def _tool(name: str, description: str, properties: dict[str, Any], run: Callable[..., str]) -> AsyncTool:
    """A tool that gives run the arguments with these properties, all of which are needed."""
    types = {"string": str, "integer": int}

    async def call(arguments: str | Mapping[str, Any]) -> str:
        try:
            given = json.loads(arguments) if isinstance(arguments, str) else arguments
            wanted = {name: given[name] for name in properties}
            json.dumps(wanted, ensure_ascii=False).encode()  # half a surrogate pair is no text
        except (ValueError, TypeError, KeyError, RecursionError):
            wanted = {}
        if any(type(wanted.get(name)) is not types[schema["type"]] for name, schema in properties.items()):
            return "The arguments are not those that the tool takes."
        return run(**wanted)

    return AsyncTool(name, description, {"type": "object", "properties": properties, "required": list(properties)}, call)


def _calculate(a: int, op: str, b: int) -> str:
    if max(abs(a), abs(b)) > _LIMIT:
        return f"The numbers may be up to {_LIMIT}."
    match op:
        case "+":
            return str(a + b)
        case "-":
            return str(a - b)
        case "*":
            return str(a * b)
    return "op has to be +, - or *."
