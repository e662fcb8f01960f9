"""Objects whose known members are taken one by one; what is left are the extras."""

from __future__ import annotations

from .._json import Value, compact, obj, read
from .report import ConversionError


class Taker:
    """The members of an object that are not taken yet."""

    def __init__(self, value: Value) -> None:
        self.value = value
        self._left: dict[str, Value | Taker] = dict(value.members)

    @property
    def path(self) -> str:
        """The object's."""
        return self.value.path

    def look(self, name: str) -> Value | None:
        """A member, which stays."""
        return self.value.member(name)

    def take(self, name: str) -> None:
        """Takes a member: it will not be in the extras."""
        self._left.pop(name, None)

    def take_string(self, name: str) -> str | None:
        """Takes a member that is a string; None, and nothing is taken, where it is not."""
        value = self.look(name)
        if value is None or value.kind != "string":
            return None
        self.take(name)
        return value.text

    def string_or_null(self, name: str) -> str | None:
        """Takes a member that is a string. None where it is absent or null, and a null stays. ConversionError for another kind."""
        value = self.look(name)
        if value is not None and value.kind not in ("string", "null"):
            raise ConversionError(value.path, "is neither a string nor null")
        return self.take_string(name)

    def sub(self, name: str) -> Taker:
        """Begins to take members out of a member that is an object. What is left of it stays under its name; an empty rest does not."""
        value = self.look(name)
        assert value is not None
        inner = Taker(value)
        self._left[name] = inner
        return inner

    def rest(self) -> Value | None:
        """What was not taken; None where that is nothing."""
        left = {name: value.rest() if isinstance(value, Taker) else value for name, value in self._left.items()}
        there = obj(left)
        return there if there.members else None

    def extras(self) -> str:
        """What was not taken, in the form of Message.extras."""
        rest = self.rest()
        return "" if rest is None else compact(rest, self.path)


def read_extras(extras: str, path: str) -> Value | None:
    """Extras; None where there are none. ConversionError where they are not a JSON object."""
    if not extras:
        return None
    value = read(extras, path, [])
    if value.kind != "object":
        raise ConversionError(path, "is not an object")
    return value
