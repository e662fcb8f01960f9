"""A session of the OpenAI Agents SDK that is kept in transcriptd. Needs the extra `openai-agents`.

    async with AsyncClient("127.0.0.1:7420") as client:
        session = TranscriptSession("user-42", client)
        result = await Runner.run(agent, "Hello", session=session)

Each item of the session is a message of the conversation chat/SESSION_ID, so views, search, recall and compaction know what was said.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from . import v1
from ._async.client import AsyncClient
from ._async.thread import AsyncThread
from .errors import AliasExistsError, AliasMovedError, AliasNotFoundError, PayloadErasedError, TranscriptError, happened, may_have_happened
from .identity import encode_messages
from .names import chat_alias
from .openai.responses._session import items_in, messages_of, popped
from .refs import by_alias, by_id, head_is, must_not_exist
from .rules import in_nodes
from .writes import AliasMove, AliasUpdate, Node, new_salt

if TYPE_CHECKING:
    from agents import SessionSettings, TResponseInputItem

T = TypeVar("T")


class TranscriptSession:
    """The items of a session, of which any number of processes may have one open: what two add at once is kept, one behind the other.

    What was popped or cleared the service still keeps. Items come back equal as JSON; ConversionError for what is
    no item of the Responses API.
    """

    def __init__(self, session_id: str, client: AsyncClient, *, session_settings: SessionSettings | None = None) -> None:
        """`session_id` names the conversation; the caller closes `client`; get_items has the limit of `session_settings`."""
        if not isinstance(client, AsyncClient):
            raise TypeError(f"client must be a transcriptd.AsyncClient, not {type(client).__name__}")
        self.session_id, self.session_settings = session_id, session_settings
        self._client, self._alias, self._lock = client, chat_alias(session_id), asyncio.Lock()
        self._thread: AsyncThread | None = None
        self._begun = b"", 0  # a hash of items of which not all were added, and how many pieces of them were

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Gives all items, or the last `limit`, in their order. Only these are read."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        items: list[TResponseInputItem] = []
        if limit is not None and limit <= 0:
            return items
        with contextlib.suppress(AliasNotFoundError):
            if limit is None:
                return items_in((await self._client.assemble(by_alias(self._alias), view=v1.VIEW_FULL)).messages())
            async for page in self._client.back(by_alias(self._alias), view=v1.VIEW_FULL, last_messages=min(limit, 10_000)):
                items = items_in(page.messages()) + items
                if len(items) >= limit:  # a page has fewer where it would begin within a group of calls
                    break
        return items[-limit:] if limit else items

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items at the end: all or nothing, unless they are over 1,000 or over 3.8 MiB, which are added in several steps.

        After an error of which transcriptd.may_have_happened is true, add the same again on this session: what is there is not added twice.
        """
        async with self._lock:
            messages = messages_of(items)
            of = hashlib.sha256(encode_messages(messages)).digest()
            done = self._begun[1] if self._begun[0] == of else 0
            try:
                for piece in list(in_nodes(messages))[done:]:
                    await self._append(piece)
                    done += 1
            except BaseException as error:
                self._begun = of, done
                if done and isinstance(error, TranscriptError):
                    happened(error, True)
                raise
            self._begun = b"", 0

    async def _append(self, messages: Sequence[v1.Message]) -> None:
        moved = False
        while True:
            try:
                if self._thread is None:
                    self._thread = await self._open()
                elif moved:
                    await self._thread.refresh()
                await self._thread.append(*messages)
                return
            except AliasMovedError:
                moved = True
            except AliasNotFoundError:  # it was cleared meanwhile
                self._thread = None

    async def _open(self) -> AsyncThread:
        """The thread of the session, which begins with a node that has no message: equal for all who begin it at once."""
        with contextlib.suppress(AliasNotFoundError):
            return await self._client.open(self._alias)
        root = Node(metadata={"agents/session": self.session_id}, aliases=[AliasUpdate(self._alias, must_not_exist())])
        with contextlib.suppress(AliasExistsError):  # another began it, and went on
            try:
                await self._client.put_all(root)
            except PayloadErasedError:
                await self._client.put_all(replace(root, salt=new_salt()))
        return await self._client.open(self._alias)

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the last item off the session and gives it; None where there is none."""
        return await self._change(self._pop)

    async def clear_session(self) -> None:
        """Takes all items off the session."""
        await self._change(lambda head: self._client.delete_alias(self._alias, head_is(head)))

    async def _change(self, step: Callable[[str], Awaitable[T | None]]) -> T | None:
        """Makes a change on condition that the session has the head that the change is told; None where there is no session."""
        async with self._lock:
            while True:
                try:
                    changed = await step((await self._client.resolve(self._alias)).alias.node_id)
                except AliasNotFoundError:
                    return None
                except AliasMovedError as error:
                    if may_have_happened(error):
                        raise
                else:
                    # What was added may be off the session now: who adds it again means it.
                    self._thread, self._begun = None, (b"", 0)
                    return changed

    async def _pop(self, head: str) -> TResponseInputItem | None:
        node = await self._client.node(by_id(head))
        rest, items = popped(node)
        while not items:  # the root, a compaction, the end of a run
            if not node.info.envelope.parent_id:
                return None
            node = await self._client.node(by_id(node.info.envelope.parent_id))
            rest, items = popped(node)
        parent = by_id(node.info.envelope.parent_id) if node.info.envelope.parent_id else None
        if rest:
            await self._client.put(*rest, parent=parent, salt=new_salt(), aliases=[AliasUpdate(self._alias, head_is(head))])
        elif parent is not None:
            await self._client.set_aliases(AliasMove(self._alias, parent, head_is(head)))
        else:
            await self._client.delete_alias(self._alias, head_is(head))
        return items[-1]
