# Made from ../_async/compaction_calls.py by tools/unasync.py: do not edit.
"""The call that compacts a chain, also where its reply is lost."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from .. import v1
from ..compaction import Compaction, CompactionOptions
from ..errors import BadReplyError, TranscriptError, may_have_happened
from ..ledger import Ledger, Pending
from ..refs import Ref, by_alias, by_id
from ..retry import may_repeat, repeatable_compaction, until
from ..writes import new_salt
from .calls import decoded
from .nodes import Nodes
from .reading import Reading

if TYPE_CHECKING:
    from typing_extensions import Unpack

_MOST_LOOKED_AT = 64  # compactions of a chain that describe tells of


class CompactionCalls(Nodes, Reading):
    """The call that compacts a chain."""

    _unsure: Ledger  # what began threads, and compactions, that may have taken place

    def compact(self, head: Ref, **options: Unpack[CompactionOptions]) -> v1.CompactResponse:
        """Appends a node that stands for what the effective view shows behind the preamble, condensed. Nothing is lost: the originals stay ancestors.

        Where head is an alias it moves to the node, also where it was moved on by plain appends meanwhile; a node that is named by its id stays
        without the compaction, and so does every chain that goes on from it. Where nothing would shrink, and on a dry run, `written` is False in
        the result.

        Where its reply is lost it is repeated only with `through`, else it could cover what was said since; and with a salt, or without a summary,
        else it could replace another's. A repeat, also one by the caller on the same client, looks first whether the chain of the alias has the
        node already, by its salt, and then gives that. Errors: InvalidFieldError (`through` is missing), NodeNotFoundError, AliasNotFoundError,
        NotAnAncestorError, AlreadyCoveredError, OpenToolCallsError, CompactionTooLargeError, AliasMovedError and others.
        """
        return self._compact(head, Compaction(**options))

    def _compact(self, head: Ref, options: Compaction) -> v1.CompactResponse:
        with until(self._end()):
            request = options.request(self.namespace, head)
            if options.dry_run:
                return self._compact_once(request, Pending(b"", b""))
            pending = self._unsure.take(
                hashlib.sha256(request.SerializeToString(deterministic=True)).digest(),
                lambda: new_salt() if options.salt is None and not self._settings.deterministic else options.salt or b"",
            )
            request.salt = pending.salt
            failed: BaseException | None = None
            try:
                return self._compact_once(request, pending)
            except TranscriptError as error:
                failed = pending.told(error)
                raise
            except BaseException as error:
                failed = error
                raise
            finally:
                self._unsure.end(pending, failed)

    def _compact_once(self, request: v1.CompactRequest, pending: Pending) -> v1.CompactResponse:
        """Compacts, however often it is sent, unless an earlier attempt did."""
        sent = pending.unsure

        def attempt(timeout: float | None) -> v1.CompactResponse:
            nonlocal sent
            if sent:
                found = self._compacted(request)
                if found is not None:
                    return found
            sent = True
            return decoded(self._once("Compact", request, timeout), v1.CompactResponse)

        repeatable = repeatable_compaction(request)
        try:
            reply, unsure = self._run(lambda error: may_repeat(error, repeatable), attempt, self._end())
            if not reply.HasField("report") or not reply.HasField("counters") or (reply.written and not reply.node_id):
                raise BadReplyError("a compaction without its report")
        except TranscriptError as error:
            found = self._looked_up(request) if may_have_happened(error) else None
            if found is None:
                raise self._explained(error, "Compact", request) from None
            return found
        if unsure and not reply.written:
            return self._looked_up(request) or reply
        return reply

    def _looked_up(self, request: v1.CompactRequest) -> v1.CompactResponse | None:
        """_compacted, as far as it can be found out."""
        try:
            return self._compacted(request)
        except TranscriptError:
            return None

    def _compacted(self, request: v1.CompactRequest) -> v1.CompactResponse | None:
        """Looks for the node of a compaction that may have taken place, by its salt, in the chain that the head's alias has now; None where it is
        not there, or has no salt."""
        if request.dry_run or not request.head.alias or not request.salt:
            return None
        chain = self.describe(by_alias(request.head.alias), max_items=_MOST_LOOKED_AT)
        for one in chain.lineage.compactions:
            if request.through_id and one.covers_through_id != request.through_id:
                continue
            node = self.node_info(by_id(one.node_id))
            if node.info.envelope.salt == request.salt:
                return self._compacted_as(request, node)
        return None

    def _compacted_as(self, request: v1.CompactRequest, node: v1.GetNodeResponse) -> v1.CompactResponse:
        """The reply that was lost."""
        envelope = node.info.envelope
        dry = Compaction(
            through=envelope.covers_through_id,
            policy=request.policy if request.HasField("policy") else None,
            summary=request.summary,
            summary_only=request.summary_only,
            dry_run=True,
        )
        reply = self._compact(by_id(envelope.parent_id), dry)
        reply.written, reply.not_written_reason = True, v1.NOT_WRITTEN_REASON_UNSPECIFIED
        reply.node_id = node.info.node_id
        reply.counters.CopyFrom(node.counters)
        own = v1.AliasResult(name=request.head.alias, changed=True, previous_id=envelope.parent_id)
        del reply.aliases[:]
        reply.aliases.extend([own, *(v1.AliasResult(name=alias.name, changed=True) for alias in request.aliases)])
        return reply
