"""The policies that have names. What their fields are the server says, and reports tell it (Report.policy). A field that the caller sets on one goes
before them."""

from __future__ import annotations

from . import v1


def chat() -> v1.Policy:
    """For chats: the server's defaults by name, which hold where there is no policy too."""
    return v1.Policy(preset=v1.PRESET_CHAT)


def coding() -> v1.Policy:
    """For agents that work with tools: chat in which old tool results become lines, all but the newest few, once that pays."""
    return v1.Policy(preset=v1.PRESET_CODING)


def long() -> v1.Policy:
    """Is coding for tasks that look back more: it keeps more results."""
    return v1.Policy(preset=v1.PRESET_LONG)


def frugal() -> v1.Policy:
    """The cheapest: it keeps the fewest results, and shortens the arguments of the calls before them. A model may come to write what it so sees in
    its own past calls."""
    return v1.Policy(preset=v1.PRESET_FRUGAL)


def unbounded() -> v1.Policy:
    """Bounds nothing."""
    return v1.Policy(preset=v1.PRESET_UNBOUNDED)
