# Made from ../_async/checkpoints.py by tools/unasync.py: do not edit.
"""How checkpoints of LangGraph are put and found: see transcriptd.langgraph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.constants import START

from .. import v1
from .._langchain import decode, encode
from ..checkpoint_state import (
    INLINE,
    INPUT_INLINE,
    LIST,
    MESSAGES,
    ONE,
    PIECES,
    Chain,
    Chains,
    ErasedNodeError,
    Item,
    Place,
    Recent,
    Record,
    Typed,
    digest,
    erased,
    metadata,
    names,
    opaque_data,
    opaque_items,
    opaque_messages,
    pack,
    told_as_erased,
    unpack,
)
from ..errors import (
    AliasExistsError,
    AliasMovedError,
    AliasNotFoundError,
    NodeNotFoundError,
    NotAnAncestorError,
    PayloadErasedError,
    advised,
)
from ..refs import by_alias, by_id, head_is, must_not_exist
from ..rules import in_nodes
from .client import Client

_COMMIT_BYTES = 3 << 20  # of messages; one more node of them stays below a request's limit
_PAGE = 50  # the checkpoints that are read at once
_CACHE_BYTES = 64 << 20
_NO_ANCESTOR = (NotAnAncestorError, NodeNotFoundError)


class Checkpoints:
    """The checkpoints of a namespace of the service."""

    def __init__(self, client: Client, serde: SerializerProtocol) -> None:
        self._client, self._serde = client, serde
        self._chains = Chains(_CACHE_BYTES)
        self._records = Recent(256, lambda _: 1)
        self._heads = Recent(1024, lambda _: 1)  # by folder: the head of the chain of the checkpoint that was put or found last

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, told: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        """Puts a checkpoint and the values that are new in it, in one commit unless they are over 3 MiB."""
        place, parent_id = _place(config), config["configurable"].get("checkpoint_id")
        own = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        record = Record(own, dict(get_checkpoint_metadata(config, told)), parent_id, place)
        before = self._record(place, parent_id) if parent_id else None
        items: list[Item] = []
        tail: list[Item] = []
        channel = _listed(checkpoint["channel_values"], before)
        for name, version in checkpoint["channel_versions"].items():
            if name not in new_versions:
                _carry(record, before, name, version)
            elif name == channel:
                record.listed = (name, version)
                record.head, tail = self._extend(place, before, checkpoint["channel_values"][name])
            elif name in checkpoint["channel_values"]:
                items.extend(self._value(record, name, version, checkpoint["channel_values"][name]))
        record.pending = [*tail, record.item(self._serde)]
        self._records.put(place.checkpoint(record.id), record)  # its writes may be put meanwhile
        try:
            self._put([*items, *record.pending])
        except BaseException:
            self._records.drop(place.checkpoint(record.id))
            raise
        record.pending = []
        self._heads.put(place.folder, record.head)
        return _config(place, record.id)

    def _value(self, record: Record, name: str, version: Any, value: Any) -> list[Item]:
        """Keeps a value in the record, or if it is large gives the nodes for it."""
        typed: Typed = self._serde.dumps_typed(value)
        if len(typed[1]) <= (INPUT_INLINE if name == START else INLINE):
            record.inline[name] = (version, typed)
            return []
        items = opaque_items(pack(typed), record.place.salt, record.place.value(name, version))
        record.values[name] = (version, items[-1].node_id)
        return items

    def _extend(self, place: Place, before: Record | None, messages: Sequence[BaseMessage]) -> tuple[str, list[Item]]:
        """The nodes that make a list of messages of the one before it: what is new goes below what both have."""
        chain = self._chain(before.head) if before is not None and before.head else Chain(erasures=self._chains.erasures)
        digests = [digest(message, self._serde) for message in messages]
        same = next(
            (i for i, (a, b) in enumerate(zip(chain.digests, digests, strict=False)) if a != b), min(len(chain.digests), len(digests))
        )
        chain = chain.through(same)
        kept = len(chain.messages)
        items: list[Item] = []
        for piece in in_nodes([encode(message, self._serde) for message in messages[kept:]]):
            items.append(Item(piece, place.salt, chain.head))
            first = len(chain.messages)
            chain.add(items[-1].node_id, piece, digests[first : first + len(piece)])
        if chain.erasures == self._chains.erasures:
            self._chains.put(chain.head, chain)
        return chain.head, items

    def _put(self, items: Sequence[Item]) -> None:
        """Puts nodes in as few commits as hold them, the last of which has the checkpoint."""
        batch: list[Item] = []
        size = 0
        for item in items:
            own = sum(message.ByteSize() + 64 for message in item.messages)
            if batch and (size + own > _COMMIT_BYTES or len(batch) == 1000):
                self._commit(batch)
                batch, size = [], 0
            batch.append(item)
            size += own
        if batch:
            self._commit(batch)

    def _commit(self, items: list[Item]) -> None:
        """Puts nodes. Where another node has an alias already, it is replaced, or stays."""
        while items:
            previous = ""
            nodes = []
            for item in items:
                nodes.append(item.node(previous))
                previous = item.node_id
            try:
                self._client.put_all(*nodes)
                return
            except PayloadErasedError as error:
                raise advised(error, "what the graph puts was erased while it ran: begin the thread anew, with delete_thread") from None
            except (AliasExistsError, AliasMovedError, AliasNotFoundError) as error:
                taken = {_number(conflict.field): conflict.node_id for conflict in error.conflicts}
                if not taken:
                    raise
            items = [_settled(item, taken.get(i)) for i, item in enumerate(items) if i not in taken or item.replaces]

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Puts what a task has written, in one commit unless it is over 3 MiB. What it has written there before stays, but for what stands for
        the whole task: an error, an interrupt."""
        place, checkpoint_id = _place(config), config["configurable"]["checkpoint_id"]
        record = self._record(place, checkpoint_id)
        items = [replace(item, alias="") for item in record.pending] if record is not None else []
        for i, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, i)
            alias = place.write(checkpoint_id, task_id, index)
            items.extend(self._write(place, record, alias, (task_path, task_id, index, channel), value))
        self._put(items)

    def _write(self, place: Place, record: Record | None, alias: str, head: tuple[str, str, int, str], value: Any) -> list[Item]:
        """The nodes of a write. Messages that the chain is to have next stand there, and nowhere else."""
        index, channel = head[2:]
        # LangGraph may put the writes before their checkpoint. Then the chain most likely goes on from where it was.
        at = self._heads.get(place.folder) if record is None else record.head
        if at is not None and channel == (record.listed[0] if record is not None and record.listed else "messages"):
            messages = value if type(value) is list else [value]
            if messages and all(isinstance(one, BaseMessage) and one.id for one in messages):
                made = list(in_nodes([encode(one, self._serde) for one in messages]))
                if len(made) == 1:
                    ahead = Item(made[0], place.salt, at)
                    data = pack(self._serde.dumps_typed((*head, None)))
                    form = {MESSAGES: LIST if type(value) is list else ONE}
                    return [ahead, Item(opaque_messages(data), place.salt, ahead.node_id, alias, index < 0, metadata=form)]
        parent, like = ("", b"") if record is None else (record.node, record.raw)
        data = pack(self._serde.dumps_typed((*head, self._serde.dumps_typed(value))), like)
        return opaque_items(data, place.salt, alias, parent=parent, replaces=index < 0)

    def get(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Gives the checkpoint of a config, or the last one."""
        place, checkpoint_id = _place(config), config["configurable"].get("checkpoint_id")
        if checkpoint_id:
            record = self._found(place, checkpoint_id)
        else:
            found = self._names(place.folder, most=1)
            with told_as_erased(place, found[0].name if found else ""):
                record = (self._read([info.node_id for info in found]))[0] if found else None
        if record is None:
            return None
        self._heads.put(place.folder, record.head)
        with told_as_erased(place, place.checkpoint(record.id)):
            return self._tuple(record)

    def each(
        self,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yields checkpoints, the newest of each thread and namespace first, but for those of which something was erased."""
        left = limit
        for record in self._named(_prefix(config)):
            if left is not None and left <= 0:
                return
            if _wanted(record, config, filter, before):
                try:
                    whole = self._tuple(record)
                except ErasedNodeError:
                    continue
                left = None if left is None else left - 1
                yield whole

    def _named(self, prefix: str) -> Iterator[Record]:
        """The checkpoints whose names begin so, the last name first, but for those that were erased."""
        ids: list[str] = []
        for info in self._client.aliases(prefix=prefix, reverse=True):
            ids.append(info.node_id)
            if len(ids) == _PAGE:
                for node in self._nodes(ids):
                    if not erased(node):
                        yield Record.of(node, self._serde)
                ids = []
        for node in self._nodes(ids):
            if not erased(node):
                yield Record.of(node, self._serde)

    def delete_thread(self, thread_id: str) -> None:
        """Deletes the names of all checkpoints of a thread. Their nodes stay."""
        for kind in ("c", "w", "v"):
            for _ in self._client.delete_aliases(prefix=names(kind, thread_id) + "/"):
                pass
        self._records.clear()
        self._heads.clear()

    def _names(self, prefix: str, most: int = 1000) -> list[v1.AliasInfo]:
        """The last aliases that begin so."""
        request = self._client._alias_page(prefix, None, True, "")
        request.page_size = most
        reply = self._client._read("ListAliases", request, v1.ListAliasesResponse)
        return list(reply.aliases)

    def _record(self, place: Place, checkpoint_id: str) -> Record | None:
        """A checkpoint by its id, as it was when it was put or read last; None where it is not there."""
        kept: Record | None = self._records.get(place.checkpoint(checkpoint_id))
        return kept if kept is not None else self._found(place, checkpoint_id)

    def _found(self, place: Place, checkpoint_id: str) -> Record | None:
        """A checkpoint by its id, as it is now; None where it is not there; CheckpointErasedError."""
        name = place.checkpoint(checkpoint_id)
        try:
            with told_as_erased(place, name):
                record = Record.of(self._client.node(by_alias(name)), self._serde)
        except AliasNotFoundError:
            return None
        self._records.put(name, record)
        return record

    def _read(self, ids: Sequence[str]) -> list[Record]:
        """Checkpoints by their nodes; ErasedNodeError."""
        return [Record.of(node, self._serde) for node in self._nodes(ids)]

    def _tuple(self, record: Record) -> CheckpointTuple:
        """A checkpoint as LangGraph has it; ErasedNodeError. Messages of its list that were erased are markers."""
        place = record.place
        values: dict[str, Any] = {name: self._serde.loads_typed(typed) for name, (_, typed) in record.inline.items()}
        for name, (_, node) in record.values.items():
            packed, _ = self._packed(self._client.node(by_id(node)))
            values[name] = self._serde.loads_typed(unpack(packed))
        if record.listed is not None:
            values[record.listed[0]] = (self._chain(record.head, ask=True)).langchain(self._serde)
        checkpoint: Any = {**record.checkpoint, "channel_values": values}
        told: Any = record.metadata
        parent = _config(place, record.parent) if record.parent else None
        return CheckpointTuple(_config(place, record.id), checkpoint, told, parent, self._writes(record))

    def _writes(self, record: Record) -> list[tuple[str, str, Any]]:
        """What tasks have written after a checkpoint, in LangGraph's order."""
        ids = [info.node_id for info in self._client.aliases(prefix=record.place.writes(record.id))]
        found = self._nodes(ids)
        ahead = self._nodes(sorted({node.info.envelope.parent_id for node in found if metadata(node, MESSAGES)}))
        messages = {node.info.node_id: [decode(one, self._serde) for one in node.messages] for node in ahead}
        writes = []
        for node in found:
            packed, parent_id = self._packed(node)
            form = metadata(node, MESSAGES)
            like = b"" if form else self._like(parent_id, record)
            path, task_id, index, channel, typed = self._serde.loads_typed(unpack(packed, like))
            if form:
                value: Any = messages[parent_id] if form == LIST else messages[parent_id][0]
            else:
                value = self._serde.loads_typed((typed[0], typed[1]))
            writes.append((writes_sort_key(path, task_id, index), (task_id, channel, value)))
        return [write for _, write in sorted(writes, key=lambda one: one[0])]

    def _nodes(self, ids: Sequence[str]) -> Sequence[v1.GetNodeResponse]:
        return (self._client.nodes(*ids)).nodes if ids else []

    def _packed(self, node: v1.GetNodeResponse) -> tuple[bytes, str]:
        """What the opaque nodes hold of which this is the last, and the parent of the first."""
        packed = opaque_data(node)
        for _ in range(int(metadata(node, PIECES) or 1) - 1):
            node = self._client.node(by_id(node.info.envelope.parent_id))
            packed = opaque_data(node) + packed
        return packed, node.info.envelope.parent_id

    def _like(self, node_id: str, record: Record) -> bytes:
        """What a write is packed with: the checkpoint that was there then, which is its parent."""
        if node_id in ("", record.node):
            return record.raw if node_id else b""
        return (self._read([node_id]))[0].raw

    def _chain(self, head: str, *, ask: bool = False) -> Chain:
        """The list of messages that ends in a node. Of one that goes on from a list that is kept only the rest is read. `ask`: also where it is
        kept, the service is asked whether it was erased since."""
        kept = self._chains.ending(head)
        if kept is not None and not ask:
            return kept
        held = kept if kept is not None else next(self._chains.newest(), Chain())
        try:
            whole = self._client.assemble(
                by_id(head), view=v1.VIEW_FULL, after=held.head, after_erasures=held.erasures, detail=v1.NODE_DETAIL_IDS
            )
        except _NO_ANCESTOR:
            held = Chain()
            whole = self._client.assemble(by_id(head), view=v1.VIEW_FULL, detail=v1.NODE_DETAIL_IDS)
        if kept is not None and whole.base_id:
            return kept
        chain = held.copy() if whole.base_id else Chain(erasures=whole.erasures)
        messages = whole.messages()
        for node in whole.nodes:
            piece, messages = messages[: node.message_count], messages[node.message_count :]
            chain.add(node.node_id, piece, [digest(one, self._serde) for one in Chain(piece).langchain(self._serde)])
        self._chains.put(head, chain)
        return chain


def _place(config: RunnableConfig) -> Place:
    configurable = config["configurable"]
    return Place(str(configurable["thread_id"]), str(configurable.get("checkpoint_ns", "")))


def _config(place: Place, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": place.thread, "checkpoint_ns": place.ns, "checkpoint_id": checkpoint_id}}


def _prefix(config: RunnableConfig | None) -> str:
    """What the names of all checkpoints begin with that a config may mean."""
    if config is None:
        return names("c") + "/"
    place = _place(config)
    if config["configurable"].get("checkpoint_ns") is None:
        return names("c", place.thread) + "/"
    checkpoint_id = config["configurable"].get("checkpoint_id")
    return place.checkpoint(checkpoint_id) if checkpoint_id else place.folder


def _wanted(record: Record, config: RunnableConfig | None, filter: dict[str, Any] | None, before: RunnableConfig | None) -> bool:
    """Whether a listing is to have a checkpoint."""
    only = config["configurable"].get("checkpoint_id") if config else None
    end = before["configurable"].get("checkpoint_id") if before else None
    if (only and record.id != only) or (end and record.id >= end):
        return False
    return all(record.metadata.get(name) == value for name, value in (filter or {}).items())


def _listed(values: dict[str, Any], before: Record | None) -> str | None:
    """The channel whose list of messages is the chain: the one before, `messages`, or the first by name that has such a list."""
    lists = [name for name, value in sorted(values.items()) if _is_messages(value)]
    first = [before.listed[0]] if before is not None and before.listed is not None else []
    return next((name for name in [*first, "messages", *lists] if name in lists), None)


def _is_messages(value: Any) -> bool:
    return type(value) is list and bool(value) and all(isinstance(one, BaseMessage) for one in value)


def _carry(record: Record, before: Record | None, name: str, version: Any) -> None:
    """Takes over a value that has not changed."""
    if before is None:
        return
    if name in before.inline and before.inline[name][0] == version:
        record.inline[name] = before.inline[name]
    elif name in before.values and before.values[name][0] == version:
        record.values[name] = before.values[name]
    elif before.listed == (name, version):
        record.listed, record.head = before.listed, before.head


def _number(field: str) -> int:
    """The node that a path of a request names."""
    found = re.match(r"nodes\[(\d+)\]", field)
    return int(found[1]) if found else -1


def _settled(item: Item, node_id: str | None) -> Item:
    """An item on condition that its alias still has the node that it was found to have."""
    return item if node_id is None else replace(item, condition=head_is(node_id) if node_id else must_not_exist())
