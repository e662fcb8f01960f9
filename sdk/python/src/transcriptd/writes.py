"""What is put: nodes, and what is done to aliases."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from . import _check, v1
from .refs import Condition, Ref, precondition, ref


@dataclass(frozen=True)
class AliasUpdate:
    """Sets an alias to the node that is put, or deletes it."""

    name: str
    condition: Condition | None = None
    """What must be true of the alias; None: nothing."""
    labels: Mapping[str, str] | None = None
    """Replace the alias's labels; None leaves them as they are."""
    delete: bool = False
    """Deletes the alias instead; then labels are None."""

    def wire(self) -> v1.AliasUpdate:
        """The update as requests have it."""
        return v1.AliasUpdate(
            name=_check.text("an alias's name", self.name),
            precondition=precondition(self.condition),
            labels=_labels(self.labels),
            delete=_check.flag("delete", self.delete),
        )


@dataclass(frozen=True)
class AliasMove:
    """Sets an alias to a node that is there, or deletes it."""

    name: str
    target: Ref | None = None
    """The node; an alias stands for the node that it pointed to before the call. None with delete."""
    condition: Condition | None = None
    """What must be true of the alias; None: nothing."""
    labels: Mapping[str, str] | None = None
    """Replace the alias's labels; None leaves them as they are."""
    delete: bool = False
    """Deletes the alias instead; then labels are None."""

    def wire(self) -> v1.AliasMove:
        """The move as requests have it."""
        return v1.AliasMove(
            name=_check.text("an alias's name", self.name),
            target=None if self.target is None else ref("target", self.target),
            precondition=precondition(self.condition),
            labels=_labels(self.labels),
            delete=_check.flag("delete", self.delete),
        )


def _labels(labels: Mapping[str, str] | None) -> v1.Labels | None:
    return None if labels is None else v1.Labels(entries=_check.texts("labels", labels))


@dataclass(frozen=True)
class Node:
    """A node to put. Its id is a hash of parent, messages, metadata, salt and spawned_from: putting an equal one again writes nothing."""

    messages: Sequence[v1.Message] = ()
    """1 to 1,000, or none where there is metadata: each at most 3 MiB, together at most 4 MiB - 128 KiB."""
    parent: Ref | None = None
    """The node to append to; None: a root."""
    previous: bool = False
    """In put_all makes the node before this one the parent. Not together with parent."""
    notes: Sequence[v1.MessageNote] = ()
    """None, or one for each message. They are not hashed; those of the first put stay."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """At most 64 entries: keys of 1 to 256 bytes, values of at most 4 KiB."""
    salt: bytes | None = None
    """16 to 32 bytes, or none: b"". It makes an otherwise equal sibling a node of its own. None: a thread makes one, a client has none."""
    spawned_from: v1.SpawnedFromRef | None = None
    """The call that started the chain that this node begins."""
    aliases: Sequence[AliasUpdate] = ()
    """Are set to the node, or deleted, in the same commit: at most 1,000 in a call, each named once."""

    def wire(self) -> v1.NewNode:
        """The node as requests have it."""
        metadata = _check.texts("metadata", self.metadata)
        return v1.NewNode(
            parent=None if self.parent is None else ref("parent", self.parent),
            previous=_check.flag("previous", self.previous),
            messages=_check.messages("messages", self.messages, v1.Message),
            notes=_check.messages("notes", self.notes, v1.MessageNote),
            metadata=[v1.MetadataEntry(key=key, value=metadata[key]) for key in sorted(metadata)],
            salt=_check.salt(self.salt or b""),
            spawned_from=None if self.spawned_from is None else _check.message("spawned_from", self.spawned_from, v1.SpawnedFromRef),
            aliases=[alias.wire() for alias in _check.instances("aliases", self.aliases, AliasUpdate)],
        )

    def is_prompt(self) -> bool:
        """Whether it is a root of system and developer messages alone, which those who begin equally share."""
        if self.parent is not None or self.previous or self.spawned_from is not None or not self.messages:
            return False
        return all(m.role in (v1.ROLE_SYSTEM, v1.ROLE_DEVELOPER) for m in self.messages)


@dataclass
class PutResult:
    """What became of a node."""

    node_id: str
    """The node's id: 64 lower-case hex digits."""
    created: bool
    """Whether this call wrote the node."""
    aliases: list[v1.AliasResult]
    """What became of each alias, in the order of the request."""
    counters: v1.ChainCounters
    """The totals of the chain that ends in the node."""
    retried: bool = False
    """Whether an earlier attempt of the call, of which no reply came, may have taken place: where created, changed or revised are false, it
    may have been what created and changed. Where a thread found its node by the salt, aliases have no revision: 0."""


# An append has a salt: 16 random bytes, chosen once and kept over its repeats. So equal appends are different nodes, and a node with the
# salt was put by that append, whoever asks and whatever came behind it.


def new_salt() -> bytes:
    """16 random bytes."""
    return secrets.token_bytes(16)


def fingerprint(node: Node) -> bytes:
    """A hash of all that an append asks for, but for the place in the chain."""
    asked = replace(node, parent=None, previous=False, notes=()).wire()
    return hashlib.sha256(asked.SerializeToString(deterministic=True)).digest()
