"""Names of nodes, and conditions on aliases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _check, v1


@dataclass(frozen=True)
class Ref:
    """Names a node: see by_id and by_alias."""

    node_id: str = ""
    alias: str = ""

    def node_ref(self) -> v1.NodeRef:
        """The reference as requests have it."""
        return v1.NodeRef(alias=self.alias) if self.alias else v1.NodeRef(node_id=self.node_id)


def by_id(node_id: str) -> Ref:
    """Names a node by its id: 64 lower-case hex digits; for Client.node and node_info a prefix of 6 digits or more."""
    _check.text("node_id", node_id, empty=False)
    if not 6 <= len(node_id) <= 64 or any(c not in "0123456789abcdef" for c in node_id):
        raise ValueError("node_id must be 64 lower-case hex digits, or a prefix of 6 or more of them")
    return Ref(node_id=node_id)


def by_alias(name: str) -> Ref:
    """Names the node that an alias points to: 1 to 512 bytes of UTF-8 without control characters."""
    return Ref(alias=_check.text("alias", name, empty=False))


def ref(name: str, value: Any) -> v1.NodeRef:
    """An argument that names a node, as requests have it."""
    if not isinstance(value, Ref):
        kind = type(value).__name__
        raise TypeError(f"{name} must be transcriptd.by_id(...) or transcriptd.by_alias(...), not {kind}")
    return value.node_ref()


@dataclass(frozen=True)
class Condition:
    """What must be true of an alias for a call to take place.

    Except on a delete, any condition without a revision holds too where the alias already points to the node that the call would
    set it to.
    """

    precondition: v1.AliasPrecondition
    """The condition as requests have it."""


def must_not_exist() -> Condition:
    """Holds where there is no such alias; else AliasExistsError. Refused on a delete."""
    return Condition(v1.AliasPrecondition(must_not_exist=True))


def must_exist() -> Condition:
    """Holds where there is such an alias; else AliasNotFoundError."""
    return Condition(v1.AliasPrecondition(must_exist=True))


def head_is(node_id: str) -> Condition:
    """Holds where the alias points to that node; else AliasMovedError."""
    return Condition(v1.AliasPrecondition(head_id=_check.node_id("node_id", node_id)))


def revision_is(revision: int) -> Condition:
    """Holds where the alias has that revision, 1 or more, also where this was a deletion; else AliasMovedError.

    It holds too at the next revision where the alias is exactly as the call leaves it: that is a repeat. Of two callers who set the
    same from the same revision both succeed; AliasResult.revised is true for the one that changed it. Client.resolve and every result tell
    revisions.
    """
    return Condition(v1.AliasPrecondition(revision=_check.number("revision", revision, least=1)))


def head_at(node_id: str, revision: int) -> Condition:
    """Is head_is and revision_is: the alias points to that node since that revision, or a later change of labels. A node that is appended
    to the alias needs both for a repeat to be known."""
    _check.number("revision", revision, least=1)
    return Condition(v1.AliasPrecondition(head_id=_check.node_id("node_id", node_id), revision=revision))


def precondition(value: Any) -> v1.AliasPrecondition | None:
    """An argument that is a condition or None, as requests have it."""
    if value is None:
        return None
    if not isinstance(value, Condition):
        kind = type(value).__name__
        raise TypeError(f"condition must be transcriptd.head_is(...), must_not_exist() or their like, not {kind}")
    return value.precondition
