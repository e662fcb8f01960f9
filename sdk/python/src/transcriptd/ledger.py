"""Appends that may have taken place although they failed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from .errors import TranscriptError, happened, may_have_happened

_MOST = 1000  # how many a ledger remembers


@dataclass(eq=False)
class Pending:
    """An append under way, or one of which it is not known whether it took place."""

    of: bytes
    """A hash of all that was asked for, but for the place in the chain."""
    salt: bytes
    parent: str = ""
    """The node below which it was last sent; empty where an alias or no node was the parent."""
    unsure: bool = False
    """Whether it may have taken place."""

    def told(self, error: TranscriptError) -> TranscriptError:
        """The error of an attempt, with what is known of the attempts before."""
        return happened(error, True) if self.unsure else error


class Ledger:
    """Remembers appends that may have taken place although they failed, so that their repeats have the same salt. Each is taken by one
    repeat."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[Pending] = []  # the oldest first

    def take(self, of: bytes, salt: Callable[[], bytes]) -> Pending:
        """Begins an append: an earlier attempt of the same, or one with a salt."""
        with self._lock:
            for pending in self._open:
                if pending.of == of:
                    self._open.remove(pending)
                    return pending
        return Pending(of, salt())

    def end(self, pending: Pending, error: BaseException | None) -> None:
        """Ends an append: it is remembered where it may have taken place although it failed."""
        if not may_have_happened(error):
            return
        pending.unsure = True
        with self._lock:
            self._open.append(pending)
            del self._open[:-_MOST]
