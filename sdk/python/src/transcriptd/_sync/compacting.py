# Made from ../_async/compacting.py by tools/unasync.py: do not edit.
"""How a thread compacts its chain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import _check, v1
from ..compaction import Compaction, CompactionOptions, enough, summary_of
from ..errors import AlreadyCoveredError, BadReplyError, OpenToolCallsError
from ..refs import by_alias, by_id
from ..thread_state import ThreadState
from ..writes import AliasUpdate
from .runtime import resolved

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .client import Client

Summarize = Callable[[list[v1.Message]], str | str]


class Compacting:
    """How a thread compacts its chain."""

    _c: Client
    _s: ThreadState

    def compact(self, **options: Unpack[CompactionOptions]) -> v1.CompactResponse:
        """Compacts the chain of the thread's alias, and points the chat's alias along, as each commit of the thread does.

        The thread goes on from the compaction node, and so does every other thread of the alias with its next put: a compaction is in no writer's
        way. Aliases of earlier nodes stay where they are: a reply to a message that was sent before does not see it.

        With `summary` or `summary_only` and no `through` it stands for what messages gave last, or where messages was not called, for what the
        thread has come to, through the last node at which no call is unanswered: not for what others said meanwhile. `written` is True also where
        the reply was lost, and the node is there. Errors: those of Client.compact.
        """
        return self._compact(Compaction(**options))

    def _compact(self, options: Compaction) -> v1.CompactResponse:
        if options.through or not (options.summary or options.summary_only):
            return self._compact_just(options)
        with self._s.lock:
            read = self._s.read or self._s.head
        try:
            return self._compact_just(replace(options, through=read))
        except OpenToolCallsError:
            pass
        answered = self._c._compact(by_id(read), replace(options, through="", dry_run=True, aliases=()))
        return self._compact_just(replace(options, through=answered.through_id))

    def _compact_just(self, options: Compaction) -> v1.CompactResponse:
        """Compacts through just what the options say."""
        if self._s.chat:
            options = replace(options, aliases=[AliasUpdate(self._s.chat), *options.aliases])
        head = self._s.head
        reply = self._c._compact(by_alias(self._s.alias), options)
        if not reply.written:
            if not options.dry_run and reply.head_id != head:  # perhaps another compacted
                self._follow(head, reply.head_id, reply.counters)
            return reply
        if not reply.aliases:
            raise BadReplyError("a compaction that moved no alias")
        # Where the thread is elsewhere somebody appended, which the next append finds out.
        self._s.moved(reply.aliases[0].previous_id, reply.node_id, reply.counters)
        return reply

    def _follow(self, head: str, to: str, counters: v1.ChainCounters) -> None:
        """Makes the thread go on from where its alias points to, if that is a compaction put right below its head."""
        envelope = (self._c.node_info(by_id(to))).info.envelope
        if envelope.covers_through_id and envelope.parent_id == head:
            self._s.moved(head, to, counters)

    def compact_when(
        self,
        *,
        bytes: int | None = None,
        tokens: int | None = None,
        summarize: Summarize | None = None,
        **options: Unpack[CompactionOptions],
    ) -> v1.CompactResponse | None:
        """Compacts where the effective view is past a size, and at least a quarter of its bytes would go; else gives None.

        Call it before a model is asked (after start, and between steps), so that the reply and all that follows come behind the compaction.
        `bytes` and `tokens` are the size past which it does; one is needed, and 0 does not count. The size is what the thread's replies told last,
        so that most calls ask the server nothing; where too little would go, it asks again only once the view has grown by a tenth.

        `summarize` makes the summary out of the effective view, which it owns. It is called once, when a quarter would go even if the summary gets
        as long as the one before. It has to tell of the open run loop's work too, of which a compaction with a summary keeps only what the user
        said. A blank summary, and one so long that less than a quarter would go, is thrown away. `options` are those of compact; `dry_run` has
        no effect.

        Errors: those of compact, of Client.assemble, and of summarize. OpenToolCallsError is none: it waits for the results.
        """
        if bytes is None and tokens is None:
            raise TypeError("compact_when needs bytes or tokens: the size past which it compacts")
        with self._s.lock:
            head, size, again = self._s.head, self._s.size, self._s.compact_at
        past_bytes = 0 < _check.number("bytes", 0 if bytes is None else bytes) < size.bytes
        past_tokens = 0 < _check.number("tokens", 0 if tokens is None else tokens) < size.tokens
        wanted = replace(Compaction(**options), dry_run=False)
        if not (past_bytes or past_tokens) or size.bytes < again:
            return None
        # What goes where there is a summary does not depend on its text.
        summary = "?" if summarize is not None else wanted.summary
        try:
            dry = self._compact_just(replace(wanted, dry_run=True, summary=summary))
        except OpenToolCallsError:
            self._s.wait(size, 1)
            return None
        if dry.head_id != head:  # perhaps another writer compacted
            self._follow(head, dry.head_id, dry.counters)
        paying = self._paying(wanted, summarize, dry)
        if paying is not None:
            try:
                reply = self._compact(paying)
                if reply.written:
                    return reply
            except AlreadyCoveredError:
                if wanted.through:  # else another writer was first
                    raise
        self._s.wait(size, size.bytes // 10 + 1)
        return None

    def _paying(self, wanted: Compaction, summarize: Summarize | None, dry: v1.CompactResponse) -> Compaction | None:
        """What is to be done after a dry run; None: nothing, for too little would go."""
        if dry.not_written_reason != v1.NOT_WRITTEN_REASON_UNSPECIFIED or not enough(dry, 0):
            return None
        if not wanted.summary and not wanted.summary_only:  # else _compact knows what was read
            wanted = replace(wanted, through=dry.through_id)
        if summarize is None:
            return wanted
        # The summary has to stand for just what is compacted, whatever is said meanwhile.
        messages = (self._c.assemble(by_id(dry.head_id))).messages()
        if not enough(dry, len(summary_of(messages).encode())):  # not to have one made that will hardly be shorter
            return None
        summary = _check.text("what summarize gives", resolved(summarize(messages)))
        if not summary.strip() or not enough(dry, len(summary.encode())):
            return None
        return replace(wanted, through=dry.through_id, summary=summary)
