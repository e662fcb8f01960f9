# Made from ../_async/runs.py by tools/unasync.py: do not edit.
"""The calls of a guard: which runs are open, and the end of those that nobody works on."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from .. import _check, v1
from ..errors import AliasMovedError, BadReplyError, InvalidFieldError
from ..guard import AliasRun, EndedRun, utc
from ..refs import by_id, head_is
from ..runs import OUTCOME_KEY, OUTCOMES, Outcome
from ..writes import AliasUpdate, Node
from .aliases import Aliases
from .nodes import Nodes


class Runs(Nodes, Aliases):
    """The calls of a guard."""

    def alias_runs(
        self, *, prefix: str | None = None, under: str | None = None, reverse: bool = False, open_only: bool = False
    ) -> Iterator[AliasRun]:
        """Lists aliases, as `aliases` does, with where the last run loop of each one's chain stands. `open_only`: only those whose loop is open."""
        _check.flag("open_only", open_only)

        def page(token: str) -> tuple[list[AliasRun], str]:
            request = self._alias_page(prefix, under, reverse, token)
            request.include_loops, request.open_only = True, open_only
            reply = self._read("ListAliases", request, v1.ListAliasesResponse)
            if reply.aliases and not (reply.HasField("now") and all(info.HasField("loop") for info in reply.aliases)):
                raise BadReplyError("an alias without its loop")
            return [AliasRun(info, utc(reply.now)) for info in reply.aliases], reply.next_page_token

        for run in self._pages(page):
            yield run

    def stale_runs(
        self, stale: datetime.timedelta, *, prefix: str | None = None, under: str | None = None, reverse: bool = False
    ) -> Iterator[AliasRun]:
        """Lists the aliases whose last run loop is open, and that are idle for longer than `stale`. What nobody asked for (a lead-in) is not among
        them: no outcome ends it."""
        if not isinstance(stale, datetime.timedelta):
            raise TypeError(f"stale must be a datetime.timedelta, not {type(stale).__name__}")
        for run in self.alias_runs(prefix=prefix, under=under, reverse=reverse, open_only=True):
            if not run.info.loop.lead_in and run.idle > stale:
                yield run

    def end_run(self, run: AliasRun, outcome: Outcome) -> EndedRun:
        """Ends a run that nobody works on any more: puts a node without messages and with an outcome behind the head, and moves to it, in one commit,
        the run's alias and 100 others that point to the head, whatever their names: a thread's own and that of its chat are two of them. Where more
        point there, further commits move those. It does so on condition that each points there still, so it loses to whoever works on:
        AliasMovedError, and nothing was written. May be repeated."""
        if not isinstance(run, AliasRun):
            raise TypeError(f"run must be an AliasRun, as alias_runs and stale_runs yield, not {type(run).__name__}")
        if outcome not in OUTCOMES:
            raise InvalidFieldError(f"outcome must be one of {', '.join(OUTCOMES)}")
        ended = self._end_some(run.info, outcome)
        while ended.more_aliases:
            try:
                following = self._end_some(run.info, outcome)
            except AliasMovedError:  # what was ended stays so
                return ended
            others = [name for name in following.aliases if name != run.info.name]
            if not others:
                return ended
            ended = EndedRun(ended.node_id, ended.aliases + others, following.more_aliases)
        return ended

    def _end_some(self, info: v1.AliasInfo, outcome: str) -> EndedRun:
        """Makes one commit of end_run: moves the run's alias, unless it was moved before, with those others that are told of the head."""
        head = self.node_info(by_id(info.node_id))
        names = list(head.aliases)
        if info.name not in names:  # one of more than are told, or it moved and is refused
            names.insert(0, info.name)
        updates = [AliasUpdate(name, head_is(info.node_id)) for name in names]
        result = self._put(Node(parent=by_id(info.node_id), metadata={OUTCOME_KEY: outcome}, aliases=updates))
        return EndedRun(result.node_id, names, head.has_more_aliases)
