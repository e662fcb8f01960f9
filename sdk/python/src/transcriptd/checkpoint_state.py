"""What a checkpointer of LangGraph keeps, and under which names: see transcriptd.langgraph."""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar
from urllib.parse import quote

import grpc
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol

from . import v1
from ._langchain import decode
from .errors import TranscriptError
from .refs import Condition, by_id, must_not_exist
from .rules import MAX_OPAQUE_BYTES
from .verify import identify
from .writes import AliasUpdate, Node

T = TypeVar("T")
Typed = tuple[str, bytes]
"""What a serializer writes: the name of its form, and the bytes."""

INLINE = 1024
"""The most bytes of a value that stands in the checkpoint itself."""
INPUT_INLINE = 16 << 10
"""The same of an input, which only one checkpoint has."""
_KIND = "langgraph"  # the type of opaque parts
_PACKED = b"+zlib"
_WINDOW = 32 << 10  # how far back zlib looks
_MESSAGES_A_NODE = 3  # opaque messages of 1 MiB
PIECES = "langgraph/pieces"
"""The metadata of a node that is the last of so many which hold one value."""
MESSAGES = "langgraph/messages"
"""The metadata of a write whose value is the messages of its parent, ONE of them or a list."""
ONE, LIST = "one", "list"
_RECORD = (  # what most records have; part of the form in which they are kept
    b"checkpoint channel_versions versions_seen updated_channels __start__ __input__ __interrupt__ messages branch:to: "
    b"branch:to:agent branch:to:model branch:to:tools pending_sends source input loop update fork step parents run_id writes "
    b"langgraph_version langgraph_plan langgraph_host human ai tool HumanMessage AIMessage langchain_core.messages.human "
    b"langchain_core.messages.ai model_validate_json content additional_kwargs response_metadata type name id example tool_calls "
    b"\x86\xa1v\x04\xa2ts\xd9 2026-01-01T00:00:00.000000+00:00\xa2id\xd9$\xb0channel_versions\x83\xa9__start__\xa8messages\xafbranch:to:model"
    b"\xadversions_seen\x82\xa9__input__\x80\xa9__start__\x81\xa9__start__\xb0updated_channels\x92\x83\xa6source\xa4loop\xa4step\xa7parents\x80"
)


@dataclass(frozen=True)
class Place:
    """Where the checkpoints of a thread and a namespace of it are."""

    thread: str
    ns: str

    @property
    def salt(self) -> bytes:
        """The salt of all that is kept here: nodes of two threads are never one."""
        return hashlib.sha256(f"langgraph\0{self.thread}\0{self.ns}".encode()).digest()[:16]

    @property
    def folder(self) -> str:
        """What the aliases of the checkpoints begin with."""
        return names("c", self.thread, self.ns) + "/"

    def checkpoint(self, checkpoint_id: str) -> str:
        """The alias of a checkpoint."""
        return names("c", self.thread, self.ns, checkpoint_id)

    def writes(self, checkpoint_id: str) -> str:
        """What the aliases of the writes of a checkpoint begin with."""
        return names("w", self.thread, self.ns, checkpoint_id) + "/"

    def write(self, checkpoint_id: str, task_id: str, index: int) -> str:
        """The alias of a write."""
        return names("w", self.thread, self.ns, checkpoint_id, task_id, str(index))

    def value(self, channel: str, version: object) -> str:
        """The alias of a channel's value."""
        return names("v", self.thread, self.ns, channel, str(version))


def names(kind: str, *parts: str) -> str:
    """An alias, or the folder of some, of all whose names are made of these parts: c checkpoints, w writes, v values."""
    return "/".join(["lg", kind, *map(_component, parts)])


def _component(part: str) -> str:
    quoted = "=" + quote(part, safe="")
    return quoted if len(quoted) <= 80 else "~" + hashlib.sha256(part.encode()).hexdigest()


def pack(typed: Typed, like: bytes = b"") -> bytes:
    """What a serializer wrote as bytes, packed where that is shorter: much so where it has what bytes that are `like` it have."""
    kind, data = typed[0].encode(), typed[1]
    packer = zlib.compressobj(6, zdict=like[-_WINDOW:])
    packed = packer.compress(data) + packer.flush()
    if len(packed) + len(_PACKED) < len(data):
        return kind + _PACKED + b"\0" + packed
    return kind + b"\0" + data


def unpack(packed: bytes, like: bytes = b"") -> Typed:
    """What pack was given; `like` has to be the same."""
    kind, _, data = packed.partition(b"\0")
    if kind.endswith(_PACKED):
        return kind.removesuffix(_PACKED).decode(), zlib.decompressobj(zdict=like[-_WINDOW:]).decompress(data)
    return kind.decode(), data


@dataclass
class Item:
    """A node to put, at most with one alias."""

    messages: Sequence[v1.Message]
    salt: bytes
    parent: str = ""
    alias: str = ""
    replaces: bool = True
    """Whether the alias is moved where it is there already; else the node that it has stays."""
    condition: Condition = field(default_factory=must_not_exist)
    metadata: dict[str, str] = field(default_factory=dict)

    @property
    def node_id(self) -> str:
        """The node's id."""
        return identify(self.node("").wire(), self.parent) or ""

    def node(self, previous: str) -> Node:
        """The node, behind one with the id `previous` in the same commit."""
        aliases = [AliasUpdate(self.alias, self.condition)] if self.alias else []
        node = Node(self.messages, salt=self.salt, aliases=aliases, metadata=self.metadata)
        if self.parent and self.parent == previous:
            return replace(node, previous=True)
        return replace(node, parent=by_id(self.parent)) if self.parent else node


def opaque_items(data: bytes, salt: bytes, alias: str, *, parent: str = "", replaces: bool = True) -> list[Item]:
    """The nodes, each below the one before, of which the last has the alias, that hold bytes."""
    messages = opaque_messages(data)
    items: list[Item] = []
    for start in range(0, len(messages), _MESSAGES_A_NODE):
        above = items[-1].node_id if items else parent
        items.append(Item(messages[start : start + _MESSAGES_A_NODE], salt, above))
    last = items[-1]
    last.alias, last.replaces = alias, replaces
    if len(items) > 1:
        last.metadata = {PIECES: str(len(items))}
    return items


def metadata(node: v1.GetNodeResponse, key: str) -> str:
    """A metadata entry of a node; empty where it has none."""
    return next((entry.value for entry in node.metadata.entries if entry.key == key), "")


def opaque_messages(data: bytes) -> list[v1.Message]:
    """Opaque messages of bytes, which are not none."""
    pieces = (data[start : start + MAX_OPAQUE_BYTES] for start in range(0, len(data), MAX_OPAQUE_BYTES))
    return [v1.Message(role=v1.ROLE_SYSTEM, parts=[v1.Part(opaque=v1.Opaque(type=_KIND, data=piece))]) for piece in pieces]


def opaque_data(node: v1.GetNodeResponse) -> bytes:
    """The bytes of a node's opaque messages; ErasedNodeError where they were erased."""
    if erased(node):
        raise ErasedNodeError(node.info.node_id)
    return b"".join(message.parts[0].opaque.data for message in node.messages)


def erased(node: v1.GetNodeResponse) -> bool:
    """Whether a node was erased: it has markers in place of what it had."""
    return node.info.content == v1.NODE_CONTENT_ERASED


class ErasedNodeError(Exception):
    """What a node held of a checkpoint was erased; its argument is the node's id."""


class CheckpointErasedError(TranscriptError):
    """Something of a checkpoint was erased, and so it cannot be gone on from. To go on from the one before, delete its alias; to begin anew, delete
    the thread."""

    default_code = grpc.StatusCode.FAILED_PRECONDITION

    def __init__(self, message: str = "", *, thread_id: str = "", checkpoint_ns: str = "", alias: str = "", node_id: str = "") -> None:
        super().__init__(message)
        self.thread_id, self.checkpoint_ns = thread_id, checkpoint_ns
        self.alias = alias
        """That of the checkpoint, which ends with its id."""
        self.node_id = node_id
        """The node that was erased: its receipt tells when (Client.receipts)."""


@contextmanager
def told_as_erased(place: Place, alias: str) -> Iterator[None]:
    """Makes an ErasedNodeError the CheckpointErasedError of the checkpoint that has the alias."""
    try:
        yield
    except ErasedNodeError as error:
        raise CheckpointErasedError(
            f"the checkpoint {alias} of thread {place.thread!r} was erased (node {error.args[0]}): to go on from the one before, delete that alias "
            "(Client.delete_alias); to begin anew, call delete_thread",
            thread_id=place.thread,
            checkpoint_ns=place.ns,
            alias=alias,
            node_id=error.args[0],
        ) from None


@dataclass
class Chain:
    """The messages of a list that is kept as a chain."""

    messages: list[v1.Message] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    """Of each message as LangChain has it."""
    ends: list[tuple[str, int]] = field(default_factory=list)
    """Each node, and how many messages there are through it."""
    erasures: int = 0
    """What the reply told that it came with, or those of the chains that were kept when it was begun."""

    @property
    def head(self) -> str:
        """The last node; empty of an empty chain."""
        return self.ends[-1][0] if self.ends else ""

    def through(self, count: int) -> Chain:
        """As many whole nodes as have at most so many messages."""
        ends = [end for end in self.ends if end[1] <= count]
        kept = ends[-1][1] if ends else 0
        return Chain(self.messages[:kept], self.digests[:kept], ends, self.erasures)

    def at(self, head: str) -> Chain | None:
        """The beginning that ends with a node; None where that is no node of it."""
        return next((self.through(count) for node, count in self.ends if node == head), None)

    def add(self, node_id: str, messages: Sequence[v1.Message], digests: Sequence[bytes]) -> None:
        """Appends a node."""
        self.messages.extend(messages)
        self.digests.extend(digests)
        self.ends.append((node_id, len(self.messages)))

    def copy(self) -> Chain:
        """A chain of its own."""
        return Chain(list(self.messages), list(self.digests), list(self.ends), self.erasures)

    def langchain(self, serde: SerializerProtocol) -> list[BaseMessage]:
        """The messages as LangChain has them, made anew."""
        return [decode(message, serde) for message in self.messages]


def digest(message: BaseMessage, serde: SerializerProtocol) -> bytes:
    """Tells messages apart."""
    kind, data = serde.dumps_typed(message)
    return hashlib.blake2b(kind.encode() + b"\0" + data, digest_size=16).digest()


@dataclass
class Record:
    """A checkpoint as it is kept."""

    checkpoint: dict[str, Any]
    """Without channel_values."""
    metadata: dict[str, Any]
    parent: str | None
    """The id of the checkpoint before."""
    place: Place
    inline: dict[str, tuple[Any, Typed]] = field(default_factory=dict)
    """By channel: the version, and the value."""
    values: dict[str, tuple[Any, str]] = field(default_factory=dict)
    """By channel: the version, and the node that has the value."""
    listed: tuple[str, Any] | None = None
    """The channel whose messages are the chain, and its version."""
    head: str = ""
    """The last node of that chain, which is the parent of the checkpoint's; not written, as are the following."""
    node: str = ""
    """The checkpoint's node."""
    raw: bytes = b""
    """What the serializer wrote of the record."""
    pending: list[Item] = field(default_factory=list)
    """The nodes of its messages and its own, as long as they are being put."""

    def item(self, serde: SerializerProtocol) -> Item:
        """The node to put."""
        own = (self.checkpoint, self.metadata, self.parent, self.place.thread, self.place.ns, self.inline, self.values, self.listed)
        typed = serde.dumps_typed(own)
        item = Item(opaque_messages(pack(typed, _RECORD)), self.place.salt, self.head, self.place.checkpoint(self.id))
        self.raw, self.node = typed[1], item.node_id
        return item

    @classmethod
    def of(cls, node: v1.GetNodeResponse, serde: SerializerProtocol) -> Record:
        """The record of a node; ErasedNodeError."""
        typed = unpack(opaque_data(node), _RECORD)
        checkpoint, metadata, parent, thread, ns, inline, values, listed = serde.loads_typed(typed)
        return cls(
            checkpoint,
            metadata,
            parent,
            Place(thread, ns),
            {channel: (version, (kind, value)) for channel, (version, (kind, value)) in inline.items()},
            {channel: (version, node) for channel, (version, node) in values.items()},
            (listed[0], listed[1]) if listed else None,
            node.info.envelope.parent_id,
            node.info.node_id,
            typed[1],
        )

    @property
    def id(self) -> str:
        """The checkpoint's id."""
        return str(self.checkpoint["id"])


class Recent:
    """The values that were used last, as long as they have at most so much weight together. Threads may share it."""

    def __init__(self, most: int, weight: Callable[[Any], int]) -> None:
        self._most, self._weight = most, weight
        self._kept: OrderedDict[str, tuple[Any, int]] = OrderedDict()
        self._total = 0
        self._lock = threading.RLock()

    def get(self, name: str) -> Any | None:
        """The value of a name; None where it is not kept."""
        with self._lock:
            if name not in self._kept:
                return None
            self._kept.move_to_end(name)
            return self._kept[name][0]

    def put(self, name: str, value: Any) -> None:
        """Keeps a value."""
        weight = self._weight(value)
        with self._lock:
            self._total += weight - self._kept.pop(name, (None, 0))[1]
            self._kept[name] = (value, weight)
            while self._total > self._most and len(self._kept) > 1:
                self._total -= self._kept.popitem(last=False)[1][1]

    def drop(self, name: str) -> None:
        """Keeps a value no longer."""
        with self._lock:
            self._total -= self._kept.pop(name, (None, 0))[1]

    def clear(self) -> None:
        """Keeps nothing any longer."""
        with self._lock:
            self._kept.clear()
            self._total = 0

    def newest(self) -> Iterator[Any]:
        """The values, the one used last first."""
        with self._lock:
            return iter([value for value, _ in reversed(self._kept.values())])


class Chains(Recent):
    """The chains that were used last, by their heads, all with the same erasures."""

    def __init__(self, most: int) -> None:
        super().__init__(most, lambda chain: sum(message.ByteSize() for message in chain.messages))
        self.erasures = 0
        """Those of all chains that are kept."""

    def put(self, name: str, value: Chain) -> None:
        """Keeps a chain. One with other erasures than those that are kept drops them: they may have what was erased."""
        with self._lock:
            if value.erasures != self.erasures:
                self.clear()
                self.erasures = value.erasures
            super().put(name, value)

    def ending(self, head: str) -> Chain | None:
        """The chain that ends in a node, where it is kept, or one that goes on from it."""
        kept: Chain | None = self.get(head)
        if kept is not None:
            return kept
        parts = (chain.at(head) for chain in self.newest())
        return next((part for part in parts if part is not None), None)
