"""What calls raise: TranscriptError, and a class for each reason.

try:
    thread.append(message)
except transcriptd.AliasMovedError as error:
    print("another writer was first:", error.head)
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from . import v1

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Violation:
    """A field that was refused and the rule that it breaks; it never repeats the value."""

    field: str
    rule: str


@dataclass(frozen=True)
class Conflict:
    """A precondition that failed."""

    field: str
    """The alias's place in the request, such as "aliases[0]"."""
    node_id: str
    """The node that the alias points to; empty if there is no such alias."""
    revision: int
    """The alias's revision, or that of its deletion; 0 for a name that never was set, or is forgotten."""
    only_compacted: bool
    """Whether only compaction nodes lie between the head that was expected and node_id."""


@dataclass(frozen=True)
class Quota:
    """A limit of a namespace."""

    setting: str
    """The field of NamespaceSettings that has it, such as "max_nodes"."""
    limit: int
    """Its value."""
    rule: str
    """The same in words, such as "at most 100 nodes"."""


class TranscriptError(Exception):
    """A call that failed.

    It has a class of its own for each reason that this version knows. Of a newer server's reason only `unknown_reason` and
    `code` tell; where the call did not reach the server, or its reply was lost, there is no reason, and `code` tells.
    """

    reason: str = ""
    """Why it failed, such as "ALIAS_MOVED"; empty where no reason was given, or an unknown one."""
    default_code: ClassVar[grpc.StatusCode] = grpc.StatusCode.UNKNOWN

    def __init__(
        self,
        message: str = "",
        *,
        code: grpc.StatusCode | None = None,
        unknown_reason: str = "",
        request_id: str = "",
        retried: bool = False,
        violations: Sequence[Violation] = (),
        conflicts: Sequence[Conflict] = (),
        deleted: v1.DeletedAlias | None = None,
        retry_after: float | None = None,
        quotas: Sequence[Quota] = (),
        candidates: Sequence[str] = (),
        receipt: bytes = b"",
        held_alias: str = "",
        hold_prefix: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        """What the server, or this side, says of it; never content."""
        self.code = self.default_code if code is None else code
        """The status code of gRPC."""
        self.unknown_reason = unknown_reason
        """A reason of a newer server that this version does not know; `code` tells what to do."""
        self.request_id = request_id
        """How the server's log names the call; empty where the call did not reach it."""
        self.retried = retried
        """Whether an earlier attempt, of which no reply came, may have taken place although this one was refused. See may_have_happened."""
        self.violations = list(violations)
        """The fields that were refused, or the one that names what is not there."""
        self.conflicts = list(conflicts)
        """The preconditions that failed, in the order of the request, at most 32."""
        self.deleted = deleted
        """Of AliasNotFoundError from resolve: what is known of the name's deletion; None where it never was set, or was deleted more than
        90 days ago."""
        self.retry_after = retry_after
        """Of RateLimitedError: the seconds until a call is allowed; None: nothing was said."""
        self.quotas = list(quotas)
        """Of QuotaExceededError: the quotas that the call would go over."""
        self.candidates = list(candidates)
        """Of AmbiguousPrefixError: ids of nodes that fit, in order, at most 10."""
        self.receipt = receipt
        """Of PayloadErasedError: the SignedReceipt of the node's erasure, serialised; empty where it is larger than 1 KiB."""
        self.held_alias = held_alias
        """Of LegalHoldError: the alias that is held, where one was to go; empty where the caller may not read it."""
        self.hold_prefix = hold_prefix
        """Of LegalHoldError: the alias_prefix of the rule that holds, of several the shortest; "" is that of every alias. None where the caller
        may not read it."""
        self._undone = False

    @property
    def head(self) -> str:
        """The node that the first conflicting alias points to, which is the winning head where a thread lost; empty if there is no
        conflict or no such alias."""
        return self.conflicts[0].node_id if self.conflicts else ""

    def __str__(self) -> str:
        name = self.reason or self.unknown_reason or self.code.name
        # The service's message tells the first rule, most often with its field.
        told = [(v.field in self.message, v.rule in self.message, v) for v in self.violations]
        rules = "; ".join(v.field if rule else f"{v.field}: {v.rule}" for field, rule, v in told if not (field and rule))
        return ": ".join(part for part in (name, self.message, rules) if part)

    def __reduce__(self) -> tuple[Callable[..., TranscriptError], tuple[Any, ...]]:
        return _restored, (type(self), self.__dict__.copy())


def _restored(kind: type[TranscriptError], state: dict[str, Any]) -> TranscriptError:
    error = kind(state["message"])
    error.__dict__.update(state)
    return error


_INVALID = grpc.StatusCode.INVALID_ARGUMENT
_NOT_FOUND = grpc.StatusCode.NOT_FOUND
_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION
_EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
_UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


class InvalidFieldError(TranscriptError):
    """A field breaks a rule: `violations` name it. Also raised by this side."""

    reason, default_code = "INVALID_FIELD", _INVALID


class MalformedRequestError(TranscriptError):
    """The server does not know a field, or cannot parse the request."""

    reason, default_code = "MALFORMED_REQUEST", _INVALID


class LimitExceededError(TranscriptError):
    """A size or a number is over a limit: `violations` name it. Without any the whole call is too large: put fewer nodes in one."""

    reason, default_code = "LIMIT_EXCEEDED", _INVALID


class DuplicateAliasError(TranscriptError):
    """The call names one alias twice."""

    reason, default_code = "DUPLICATE_ALIAS", _INVALID


class AmbiguousPrefixError(TranscriptError):
    """Several nodes have ids with this prefix: `candidates` lists some."""

    reason, default_code = "AMBIGUOUS_PREFIX", _INVALID


class InvalidPageTokenError(TranscriptError):
    """The page token is not one of this call: begin with the first page."""

    reason, default_code = "INVALID_PAGE_TOKEN", _INVALID


class TooManyOpenCallsError(TranscriptError):
    """The chain would end in too many tool calls without results: put results first."""

    reason, default_code = "TOO_MANY_OPEN_CALLS", _INVALID


class CompactionTooLargeError(TranscriptError):
    """The compaction node would be over the limits of a node: keep less, or send an earlier `through`."""

    reason, default_code = "COMPACTION_TOO_LARGE", _INVALID


class InvalidPatternError(TranscriptError):
    """The pattern is not RE2, or too large."""

    reason, default_code = "INVALID_PATTERN", _INVALID


class NodeNotFoundError(TranscriptError):
    """No node of this namespace has this id."""

    reason, default_code = "NODE_NOT_FOUND", _NOT_FOUND


class AliasNotFoundError(TranscriptError):
    """No alias of this namespace has this name."""

    reason, default_code = "ALIAS_NOT_FOUND", _NOT_FOUND


class ParentNotFoundError(TranscriptError):
    """The parent, a node id or an alias, is not there."""

    reason, default_code = "PARENT_NOT_FOUND", _NOT_FOUND


class ToolCallNotFoundError(TranscriptError):
    """The chain has no such tool call."""

    reason, default_code = "TOOL_CALL_NOT_FOUND", _NOT_FOUND


class AliasExistsError(TranscriptError):
    """An alias is there that must not be; `head` is where it points."""

    reason, default_code = "ALIAS_EXISTS", grpc.StatusCode.ALREADY_EXISTS


class AliasMovedError(TranscriptError):
    """An alias points elsewhere, or has another revision: another writer was first. `head` is where it points now; nothing was written."""

    reason, default_code = "ALIAS_MOVED", grpc.StatusCode.ABORTED


class SettingsChangedError(TranscriptError):
    """The settings of the namespace have another revision."""

    reason, default_code = "SETTINGS_CHANGED", grpc.StatusCode.ABORTED


class ErasedMeanwhileError(TranscriptError):
    """Nodes of the namespace were erased while a compaction was planned: repeat the call."""

    reason, default_code = "ERASED_MEANWHILE", grpc.StatusCode.ABORTED


class NotAnAncestorError(TranscriptError):
    """A node that was named is neither the head nor an ancestor of it."""

    reason, default_code = "NOT_AN_ANCESTOR", _PRECONDITION


class OpenToolCallsError(TranscriptError):
    """A tool call has no result at the node to compact through: put the results first."""

    reason, default_code = "OPEN_TOOL_CALLS", _PRECONDITION


class AlreadyCoveredError(TranscriptError):
    """An earlier compaction covers the node to compact through: name a later one."""

    reason, default_code = "ALREADY_COVERED", _PRECONDITION


class NotInViewError(TranscriptError):
    """The view does not show the message in `before`."""

    reason, default_code = "NOT_IN_VIEW", _PRECONDITION


class UseStreamAssembleError(TranscriptError):
    """The reply would be too large: call assemble or frames, which stream."""

    reason, default_code = "USE_STREAM_ASSEMBLE", _EXHAUSTED


class DiskFullError(TranscriptError):
    """The server's disk is full; nothing was written."""

    reason, default_code = "DISK_FULL", _EXHAUSTED


class OverloadedError(TranscriptError):
    """The server has no capacity now; nothing was done."""

    reason, default_code = "OVERLOADED", _EXHAUSTED


class TooManyFilesError(TranscriptError):
    """The server has too many open files; nothing was written."""

    reason, default_code = "TOO_MANY_FILES", _EXHAUSTED


class NodeCorruptError(TranscriptError):
    """Stored bytes do not match their id: the operator must check the store."""

    reason, default_code = "NODE_CORRUPT", grpc.StatusCode.DATA_LOSS


class DrainingError(TranscriptError):
    """The server is shutting down; nothing was done."""

    reason, default_code = "DRAINING", _UNAVAILABLE


class StoreFailedError(TranscriptError):
    """The store has failed: it is not known whether the write took place."""

    reason, default_code = "STORE_FAILED", _UNAVAILABLE


class IdentityUnavailableError(TranscriptError):
    """The server cannot tell callers apart now; nothing was done."""

    reason, default_code = "IDENTITY_UNAVAILABLE", _UNAVAILABLE


class AuditUnavailableError(TranscriptError):
    """The server cannot write its audit; nothing was done."""

    reason, default_code = "AUDIT_UNAVAILABLE", _UNAVAILABLE


class CancelledError(TranscriptError):
    """The call was cancelled: it is not known whether a write took place. Not asyncio's, which passes through as it is."""

    reason, default_code = "CANCELLED", grpc.StatusCode.CANCELLED


class DeadlineExceededError(TranscriptError):
    """The deadline passed: it is not known whether a write took place."""

    reason, default_code = "DEADLINE_EXCEEDED", grpc.StatusCode.DEADLINE_EXCEEDED


class InternalError(TranscriptError):
    """The server has a fault: its log has it under `request_id`. It is not known whether a write took place."""

    reason, default_code = "INTERNAL", grpc.StatusCode.INTERNAL


class UnauthenticatedError(TranscriptError):
    """There is no token, or one that is not known, has expired or was revoked; nothing was done."""

    reason, default_code = "UNAUTHENTICATED", grpc.StatusCode.UNAUTHENTICATED


class PermissionDeniedError(TranscriptError):
    """No grant of the token's principal covers the call; nothing was done."""

    reason, default_code = "PERMISSION_DENIED", grpc.StatusCode.PERMISSION_DENIED


class QuotaExceededError(TranscriptError):
    """The namespace would go over a quota: `quotas` lists them; nothing was written."""

    reason, default_code = "QUOTA_EXCEEDED", _EXHAUSTED


class RateLimitedError(TranscriptError):
    """The caller has used up its rate: `retry_after` tells when a call is allowed; nothing was done."""

    reason, default_code = "RATE_LIMITED", _EXHAUSTED


class PayloadErasedError(TranscriptError):
    """The node was erased, and cannot be put again as it was: put it with another salt."""

    reason, default_code = "PAYLOAD_ERASED", _PRECONDITION


class SharedRootError(TranscriptError):
    """An erasure selects a root without a salt, which all chains have that begin with the same words; nothing was erased."""

    reason, default_code = "SHARED_ROOT", _PRECONDITION


class LegalHoldError(TranscriptError):
    """A legal hold of the namespace keeps what was to go; nothing was changed."""

    reason, default_code = "LEGAL_HOLD", _PRECONDITION


class VerificationError(TranscriptError):
    """What the server sent does not hash to the ids that it should have, or does not lead to the head."""

    reason, default_code = "VERIFICATION", grpc.StatusCode.DATA_LOSS


class BadReplyError(TranscriptError):
    """What the server sent is not what the contract says, for example a stream that ends early."""

    reason, default_code = "BAD_REPLY", grpc.StatusCode.INTERNAL


class ClosedError(TranscriptError):
    """The client was closed before the call, or while it was under way, and then it may have taken place."""

    reason, default_code = "CLOSED", grpc.StatusCode.CANCELLED


class InsecureError(TranscriptError):
    """The client would send transcripts in plain text to another machine: give ca, client_certificate, credentials or insecure=True."""

    reason, default_code = "INSECURE", _INVALID


class BadTargetError(TranscriptError):
    """The target, or an option of the client, cannot be used."""

    reason, default_code = "BAD_TARGET", _INVALID


class NoNameError(TranscriptError):
    """A message id, or the name of a chat or an alias, is empty."""

    reason, default_code = "NO_NAME", _INVALID


class NotAResultError(TranscriptError):
    """append_results was given a message that is not the result of a tool call."""

    reason, default_code = "NOT_A_RESULT", _INVALID


class ParentGivenError(TranscriptError):
    """A node for a thread names a parent of its own."""

    reason, default_code = "PARENT_GIVEN", _INVALID


class UnsupportedError(TranscriptError):
    """The server is older and lacks a feature that the call needs; the message names it. Nothing was done."""

    reason, default_code = "UNSUPPORTED", grpc.StatusCode.UNIMPLEMENTED


_BY_REASON: dict[str, type[TranscriptError]] = {kind.reason: kind for kind in TranscriptError.__subclasses__()}
_PREFIX = "ERROR_REASON_"
_SERVERS = {name.removeprefix(_PREFIX) for name in v1.ErrorReason.DESCRIPTOR.values_by_name if name != "ERROR_REASON_UNSPECIFIED"}
_DOMAIN = "transcript.v1"
# Where no reason was given: what ended on this side, and what a proxy refuses, by the code.
_BY_CODE: dict[grpc.StatusCode, type[TranscriptError]] = {
    kind.default_code: kind for kind in (CancelledError, DeadlineExceededError, UnauthenticatedError, PermissionDeniedError)
}
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_DETAILS = "grpc-status-details-bin"


def typed(error: grpc.RpcError) -> TranscriptError:
    """What a call with a channel of gRPC's own raised, as the TranscriptError that a client raises."""
    code = getattr(error, "code", lambda: None)() or grpc.StatusCode.UNKNOWN
    message = getattr(error, "details", lambda: None)() or ""
    for key, value in getattr(error, "trailing_metadata", lambda: None)() or ():
        if key == _DETAILS and isinstance(value, bytes):
            return from_status(code, message, value)
    return _without_reason(code, message)


def from_status(code: grpc.StatusCode, message: str, encoded: bytes) -> TranscriptError:
    """The error of a status with details: google.rpc.Status, encoded."""
    try:
        status = status_pb2.Status.FromString(encoded)
    except DecodeError:
        return _without_reason(code, message)
    reason, told = "", _Told()
    for detail in status.details:
        try:
            if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
                info = error_details_pb2.ErrorInfo.FromString(detail.value)
                reason = info.reason if info.domain == _DOMAIN else reason
                if "receipt" in info.metadata:
                    told.members["receipt"] = base64.b64decode(info.metadata["receipt"])
                if info.domain == _DOMAIN and info.reason == LegalHoldError.reason:
                    told.members["held_alias"] = info.metadata.get("alias", "")
                    told.members["hold_prefix"] = info.metadata.get("alias_prefix")
            else:
                told.read(detail)
        except (DecodeError, ValueError):  # one that does not parse tells nothing; the others and the code still do
            continue
    known = reason in _SERVERS and reason in _BY_REASON
    if known:
        error = _BY_REASON[reason](message, code=code, **told.members)
    elif reason:
        error = TranscriptError(message, code=code, unknown_reason=reason, **told.members)
    else:
        error = _without_reason(code, message, **told.members)
    return error


def _without_reason(code: grpc.StatusCode, message: str, **members: Any) -> TranscriptError:
    error = _BY_CODE.get(code, TranscriptError)(message, code=code, **members)
    if error.reason not in ("CANCELLED", "DEADLINE_EXCEEDED"):  # these end on this side, so their reason is known
        error.reason = ""
    return error


class _Told:
    """What the details of a status tell beside the reason, as arguments of TranscriptError."""

    def __init__(self) -> None:
        self.members: dict[str, Any] = {}

    def read(self, detail: Any) -> None:
        for message, reader in _READERS:
            if detail.Is(message.DESCRIPTOR):
                self.members.update(reader(message.FromString(detail.value)))


_READERS: list[tuple[Any, Callable[[Any], dict[str, Any]]]] = [
    (error_details_pb2.RequestInfo, lambda d: {"request_id": d.request_id}),
    (error_details_pb2.BadRequest, lambda d: {"violations": [Violation(v.field, v.description) for v in d.field_violations]}),
    (error_details_pb2.RetryInfo, lambda d: {"retry_after": max(0.0, d.retry_delay.ToNanoseconds() / 1e9) or None}),
    (error_details_pb2.QuotaFailure, lambda d: {"quotas": [_quota(v) for v in d.violations]}),
    (v1.AliasConflicts, lambda d: {"conflicts": [Conflict(c.field, c.node_id, c.revision, c.only_compacted) for c in d.conflicts]}),
    (v1.DeletedAlias, lambda d: {"deleted": d}),
    (v1.AmbiguousPrefix, lambda d: {"candidates": list(d.node_ids)}),
]


def _quota(violation: Any) -> Quota:
    return Quota(violation.quota_id, violation.quota_value, violation.description)


_MAY_HAVE_HAPPENED = (
    CancelledError,
    DeadlineExceededError,
    StoreFailedError,
    InternalError,
    BadReplyError,
    VerificationError,
    ClosedError,
)
_CODES_THAT_MAY = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
}


def may_have_happened(error: BaseException | None) -> bool:
    """Whether a call that failed with this error may have taken place all the same: its reply was lost, the deadline passed, it was
    cancelled, or the store does not know itself.

    False: it changed nothing and will not, so that it can be decided anew. Repeat an append for which it is true on the same thread,
    a start, spawn or compact on the same client: each knows what it did. Of another call look first what is there. An asyncio
    cancellation, or an interrupt, counts as one of a call under way. False for all errors that are not of this package.
    """
    if error is None:
        return False
    if not isinstance(error, TranscriptError):
        return not isinstance(error, Exception)
    if error.retried or error._undone:
        return error.retried
    if error.reason:
        return isinstance(error, _MAY_HAVE_HAPPENED)
    return not error.unknown_reason or error.code in _CODES_THAT_MAY


def undone(error: TranscriptError) -> TranscriptError:
    """Marks an error as that of an attempt that was not sent."""
    error._undone = True
    return error


def advised(error: TranscriptError, advice: str) -> TranscriptError:
    """The error, whose message says, too, which argument was refused and what its caller can do."""
    error.message = f"{error.message}: {advice}"
    return error


def happened(error: TranscriptError, perhaps: bool) -> TranscriptError:
    """Marks an error as that of a call of which an attempt may have taken place, or of which it is known that none did."""
    error.retried = perhaps
    return error
