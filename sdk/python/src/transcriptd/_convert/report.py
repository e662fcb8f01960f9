"""What conversions tell: what they changed, and what they refuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ChangeKind = Literal["surrogates", "inexact", "left_out", "replaced", "renamed", "joined", "moved", "added"]
"""What was changed.

- `surrogates`: lone surrogates in a string became U+FFFD; `count` tells how many. Parsing only.
- `inexact`: the provider's form has no place for this, so that parsing what was written gives something else. Formatting only.
- `left_out`: not written. For a model; in formatting, of what is a framework's own; and in parsing, of members of a request that are
  no messages.
- `replaced`: something else was written in its place; `to` tells what, where it is short. For a model only, as are all that follow.
- `renamed`: a call id or a name that the provider refuses became another: `from_` and `to`.
- `joined`: written as part of the provider's message before it.
- `moved`: written in another place.
- `added`: a result was written for a call that has none; `path` is the call.
"""


@dataclass(frozen=True)
class Change:
    """One thing that a conversion changed."""

    path: str
    """Where: a member of the provider's JSON when reading (`messages[3].content[0].text`), a field of the given messages when writing
    (`messages[3].parts[0]`)."""
    kind: ChangeKind
    from_: str = ""
    """What it was, where that is short: a call id or a name. An absent id is empty."""
    to: str = ""
    """What it became, where that is short."""
    count: int = 0
    """How many, where that can be more than one."""
    why: str = ""
    """The provider's rule, in a few words; never content."""


Report = list[Change]
"""What a conversion changed, in the order of the messages. An empty one says that nothing was."""


class ConversionError(ValueError):
    """Input that is no provider's message, or no message that a provider can have. It names the member and the rule, never the value."""

    def __init__(self, path: str, rule: str) -> None:
        super().__init__(f"{path or 'the document'} {rule}")
        self.path = path
        """The member: `messages[3].tool_calls[0].function.arguments`. Empty for the whole document."""
        self.rule = rule
        """What does not hold of it: `is not a string`."""

    def __reduce__(self) -> tuple[type[ConversionError], tuple[str, str]]:
        return type(self), (self.path, self.rule)


class NoMessagesError(ValueError):
    """No message is left to send to a model. `report` tells what was left out."""

    def __init__(self, report: Report) -> None:
        super().__init__("no message to send")
        self.report = report


def index(path: str, i: int) -> str:
    """The path of an item of the list at a path."""
    return f"{path}[{i}]"


_SHOWN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def join(path: str, name: str) -> str:
    """The path of a member of the object at a path. A name that is no short identifier is not shown."""
    if not name or len(name) > 64 or not _SHOWN.issuperset(name):
        name = "?"
    return f"{path}.{name}" if path else name
