"""How calls are repeated, and which may be."""

from __future__ import annotations

import contextlib
import contextvars
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import grpc

from . import v1
from .errors import (
    AuditUnavailableError,
    OverloadedError,
    RateLimitedError,
    StoreFailedError,
    TranscriptError,
    may_have_happened,
)


@dataclass(frozen=True)
class Retry:
    """How a call that may be repeated is: until its deadline, or where it has none until the pauses come to a minute."""

    attempts: int = 0
    """How often a call is sent at most; 1: never again; 0: as often as there is time."""
    first: float = 0.1
    """About the pause behind the first attempt, in seconds; each further one doubles it. Pauses are drawn between half of that and all of
    it, and are shorter where the deadline is near. Where the server says when a call is allowed, no pause is shorter than that, and none is
    made that ends behind the deadline."""
    most: float = 2.0
    """The longest pause, in seconds."""

    def __post_init__(self) -> None:
        if self.attempts < 0:
            raise ValueError("attempts must be 0 or more: how often a call is sent at most, 0 for as often as there is time")
        if not 0 < self.first <= self.most:  # also where one is not a number
            raise ValueError("first must be more than 0 seconds, and most no less than first")


_deadline: contextvars.ContextVar[float | None] = contextvars.ContextVar("transcriptd_deadline", default=None)


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Bounds all calls of the block, of any client, repeats included: none goes on for longer than so many seconds from here. It goes before
    the client's own `deadline`, and a shorter one around it stays.

        with transcriptd.deadline(5):
            thread.append(message)
    """
    if not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise ValueError(f"seconds must be a number of seconds, 0 or more, not {seconds!r}")
    end = time.monotonic() + seconds
    outer = _deadline.get()
    token = _deadline.set(end if outer is None else min(end, outer))
    try:
        yield
    finally:
        _deadline.reset(token)


@contextlib.contextmanager
def until(end: float | None) -> Iterator[None]:
    """deadline, by the time on time.monotonic's clock; None: no other than that around it."""
    if end is None:
        yield
        return
    with deadline(max(0.0, end - time.monotonic())):
        yield


def callers_deadline() -> float | None:
    """When the caller's calls end, on time.monotonic's clock; None: nothing was said."""
    return _deadline.get()


_MOST_PAUSES = 60.0  # the seconds of the pauses of a call without a deadline, all together


class Pauses:
    """The pauses between the attempts of one call, in seconds."""

    def __init__(self, retry: Retry, end: float | None) -> None:
        self._first = retry.first
        self._next = retry.first
        self._most = retry.most
        self._end = end
        self._left = _MOST_PAUSES

    def next(self, least: float | None) -> float | None:
        """The next pause, which is no shorter than `least`; None: there is no time for another attempt."""
        limit = min(self._next, self._most)
        self._next = 2 * limit
        pause = random.uniform(limit / 2, limit)
        least = least or 0.0
        if self._end is not None:
            left = self._end - time.monotonic()
            pause = max(min(pause, left / 2), least)
            return None if pause < self._first / 2 or pause >= left else pause
        pause = max(pause, least)
        if pause > self._left:
            return None
        self._left -= pause
        return pause


def transient(error: TranscriptError) -> bool:
    """Whether the same call may succeed a little later. A failed store needs its operator, and so does an audit."""
    if isinstance(error, (OverloadedError, RateLimitedError)):
        return True
    return error.code is grpc.StatusCode.UNAVAILABLE and not isinstance(error, (StoreFailedError, AuditUnavailableError))


def may_repeat(error: TranscriptError, repeatable: bool) -> bool:
    """Whether a call that failed so may be sent again: one that is not repeatable only where the attempt has surely done nothing."""
    return transient(error) and (repeatable or not may_have_happened(error))


def repeatable_put(nodes: Iterable[v1.NewNode | v1.PutNodeRequest]) -> bool:
    """Whether the put of these nodes may be sent again although it may have taken place.

    Each parent is absent, a node id, the node before, or an alias that the call itself conditions on a head, and so always the same
    node. And where aliases are set, one is on a condition by which the server knows a repeat, which leaves the aliases that it has set;
    none need be where all that is done to aliases are deletes that may be repeated.
    """
    nodes = list(nodes)
    conditioned = {alias.name: bool(alias.precondition.head_id) for node in nodes for alias in node.aliases}
    aliases = [alias for node in nodes for alias in node.aliases]
    unsafe = [a for a in aliases if not (a.delete and repeatable_delete(a.precondition))]
    known = any((_guards(a.precondition) and not a.delete) or _revised(a.precondition) for a in aliases)
    fixed = all(conditioned.get(node.parent.alias) for node in nodes if node.parent.WhichOneof("ref") == "alias")
    return fixed and (known or not unsafe)


def repeatable_delete(condition: v1.AliasPrecondition) -> bool:
    """Whether a delete on this condition may be sent again although it may have taken place."""
    return bool(condition.head_id) or _revised(condition)


def repeatable_moves(moves: Iterable[v1.AliasMove]) -> bool:
    """Whether the moves may be sent again although they may have taken place.

    Each is a delete that may be; or on condition of a revision, to a node id or to its own alias, which at the next revision is where the
    move set it; or on another condition, so that it undoes no later move, to a node id, and without labels, which others may have set since.
    """
    return all(_repeatable_move(move) for move in moves)


def _repeatable_move(move: v1.AliasMove) -> bool:
    by_alias = move.target.WhichOneof("ref") == "alias"
    if move.delete:
        return repeatable_delete(move.precondition)
    if _revised(move.precondition):
        return not by_alias or move.target.alias == move.name
    return not by_alias and not move.HasField("labels") and _guards(move.precondition)


def repeatable_deletion(request: v1.DeleteAliasesRequest) -> bool:
    """Whether a page of a deletion may be sent again although it may have taken place: it says until when what goes was there."""
    return bool(request.page_token) or request.HasField("moved_before")


def repeatable_settings(request: v1.SetNamespaceRequest) -> bool:
    """Whether a change of settings may be sent again although it may have taken place."""
    return request.HasField("revision")


def repeatable_compaction(request: v1.CompactRequest) -> bool:
    """Whether a compaction may be sent again, once it was looked up that the chain does not have it."""
    return request.dry_run or bool(request.through_id and (request.salt or not request.summary))


def _revised(condition: v1.AliasPrecondition) -> bool:
    """Whether the condition names a revision: no other call holds at it again once this one took place."""
    return condition.HasField("revision")


def _guards(condition: v1.AliasPrecondition) -> bool:
    """Whether the condition is no longer met once the alias was moved on from where the call sets it."""
    return bool(condition.head_id) or condition.must_not_exist
