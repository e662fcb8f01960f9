"""What a client keeps of the views that its threads assembled."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator

from . import v1
from .raw import messages_of

# About what a view costs beside its payload, and a name beside its bytes.
_VIEW_OVERHEAD = 512
_NAME_OVERHEAD = 128


class View:
    """What the effective view of a head adds to that of base, or all of it where base is None. It does not change, but for its names, which
    belong to the cache. `erasures` is what the reply told that it came with, and its base."""

    __slots__ = ("base", "erasures", "head", "names", "payload")

    def __init__(self, head: str, base: View | None, payload: bytes, erasures: int = 0) -> None:
        self.head = head
        self.base = base
        self.payload = payload
        self.erasures = erasures
        self.names: list[str] = []

    def line(self) -> Iterator[View]:
        """The view and its bases, from the view back."""
        view: View | None = self
        while view is not None:
            yield view
            view = view.base

    def whole(self) -> bytes:
        """The payload of the whole view."""
        return b"".join(reversed([view.payload for view in self.line()]))

    def messages(self) -> list[v1.Message]:
        """The messages of the whole view, decoded anew."""
        return [message for view in reversed(list(self.line())) for message in messages_of(view.payload)]

    def cost(self) -> int:
        """What the view counts as, its bases aside."""
        return len(self.payload) + _VIEW_OVERHEAD + sum(map(_name_cost, self.names))


class Cache:
    """Keeps the effective views that threads assembled, all together in at most so many bytes, those used last.

    A view is kept as the part that it adds to a base that is kept too, so that a growing chain and its branches share what they have in
    common. Whenever a view is used, so are its bases after it. So a base is always used later than what rests on it, and the least recently
    used view is never a base.
    """

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._most = most
        self._views: OrderedDict[str, View] = OrderedDict()  # by head, the last used last
        self._named: dict[str, View] = {}  # by alias: a view that its chain begins with
        self._erasures = 0  # that of all views that are kept
        self.used = 0

    def get(self, head: str) -> View | None:
        """The view of a head, None where it is not kept."""
        with self._lock:
            view = self._views.get(head)
            if view is not None:
                self._use(view)
            return view

    def put(self, view: View) -> bool:
        """Keeps a view, in place of those that were used least recently, and tells whether it is kept. One that with its bases is larger than
        the cache is not, and drops nothing. One with other erasures drops all, since they may have what was erased."""
        with self._lock:
            if view.erasures != self._erasures:
                self._drop_all()
                self._erasures = view.erasures
            kept = self._views.get(view.head)
            if kept is not None:
                self._use(kept)
                return True
            if sum(one.cost() for one in view.line()) > self._most:
                if view.base is not None:
                    self._use(view.base)
                return False
            if view.base is not None and self._views.get(view.base.head) is not view.base:
                view = View(view.head, None, view.whole(), view.erasures)  # its base went meanwhile: it has to stand alone
            self._views[view.head] = view
            self.used += view.cost()
            self._use(view)
            self._shrink()
            return True

    def name(self, alias: str, head: str) -> None:
        """Remembers that the chain of an alias begins with the view of a head, if that is kept."""
        with self._lock:
            view = self._views.get(head)
            if view is None or self._named.get(alias) is view:
                return
            if sum(one.cost() for one in view.line()) + _name_cost(alias) > self._most:
                return
            named = self._named.pop(alias, None)
            if named is not None:
                named.names.remove(alias)
                self.used -= _name_cost(alias)
            view.names.append(alias)
            self._named[alias] = view
            self.used += _name_cost(alias)
            self._shrink()

    def head_of(self, alias: str) -> str:
        """The head of the view that an alias's chain was seen to begin with; empty: not known."""
        with self._lock:
            view = self._named.get(alias)
            return view.head if view is not None else ""

    def _use(self, view: View) -> None:
        """Makes a view and its bases the last used."""
        for one in view.line():
            if one.head in self._views:
                self._views.move_to_end(one.head)

    def _shrink(self) -> None:
        """Drops the views used least recently until the rest fits."""
        while self.used > self._most:
            self._drop()

    def clear(self) -> None:
        """Drops everything."""
        with self._lock:
            self._drop_all()

    def _drop_all(self) -> None:
        while self._views:
            self._drop()

    def _drop(self) -> None:
        """Drops the view used least recently, and its names."""
        _, view = self._views.popitem(last=False)
        self.used -= view.cost()
        for alias in view.names:
            del self._named[alias]
        view.names = []


def _name_cost(alias: str) -> int:
    return len(alias.encode()) + _NAME_OVERHEAD
