"""What only the whole of an assistant message can tell.

Server tools' calls and results come in pairs, calls come last, and it does not end in thinking.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._convert.report import Change, Report
from ._items import Item
from ._server import SERVER_CALL


def finish(items: Sequence[Item], report: Report) -> list[Item]:
    """The blocks of an assistant message, such that these hold."""
    out = _calls_last(_paired(items, report), report)
    while out and out[-1].kind in ("thinking", "redacted_thinking"):
        report.append(Change(out.pop().path, "left_out", why="an assistant message cannot end in thinking"))
    return out


def _calls_last(items: Sequence[Item], report: Report) -> list[Item]:
    """Moves what stands behind a call before the calls: the results must come directly after them."""
    calls: list[Item] = []
    others: list[Item] = []
    for item in items:
        if item.kind == "tool_use":
            calls.append(item)
            continue
        if calls:
            report.append(Change(item.path, "moved", why="calls come last"))
        others.append(item)
    return others + calls


def _paired(items: Sequence[Item], report: Report) -> list[Item]:
    """Leaves out the calls of server tools without a result in the same message, and the results without a call before them."""
    calls: dict[str, int] = {}  # by id: where the call stands
    keep = {i for i, item in enumerate(items) if not item.server}
    for i, item in enumerate(items):
        if item.kind == SERVER_CALL:
            calls[item.server] = i
        elif item.server in calls and items[calls[item.server]].answer == item.kind:
            keep |= {i, calls.pop(item.server)}
    for i, item in enumerate(items):
        if i not in keep:
            report.append(Change(item.path, "left_out", why="a server tool's call and result come in pairs"))
    return [item for i, item in enumerate(items) if i in keep]
