"""The Python SDK of transcriptd, which keeps the transcripts of LLM agents.

A Client calls a server, synchronously; AsyncClient is the same for asyncio. A Thread is what an agent does in a turn: start from the
message that it answers, read the messages to send, append what was said, reply.

    with transcriptd.Client("127.0.0.1:7420") as client:
        thread = client.start("m1", transcriptd.user("What is in notes.txt?"), system=[transcriptd.system("You are helpful.")])
        while True:
            message = call_model(thread.messages())
            if not transcriptd.calls(message):
                break
            thread.append(message)  # before the tools run
            thread.append_results(*(transcriptd.result(call, run(call)) for call in transcriptd.calls(message)))
        thread.reply("o1", message)

Messages and what replies tell are the protobuf messages of transcriptd.v1. Ids of nodes are 64 lower-case hex digits; by_id and by_alias
name a node.

Deadlines: a call ends after the client's `deadline`, or that of `transcriptd.deadline(seconds)` around it; a stream goes on while frames
come.

Errors: what a call raises is a TranscriptError, of the class of its reason: AliasMovedError and its like; wrong arguments are TypeError and
ValueError. An asyncio cancellation passes through.

Retries: while the server is unavailable or overloaded calls are repeated until their deadline, with growing pauses (Retry). Of an attempt
that was never sent, or refused as OVERLOADED or DRAINING, it is known that it has done nothing: then any call is repeated. Where a reply
was lost the call may have taken place, and only those are repeated that do nothing twice and undo nothing: put, set_aliases, delete_alias
and compact tell which those are. A repeat of a call whose reply was lost succeeds with the same node; but its `created` and `changed` are
then False although an earlier attempt of this very call wrote: `retried` tells that this may be so.

Salts: every append of a thread, what begins one, and every compaction has a salt of 16 random bytes, chosen once and kept over its repeats;
a root of system and developer messages alone has none. So conversations that say the same are apart unless they fork, of equal appends at
once exactly one is first, and an append whose reply was lost is known by its node. may_have_happened tells whether a call that failed may
have taken place; made again on the same thread (start, spawn and compact: on the same client) it finds out. put and put_all put what they
are given.
"""

from importlib.metadata import version as _version

from . import errors, v1
from ._async.client import AsyncClient
from ._async.thread import AsyncThread
from ._async.tools import AsyncTool
from ._convert.report import ConversionError
from ._sync.client import Client
from ._sync.thread import Thread
from ._sync.tools import Tool
from .assembly import Assembly, QueryOptions
from .byhand import message
from .compaction import CompactionOptions
from .errors import (
    AliasExistsError,
    AliasMovedError,
    AliasNotFoundError,
    AlreadyCoveredError,
    AmbiguousPrefixError,
    AuditUnavailableError,
    BadReplyError,
    BadTargetError,
    CancelledError,
    ClosedError,
    CompactionTooLargeError,
    Conflict,
    DeadlineExceededError,
    DiskFullError,
    DrainingError,
    DuplicateAliasError,
    ErasedMeanwhileError,
    IdentityUnavailableError,
    InsecureError,
    InternalError,
    InvalidFieldError,
    InvalidPageTokenError,
    InvalidPatternError,
    LegalHoldError,
    LimitExceededError,
    MalformedRequestError,
    NodeCorruptError,
    NodeNotFoundError,
    NoNameError,
    NotAnAncestorError,
    NotAResultError,
    NotInViewError,
    OpenToolCallsError,
    OverloadedError,
    ParentGivenError,
    ParentNotFoundError,
    PayloadErasedError,
    PermissionDeniedError,
    Quota,
    QuotaExceededError,
    RateLimitedError,
    SettingsChangedError,
    SharedRootError,
    StoreFailedError,
    ToolCallNotFoundError,
    TooManyFilesError,
    TooManyOpenCallsError,
    TranscriptError,
    UnauthenticatedError,
    UnsupportedError,
    UseStreamAssembleError,
    VerificationError,
    Violation,
    may_have_happened,
    typed,
)
from .guard import AliasRun, EndedRun
from .messages import assistant, call, calls, is_opaque, opaque, result, system, text, unknown_result, user
from .names import chat_alias, message_alias
from .nodes import Found
from .policies import chat, coding, frugal, long, unbounded
from .refs import Condition, Ref, by_alias, by_id, head_at, head_is, must_exist, must_not_exist, revision_is
from .retry import Retry, deadline
from .runs import OUTCOME_KEY, Outcome
from .spawns import INHERITS_KEY, Inheritance
from .variables import DeclaredVariable, variable_info_key, variable_key
from .writes import AliasMove, AliasUpdate, Node, PutResult

__version__ = _version("transcriptd")
"""The version of the SDK, which is that of the servers it was released with."""

__all__ = [
    "INHERITS_KEY",
    "OUTCOME_KEY",
    "AliasExistsError",
    "AliasMove",
    "AliasMovedError",
    "AliasNotFoundError",
    "AliasRun",
    "AliasUpdate",
    "AlreadyCoveredError",
    "AmbiguousPrefixError",
    "Assembly",
    "AsyncClient",
    "AsyncThread",
    "AsyncTool",
    "AuditUnavailableError",
    "BadReplyError",
    "BadTargetError",
    "CancelledError",
    "Client",
    "ClosedError",
    "CompactionOptions",
    "CompactionTooLargeError",
    "Condition",
    "Conflict",
    "ConversionError",
    "DeadlineExceededError",
    "DeclaredVariable",
    "DiskFullError",
    "DrainingError",
    "DuplicateAliasError",
    "EndedRun",
    "ErasedMeanwhileError",
    "Found",
    "IdentityUnavailableError",
    "Inheritance",
    "InsecureError",
    "InternalError",
    "InvalidFieldError",
    "InvalidPageTokenError",
    "InvalidPatternError",
    "LegalHoldError",
    "LimitExceededError",
    "MalformedRequestError",
    "NoNameError",
    "Node",
    "NodeCorruptError",
    "NodeNotFoundError",
    "NotAResultError",
    "NotAnAncestorError",
    "NotInViewError",
    "OpenToolCallsError",
    "Outcome",
    "OverloadedError",
    "ParentGivenError",
    "ParentNotFoundError",
    "PayloadErasedError",
    "PermissionDeniedError",
    "PutResult",
    "QueryOptions",
    "Quota",
    "QuotaExceededError",
    "RateLimitedError",
    "Ref",
    "Retry",
    "SettingsChangedError",
    "SharedRootError",
    "StoreFailedError",
    "Thread",
    "TooManyFilesError",
    "TooManyOpenCallsError",
    "Tool",
    "ToolCallNotFoundError",
    "TranscriptError",
    "UnauthenticatedError",
    "UnsupportedError",
    "UseStreamAssembleError",
    "VerificationError",
    "Violation",
    "assistant",
    "by_alias",
    "by_id",
    "call",
    "calls",
    "chat",
    "chat_alias",
    "coding",
    "deadline",
    "errors",
    "frugal",
    "head_at",
    "head_is",
    "is_opaque",
    "long",
    "may_have_happened",
    "message",
    "message_alias",
    "must_exist",
    "must_not_exist",
    "opaque",
    "result",
    "revision_is",
    "system",
    "text",
    "typed",
    "unbounded",
    "unknown_result",
    "user",
    "v1",
    "variable_info_key",
    "variable_key",
]
