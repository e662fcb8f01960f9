"""What is assembled of a chain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from google.protobuf.message import DecodeError

from . import _check, raw, v1
from .errors import BadReplyError, VerificationError
from .raw import messages_of
from .refs import Ref, ref
from .verify import Verifier

if TYPE_CHECKING:
    from .v1 import MessagePlace, NodeFacts, Policy


class QueryOptions(TypedDict, total=False):
    """What to assemble of a chain, as keyword arguments; none: the whole effective view."""

    view: int
    """What to make of the chain: VIEW_EFFECTIVE (without), VIEW_FULL or VIEW_CONVERSATION."""
    policy: Policy | None
    """Bounds a VIEW_CONVERSATION; absent fields, and None, have the server's defaults."""
    condense_last: bool
    """Shows a closed last run loop condensed too; only with VIEW_CONVERSATION."""
    after: str
    """Asks for what the view adds to that of this ancestor (the head itself is allowed): see Assembly.base_id. Not with VIEW_CONVERSATION."""
    after_erasures: int
    """The Assembly.erasures that the view of `after` came with: where nodes of the namespace were erased since, the whole view comes."""
    last_messages: int
    """Asks for the end of the view: at most so many messages, up to 10,000, 0 for any number; at least one message, and no group of tool calls
    is parted: see Assembly.begin. Not with VIEW_CONVERSATION, nor with `after`."""
    last_bytes: int
    """The same with at most so many bytes."""
    before: MessagePlace | None
    """Asks, with last_messages or last_bytes, for the end of what comes before a message of the view; None: of all."""
    if_none_match: str
    """The etag of an Assembly that the caller holds: see Assembly.not_modified."""
    detail: int
    """What to tell of the nodes, a NODE_DETAIL of v1."""
    facts: NodeFacts | None
    """Asks for when each node was first put, and for its metadata of some keys; then `detail` is NODE_DETAIL_IDS at least."""
    verify: bool
    """Recomputes each node's id from the bytes received and follows the parents to the head: see Client.assemble. It implies
    NODE_DETAIL_ENVELOPES."""


@dataclass(frozen=True)
class Query:
    """QueryOptions, checked."""

    view: int = v1.VIEW_UNSPECIFIED
    policy: v1.Policy | None = None
    condense_last: bool = False
    after: str = ""
    after_erasures: int = 0
    last_messages: int = 0
    last_bytes: int = 0
    before: v1.MessagePlace | None = None
    if_none_match: str = ""
    detail: int = v1.NODE_DETAIL_UNSPECIFIED
    facts: v1.NodeFacts | None = None
    verify: bool = False

    def request(self, namespace: str, head: Ref, verify: bool) -> v1.StreamAssembleRequest:
        """The request of it. TypeError and ValueError name an argument that is wrong."""
        int32 = 2**31 - 1
        detail = _check.number("detail", self.detail, most=int32)
        if self.facts is not None and detail == v1.NODE_DETAIL_UNSPECIFIED:
            detail = v1.NODE_DETAIL_IDS
        if _check.flag("verify", self.verify) or verify:
            detail = v1.NODE_DETAIL_ENVELOPES
        return v1.StreamAssembleRequest(
            namespace=namespace,
            head=ref("head", head),
            view=_check.number("view", self.view, most=int32),  # type: ignore[arg-type]
            policy=None if self.policy is None else _check.message("policy", self.policy, v1.Policy),
            condense_last=_check.flag("condense_last", self.condense_last),
            after_id=_check.node_id("after", self.after, empty=True),
            after_erasures=_check.number("after_erasures", self.after_erasures, most=2**63 - 1),
            last_messages=_check.number("last_messages", self.last_messages, most=int32),
            last_bytes=_check.number("last_bytes", self.last_bytes, most=int32),
            before=None if self.before is None else _check.message("before", self.before, v1.MessagePlace),
            if_none_match=_check.text("if_none_match", self.if_none_match),
            node_detail=detail,  # type: ignore[arg-type]
            node_facts=None if self.facts is None else _check.message("facts", self.facts, v1.NodeFacts),
        )


@dataclass
class Assembly:
    """The messages of a chain, or of the part of it that was asked for. They are kept as they were received."""

    head_id: str = ""
    """The node that the chain ends in."""
    base_id: str = ""
    """The ancestor of `after` where that was honoured: the messages are to be appended to what the caller holds. Empty: they are the whole
    view and replace it, or the part of it that was asked for."""
    begin: MessagePlace | None = None
    """Where the messages begin, where the end of a view was asked for; None without messages."""
    more_before: bool = False
    """Whether the view has messages before that."""
    etag: str = ""
    """Names the content, for `if_none_match`."""
    not_modified: bool = False
    """Whether the etag that was given is still right; then there are no messages."""
    erasures: int = 0
    """A number that each erasure in the namespace changes, for `after_erasures`."""
    counters: v1.ChainCounters | None = None
    """The chain's totals."""
    report: v1.Report | None = None
    """What was found; None where not modified."""
    nodes: list[v1.NodeInfo] = field(default_factory=list)
    """The nodes of the messages, where asked for."""
    payloads: list[bytes] = field(default_factory=list, repr=False)
    """The messages as received: each an encoded Payload."""

    def messages(self) -> list[v1.Message]:
        """The messages, decoded anew each time: the caller owns them. Error: BadReplyError."""
        return [message for payload in self.payloads for message in messages_of(payload)]

    def encoded(self) -> list[bytes]:
        """Each message as received: an entry of the field `repeated Message messages = 1`, tag and length included. Equal messages are equal
        bytes. Error: BadReplyError."""
        return [one for payload in self.payloads for one in raw.each(payload)]

    def size(self) -> int:
        """The bytes of the messages as received."""
        return sum(map(len, self.payloads))

    def add(self, frame: Assembly) -> None:
        """Appends a frame."""
        if not self.head_id:
            self.head_id, self.base_id, self.etag = frame.head_id, frame.base_id, frame.etag
            self.not_modified, self.erasures, self.counters = frame.not_modified, frame.erasures, frame.counters
            self.begin, self.more_before = frame.begin, frame.more_before
        self.report = frame.report or self.report
        self.nodes.extend(frame.nodes)
        self.payloads.extend(frame.payloads)


class Frames:
    """Reads the replies of one StreamAssemble."""

    def __init__(self, request: v1.StreamAssembleRequest, verify: bool) -> None:
        self._request = request
        self._begun = False
        self._ended = False  # the report came, or there is none to come
        self.verifier = Verifier() if verify else None
        self.erasures = 0
        """As the first reply tells."""

    def next(self, reply: bytes) -> Assembly:
        """Reads and judges a reply. BadReplyError, VerificationError."""
        payload, rest = raw.split(reply)
        try:
            told = v1.StreamAssembleResponse.FromString(rest)
        except DecodeError as error:
            raise BadReplyError("the reply does not parse") from error
        if not self._begun:
            self._begin(told)
        report = told.report if told.HasField("report") else None
        self._ended = self._ended or report is not None or told.not_modified
        if self.verifier is not None and not told.not_modified:
            self.verifier.frame(told.nodes, payload)
        return Assembly(
            head_id=told.head_id,
            base_id=told.base_id,
            begin=told.begin if told.HasField("begin") else None,
            more_before=told.has_more_before,
            etag=told.etag,
            not_modified=told.not_modified,
            erasures=told.erasures,
            counters=told.counters if told.HasField("counters") else None,
            report=report,
            nodes=list(told.nodes),
            payloads=[payload] if payload else [],
        )

    def _begin(self, told: v1.StreamAssembleResponse) -> None:
        """Judges what the first reply says of the whole."""
        self._begun, self.erasures = True, told.erasures
        asked = self._request
        if not told.head_id:
            raise BadReplyError("no head")
        if told.base_id and told.base_id != asked.after_id:
            raise BadReplyError("the base is not what was asked for")
        if told.not_modified and not asked.if_none_match:
            raise BadReplyError("not modified, but nothing was held")
        if told.has_more_before and not told.HasField("begin"):
            raise BadReplyError("there is more before nothing")
        v = self.verifier
        if v is None:
            return
        if asked.head.WhichOneof("ref") == "node_id" and asked.head.node_id != told.head_id:
            raise VerificationError("verification failed: the head is not the one asked for")
        v.next, v.head, v.view, v.based = told.base_id, told.head_id, asked.view, bool(told.base_id)
        v.part = asked.last_messages > 0 or asked.last_bytes > 0
        v.inner, v.off = asked.HasField("before"), told.not_modified

    def end(self) -> None:
        """Judges that the stream has ended."""
        if not self._ended:
            raise BadReplyError("the stream ended early")
