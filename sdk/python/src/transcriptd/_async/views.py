"""The calls that assemble the messages of a chain."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import v1
from ..assembly import Assembly, Frames, Query, QueryOptions
from ..errors import BadReplyError, TranscriptError
from ..refs import Ref, by_id
from ..retry import callers_deadline, transient
from ..verify import Doubt, mismatch
from .calls import Calls

if TYPE_CHECKING:
    from typing_extensions import Unpack

_BACK_MESSAGES = 100  # the messages of a page of back, where the query does not say


class Views(Calls):
    """The calls that assemble the messages of a chain."""

    async def assemble(self, head: Ref, **query: Unpack[QueryOptions]) -> Assembly:
        """Gives the messages of a chain of any length: its effective view, or what QueryOptions say. Where the server goes away midway it begins
        again. Errors: NodeNotFoundError, AliasNotFoundError, NotAnAncestorError, NotInViewError, VerificationError and others.

        With `verify`, or a client with verify=True, each node's id is recomputed from the bytes received, and the parents are followed to the
        head, from the root or from the base; a mismatch is VerificationError. What that proves, given the head's id (or the base's content
        and the head's id):

        - VIEW_FULL: these are the messages that were put in the head and its ancestors (behind the base), in order, all of them.
        - VIEW_EFFECTIVE: so are these, but for results that are left out and stubs, which are held to their exact text. Nodes that came
          repaired are read once more as they were put. Which results are left out, and which calls have a stub, is the server's word.
        - VIEW_EFFECTIVE behind a compaction: its node is the nearest compaction on the path to the head and has these messages; the nodes
          behind the last one that it covers are as above, none missing. What comes before it are system and developer messages of whole
          nodes, the last up to its first other message. That they are the beginning of this chain and all of it, and that the compaction's
          messages say what was said, is the server's word: a full view proves what was.
        - The end of VIEW_FULL: the nodes follow each other, without `before` to the head, and those verbatim have these messages. Of the
          first node, which may have come in part, the id alone is proven, and with `before` not that the last is where that is.
        - VIEW_CONVERSATION, and the end of VIEW_EFFECTIVE: each node named has that id, and those verbatim have these messages. Nothing
          binds them to the head, and nothing proves what was cut or not shown.

        Nothing proves where an alias points, nor counters, reports, notes and facts.
        """
        return await self._assemble(head, Query(**query))

    async def _assemble(self, head: Ref, query: Query) -> Assembly:
        verify = query.verify or self._settings.verify
        request = query.request(self.namespace, head, verify)

        async def attempt(timeout: float | None) -> Assembly:
            whole, frames = Assembly(), Frames(request, verify)

            async def each(reply: bytes) -> None:
                whole.add(frames.next(reply))
                await self._settle(frames, end=False)

            await self._whole("StreamAssemble", request, each, timeout)
            await self._finish(frames)
            return whole

        try:
            return (await self._run(transient, attempt, callers_deadline()))[0]
        except TranscriptError as error:
            raise await self._explained(error, "StreamAssemble", request) from None

    async def frames(self, head: Ref, **query: Unpack[QueryOptions]) -> AsyncIterator[Assembly]:
        """Yields the same in parts of whole nodes of about 64 KiB, for chains too long to hold: the first frame has head_id, base_id, etag,
        not_modified and counters, the last the report. An error ends it; what came before is then not all, and with `verify` only nodes that
        lead up to the head once all frames came are verified."""
        asked = Query(**query)
        verify = asked.verify or self._settings.verify
        request = asked.request(self.namespace, head, verify)
        frames = Frames(request, verify)
        async for reply in self._stream("StreamAssemble", request):
            frame = frames.next(reply)
            await self._settle(frames, end=False)
            yield frame
        await self._finish(frames)

    async def _finish(self, frames: Frames) -> None:
        """Judges a stream that has ended."""
        frames.end()
        if frames.verifier is not None:
            await self._settle(frames, end=True)
            frames.verifier.end()

    async def _settle(self, frames: Frames, end: bool) -> None:
        """Reads the nodes that came repaired as they were put, which is what a full view adds to that of the parent, and compares."""
        for doubt in frames.verifier.settled(end) if frames.verifier is not None else []:
            doubt.settle(await self._as_put(doubt, frames.erasures))

    async def _as_put(self, doubt: Doubt, erasures: int) -> bytes:
        query = Query(view=v1.VIEW_FULL, after=doubt.parent, after_erasures=erasures, verify=True)
        whole = await self._assemble(by_id(doubt.id), query)
        if whole.erasures != erasures:
            raise mismatch(doubt.id, "nodes of the namespace were erased meanwhile, so that it cannot be compared: read the view again")
        if whole.base_id != doubt.parent:
            raise mismatch(doubt.id, "it did not come by itself")
        return b"".join(whole.payloads)

    async def back(self, head: Ref, **query: Unpack[QueryOptions]) -> AsyncIterator[Assembly]:
        """Yields a view from its end back, a page of `last_messages` and `last_bytes` at a time, 100 messages where it has neither: first the
        end, or what comes before `before`, and each time what comes before that. It stays with the head that an alias has at first. Pages laid
        one before the other are the view; one that has no messages has one page without any. An error ends it."""
        asked = replace(Query(**query), if_none_match="")
        if asked.last_messages == 0 and asked.last_bytes == 0:
            asked = replace(asked, last_messages=_BACK_MESSAGES)
        while True:
            page = await self._assemble(head, asked)
            if page.more_before and page.begin == asked.before:
                raise BadReplyError("a page leads to itself")
            yield page
            if not page.more_before:
                return
            head, asked = by_id(page.head_id), replace(asked, before=page.begin)
