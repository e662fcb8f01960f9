"""Recomputes the ids of nodes from the bytes that were received or sent. Client.assemble tells what that proves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from . import raw, v1
from .errors import TranscriptError, VerificationError
from .identity import encode_messages, id_bytes, metadata_digest, node_id, payload_digest
from .messages import calls, is_opaque
from .texts import ERASED, stub

_ERASED_KIND = "erased"  # the type of an opaque marker


@dataclass
class Doubt:
    """A node that came repaired: what is shown of it, stubs aside, in place of the messages that its id is a hash of."""

    parent: str
    id: str
    shown: bytes = b""
    preamble: bool = False
    """Whether the preamble ends in the node: a compaction stands for the rest of it."""

    def settle(self, put: bytes) -> None:
        """Verifies that what is shown of the node is what was put in it, but for results and opaque messages, which may be left out. `put`
        is that, verified."""
        shown = self.shown
        for one in raw.each(put):
            if shown.startswith(one):
                shown = shown[len(one) :]
                continue
            message = raw.messages_of(one)[0]
            if message.role == v1.ROLE_TOOL or is_opaque(message):
                continue
            if self.preamble and not shown and not _opens(message.role):
                return
            raise mismatch(self.id, "it leaves out what is neither a result nor opaque")
        if shown:
            raise mismatch(self.id, "it shows what was not put")


@dataclass
class Verifier:
    """Follows the nodes of a reply from its base, or from a root, to the head, and recomputes the id of each from the bytes received.

    The effective view of a compacted chain has two runs of nodes that are not next to each other:

        root .. P   C   after T .. parent of C   after C .. head        C covers through T; P ends the preamble

    C's id and the last two runs are bound to the head by parents; P is not bound to T.
    """

    head: str = ""
    view: int = v1.VIEW_UNSPECIFIED
    based: bool = False
    """Whether the reply adds to a base."""
    off: bool = False
    """Whether the caller holds the content: nothing came to verify."""
    part: bool = False
    """Whether the reply is the end of a view, or of what it has before a message."""
    inner: bool = False
    """Whether it is that of what the view has before a message, so that it does not lead to the head."""
    next: str = ""
    """The parent that the next node has to have, empty for a root."""
    _over: bool = False  # a node came in part that is not the first: it is the last
    _came: str = ""  # the node that came last
    _spoken: bool = False  # a message came that is no preamble; not kept up once the compaction is known
    _compaction: v1.NodeInfo | None = None
    _joined: bool = False  # a node behind the compaction came
    _doubts: list[Doubt] = field(default_factory=list)  # not settled yet, in order; the last may go on in the next frame

    def frame(self, nodes: Sequence[v1.NodeInfo], payload: bytes) -> None:
        """Verifies the nodes of a frame, which share out its messages."""
        for info in nodes:
            own, payload = raw.cut(payload, info.message_count)
            self._node(info, own)
        if payload:
            raise VerificationError("verification failed: messages of no node")

    def _node(self, info: v1.NodeInfo, payload: bytes) -> None:
        """Verifies the next node, or a further part of a node whose repair made it too large for a frame."""
        verify_info(info, payload)
        if self.view != v1.VIEW_CONVERSATION:
            _verify_markers(info, payload)
        if self.part and self.view == v1.VIEW_FULL:
            self._follow(info)
            return
        if self.part or self.view == v1.VIEW_CONVERSATION:
            return  # its nodes are not next to each other, and what was cut is the server's
        further = not verbatim(info) and self._doubted() and info.node_id == self._came
        if not further:
            self._link(info)
        self._listen(payload)
        hidden = bool(info.envelope.covers_through_id) and info.message_count == 0
        if verbatim(info) or erased(info) or hidden:
            return
        if self.view == v1.VIEW_FULL:
            raise mismatch(info.node_id, "a full view has its messages not as they were put")
        if not further:
            self._doubts.append(Doubt(info.envelope.parent_id, info.node_id))
        self._doubts[-1].shown += _without_stubs(info.node_id, payload)

    def _follow(self, info: v1.NodeInfo) -> None:
        """Verifies that a node of a part of the full view follows the one before; what comes before the first is not known. The first may come
        in part, and where the part does not lead to the head the last too."""
        compaction = bool(info.envelope.covers_through_id)
        if self._came and info.envelope.parent_id != self._came:
            raise mismatch(info.node_id, "the parent is not the node before")
        if self._over:
            raise mismatch(info.node_id, "it comes behind a node that came in part")
        if compaction and info.message_count != 0:
            raise mismatch(info.node_id, "a full view shows a compaction")
        if not compaction and not verbatim(info) and not erased(info) and self._came:
            self._over = self.inner
            if not self._over:
                raise mismatch(info.node_id, "it came in part")
        self._came = info.node_id

    def _link(self, info: v1.NodeInfo) -> None:
        """Verifies that the node follows the one before, and that a compaction node is where one may be."""
        c, parent = self._compaction, info.envelope.parent_id
        compaction = bool(info.envelope.covers_through_id)
        joins = c is not None and not self._joined and self.next == c.envelope.parent_id and parent == c.node_id
        whole = self.view != v1.VIEW_FULL and compaction
        if whole and (self.based or self._joined or joins):
            raise mismatch(info.node_id, "the view does not begin with this compaction")
        if whole and c is None:
            self._compacted(info)
            return
        if compaction and info.message_count != 0:
            raise mismatch(info.node_id, "the view shows more than one compaction, or is full and shows one")
        if joins:
            self._joined = True
        elif parent != self.next:
            raise mismatch(info.node_id, "the parent is not the node before")
        self._came = self.next = info.node_id

    def _compacted(self, info: v1.NodeInfo) -> None:
        """Goes on behind what the node covers."""
        if not verbatim(info) and not erased(info):
            raise mismatch(info.node_id, "a compaction has its messages not as they were put")
        if self._spoken:
            raise mismatch(info.node_id, "what it covers is shown beside it")
        if self._doubted():
            self._doubts[-1].preamble = True
        self._compaction = info
        self._came, self.next = info.node_id, info.envelope.covers_through_id

    def _listen(self, payload: bytes) -> None:
        """Notes whether messages other than the preamble's came."""
        if self._spoken or self.based or self._compaction is not None or self.view == v1.VIEW_FULL:
            return
        self._spoken = any(not _opens(message.role) for message in raw.messages_of(payload))

    def _doubted(self) -> bool:
        """Whether the node that came last was repaired."""
        return bool(self._doubts) and self._doubts[-1].id == self._came

    def settled(self, end: bool) -> list[Doubt]:
        """Takes the doubts that no further part can belong to; all of them at the end."""
        n = len(self._doubts)
        if not end and self._doubted():
            n -= 1
        taken, self._doubts = self._doubts[:n], self._doubts[n:]
        return taken

    def end(self) -> None:
        """Judges whether the nodes led to the head."""
        astray = VerificationError("verification failed: the nodes do not lead to the head")
        if self.part:
            led = self.view != v1.VIEW_FULL or self.off or self.inner or not self._came or self._came == self.head
            if not led:
                raise astray
            return
        last = self.next
        if self._compaction is not None and not self._joined:
            last = self._compaction.node_id if self.next == self._compaction.envelope.parent_id else ""
        if not self.off and self.view != v1.VIEW_CONVERSATION and last != self.head:
            raise astray


def _opens(role: int) -> bool:
    """Whether a message of the role can be part of a preamble."""
    return role in (v1.ROLE_SYSTEM, v1.ROLE_DEVELOPER)


def _without_stubs(node: str, payload: bytes) -> bytes:
    """The payload less the stubs that the server added, each of which has to be just that: a result that says that there is none."""
    own = []
    for one in raw.each(payload):
        message = raw.messages_of(one)[0]
        if message.origin != v1.ORIGIN_STUB:
            own.append(one)
            continue
        made = stub(message.tool_call_id if message.HasField("tool_call_id") else None, message.name if message.HasField("name") else None)
        if one != encode_messages([made]):
            raise mismatch(node, "a stub says more than it may")
    return b"".join(own)


def verify_info(info: v1.NodeInfo, payload: bytes) -> None:
    """Recomputes a node's id: of a verbatim node from its messages, else from the digest that the envelope gives."""
    if not info.HasField("envelope"):
        raise mismatch(info.node_id, "no envelope came")
    given = info.envelope
    try:
        digest = payload_digest(payload, given.salt) if verbatim(info) else _id(given.payload_digest)
        envelope = v1.NodeEnvelope(
            payload_digest=digest,
            parent=_id(given.parent_id),
            metadata_digest=_id(given.metadata_digest),
            covers_through=_id(given.covers_through_id),
            spawned_from=_spawned_from(given.spawned_from) if given.HasField("spawned_from") else None,
        )
    except ValueError:
        raise mismatch(info.node_id, "its envelope is malformed") from None
    if not digest:
        raise mismatch(info.node_id, "no digest of its messages came")
    if node_id(envelope) != info.node_id:
        raise mismatch(info.node_id, "it hashes to another id")


def marker(message: v1.Message) -> v1.Message:
    """What stands where a message was erased, made of what stands there: a message that is a marker equals it, and no other does."""
    if message.origin in (v1.ORIGIN_STUB, v1.ORIGIN_LEFT_OUT):
        return message
    made = v1.Message(role=message.role, state=message.state, origin=message.origin)
    if is_opaque(message):
        made.parts.append(v1.Part(opaque=v1.Opaque(type=_ERASED_KIND)))
        return made
    if message.role == v1.ROLE_TOOL:
        made.is_error = message.is_error
        if message.HasField("tool_call_id"):
            made.tool_call_id = message.tool_call_id
        if message.HasField("name"):
            made.name = message.name
    if message.parts:
        made.parts.append(v1.Part(text=ERASED))
    for call in calls(message):
        kept = v1.ToolCall(arguments="{}")
        if call.HasField("id"):
            kept.id = call.id
        if call.HasField("name"):
            kept.name = call.name
        made.parts.append(v1.Part(tool_call=kept))
    return made


def _verify_markers(info: v1.NodeInfo, payload: bytes) -> None:
    """Verifies that a node that was erased shows markers alone, stubs of the view aside. Of a compaction node nobody can tell which messages
    were."""
    if not erased(info) or info.envelope.covers_through_id:
        return
    for one in raw.each(_without_stubs(info.node_id, payload)):
        if one != encode_messages([marker(raw.messages_of(one)[0])]):
            raise mismatch(info.node_id, "it is erased, and shows more than a marker")


def verify_node(request: v1.GetNodeRequest, reply: v1.GetNodeResponse, payload: bytes) -> None:
    """Verifies a reply of GetNode: that it is the node asked for, and that envelope, metadata and, unless they were left out, messages hash to
    its id. Of a node that was erased the digests tell that."""
    info = reply.info
    if not info.HasField("envelope"):
        raise mismatch(info.node_id, "no envelope came")
    if not info.node_id.startswith(request.node.node_id):
        raise mismatch(info.node_id, "it is not the one asked for")
    by_digest = v1.NodeInfo(node_id=info.node_id, envelope=info.envelope)
    salt, entries = info.envelope.salt, reply.metadata.entries
    if erased(info):
        if entries:
            raise mismatch(info.node_id, "it is erased, and has metadata")
        _verify_markers(info, payload)
        verify_info(by_digest, b"")
        return
    try:
        metadata = metadata_digest(entries, salt).hex() if entries else ""
        messages = payload_digest(payload, salt).hex()
    except ValueError:
        raise mismatch(info.node_id, "its envelope is malformed") from None
    if metadata != info.envelope.metadata_digest:
        raise mismatch(info.node_id, "its metadata has another digest")
    if not request.omit_messages and messages != info.envelope.payload_digest:
        raise mismatch(info.node_id, "its messages have another digest")
    verify_info(by_digest, b"")


def verify_put(nodes: Sequence[v1.NewNode], results: Sequence[v1.PutNodeResponse]) -> None:
    """Recomputes the ids of nodes that were put. Below a parent that is named by an alias it cannot know them."""
    for i, (node, result) in enumerate(zip(nodes, results, strict=True)):
        parent = results[i - 1].node_id if node.previous and i > 0 else node.parent.node_id
        own = identify(node, parent)
        if own is None:
            raise mismatch(result.node_id, "its envelope is malformed")
        if not node.parent.alias and own != result.node_id:
            raise mismatch(result.node_id, "what was put hashes to another id")


def identify(node: v1.NewNode, parent: str) -> str | None:
    """The id of a node that the server has judged, below a parent: 64 hex digits, empty for a root. None: an id in it is none."""
    try:
        envelope = v1.NodeEnvelope(
            payload_digest=payload_digest(encode_messages(node.messages), node.salt),
            parent=_id(parent),
            metadata_digest=metadata_digest(node.metadata, node.salt) if node.metadata else b"",
            spawned_from=_spawned_from(node.spawned_from) if node.HasField("spawned_from") else None,
        )
    except ValueError:
        return None
    return node_id(envelope)


def mismatch(node: str, what: str) -> TranscriptError:
    """A VerificationError about a node."""
    return VerificationError(f"verification failed: node {node[:64]!r}: {what}")


def verbatim(info: v1.NodeInfo) -> bool:
    """Whether a reply has a node's messages as they are hashed. Of any other content, also one that a later version may tell, the envelope has
    the digest."""
    return info.content == v1.NODE_CONTENT_VERBATIM


def erased(info: v1.NodeInfo) -> bool:
    """Whether a node was erased."""
    return info.content == v1.NODE_CONTENT_ERASED


def _spawned_from(given: v1.SpawnedFromRef) -> v1.SpawnedFrom:
    """A link as it is hashed. ValueError: its node is no id."""
    return v1.SpawnedFrom(node=_id(given.node_id, empty=False), tool_call_id=given.tool_call_id if given.HasField("tool_call_id") else None)


def _id(digits: str, *, empty: bool = True) -> bytes:
    """The 32 bytes of 64 lower-case hex digits, or no bytes of an empty text. ValueError."""
    return b"" if empty and not digits else id_bytes(digits)
