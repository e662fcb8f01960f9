"""The kinds of items, and how parts say which item they are of."""

from __future__ import annotations

from dataclasses import dataclass

from ... import v1
from ..._convert.content import is_content
from ..._convert.framework import Inner
from ..._json import Value

ITEM = "item"
"""The member of a content part of an assistant that begins an item of type message: an object with the item's other members.

With "content":"" among them its content was a string. A part without it goes on with the item before, or is an item of nothing but its role
and its text, as a string. An item of content that has such a member is a json part, whole.
"""

WHOLE_ITEM = '{"json":"item"}'
"""The extras of a json part that is a whole item."""
WHOLE_OUTPUT = '{"json":"output"}'
"""The extras of a json part that is what a result has as its output, where that is neither a string nor a list."""

INNER = Inner(part=ITEM)
"""Where extras have the members of an item."""

MESSAGE = "message"
REASONING = "reasoning"

ROLES = {
    "system": v1.ROLE_SYSTEM,
    "developer": v1.ROLE_DEVELOPER,
    "user": v1.ROLE_USER,
    "assistant": v1.ROLE_ASSISTANT,
}
NAMES = {role: name for name, role in ROLES.items()}


@dataclass(frozen=True)
class Called:
    """How an item that calls a tool of the caller's has it. Each has a call_id."""

    kind: str
    """The type of the call."""
    output: str
    """The type of its result."""
    arguments: str
    """The call's member with the arguments."""
    result: str = "output"
    """The result's member with its content."""

    @property
    def named(self) -> bool:
        """Whether calls of the kind have a name beside a text of arguments."""
        return self in (FUNCTION, CUSTOM)

    @property
    def tool_name(self) -> str:
        """The name of a call that has none."""
        return self.kind.removesuffix("_call")


FUNCTION = Called("function_call", "function_call_output", "arguments")
CUSTOM = Called("custom_tool_call", "custom_tool_call_output", "input")
_ALL = (
    FUNCTION,
    CUSTOM,
    Called("local_shell_call", "local_shell_call_output", "action"),
    Called("shell_call", "shell_call_output", "action"),
    Called("computer_call", "computer_call_output", "action"),
    Called("apply_patch_call", "apply_patch_call_output", "operation"),
    Called("tool_search_call", "tool_search_output", "arguments", "tools"),
)
CALLS = {called.kind: called for called in _ALL}
RESULTS = {called.output: called for called in _ALL}


def text_of(value: Value | None, *path: str) -> str:
    """The text of a string at a path of members; empty of any other value."""
    for name in path:
        value = value.member(name) if value is not None else None
    return (value.string or "") if value is not None else ""


def is_string(value: Value | None) -> bool:
    """Whether a value is there and a string."""
    return value is not None and value.kind == "string"


def is_whole(part: v1.Part) -> bool:
    """Whether a part is a whole item."""
    return part.extras == WHOLE_ITEM and part.WhichOneof("kind") == "json"


def says(part: v1.Part) -> bool:
    """Whether a part of an assistant's message is content of an item of type message."""
    return is_content(part) and not is_whole(part)


def item_of(extras: Value | None) -> Value | None:
    """The item that a part with these extras begins; None where it begins none."""
    item = extras.member(ITEM) if extras is not None else None
    return item if item is not None and item.kind == "object" else None


def texts_of(listed: Value | None, kind: str) -> tuple[list[str], bool]:
    """The texts of a list's items of a type, and whether it has nothing else."""
    texts: list[str] = []
    exact = listed is not None
    for item in listed.items if listed is not None else []:
        if text_of(item, "type") == kind and is_string(item.member("text")):
            texts.append(text_of(item, "text"))
            exact = exact and len(item.members) == 2
        else:
            exact = False
    return texts, exact
