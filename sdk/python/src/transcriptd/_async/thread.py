"""The thread: a conversation that an agent goes on with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _check, v1
from ..cache import View
from ..errors import AliasExistsError, NodeNotFoundError, NoNameError, NotAnAncestorError, advised
from ..messages import text, unknown_result
from ..refs import by_id, must_not_exist
from ..runs import open_calls
from ..texts import with_depth
from ..thread_state import ThreadState
from ..writes import AliasMove
from .appends import Appends
from .compacting import Compacting
from .spawning import Spawning
from .tools import Tools

if TYPE_CHECKING:
    from .client import AsyncClient


class AsyncThread(Appends, Compacting, Spawning, Tools):
    """A chain that an agent goes on with: a head, and the alias that moves with it. AsyncClient.start, resume, open and chat make one.

    Everything is put below the head that the thread has seen, on condition that the alias still points there. If another writer was first, that
    is AliasMovedError, with the winning head in its `head`; nothing was put and the thread stays where it was. refresh goes on from the winner,
    fork beside it. Where the winners only compacted the chain, the thread goes on by itself below the compaction: nothing was said that it has
    not seen. Of several writers of the same one goes on.

    Each append has a salt, by which the thread knows its node again. A put whose reply was lost succeeds if it took place, also where another
    writer went on below it since; then it is the next put that finds the alias moved. Where that could not be found out (may_have_happened),
    append the same again on the same thread, until it succeeds or is refused: the thread keeps the salt, whatever is appended and refreshed
    meanwhile, and the next append of the same node with the same aliases, whoever makes it, is the repeat. Who gives it up instead goes on with
    a new thread (AsyncClient.open), which knows nothing of it.

    All methods may run at once; of two puts at once one succeeds.
    """

    def __init__(self, client: AsyncClient, state: ThreadState) -> None:
        """Not for callers: a client makes threads."""
        self._c = client
        self._s = state

    @property
    def new(self) -> bool:
        """Whether the call that made the thread put its first message, or named it first. False: it was there before; whoever put it may be at
        work on it. Of all callers of start, or spawn, with one message one is told True. Only where the service cannot tell who was first, and
        a reply was lost, it may be two: of fork, of chat with equal prompts, and of a deterministic client."""
        return self._s.is_new

    @property
    def alias(self) -> str:
        """The alias that moves with the thread."""
        return self._s.alias

    @property
    def head(self) -> str:
        """The id of the node that the thread has come to."""
        return self._s.head

    @property
    def depth(self) -> int:
        """The number of user and assistant messages through the head."""
        return self._s.depth

    def reply_text(self, reply: v1.Message) -> str:
        """The text of a reply that was put, as it is handed to people: "[depth:N] ", where N is the depth by then, and the text. What is stored has
        no prefix."""
        return with_depth(self.depth, text(_check.message("reply", reply, v1.Message)))

    async def messages(self, policy: v1.Policy | None = None) -> list[v1.Message]:
        """Gives what to send to a model: the conversation view of the head, bounded by a policy, in which absent fields have the server's defaults;
        without one the effective view, of which only what the client's cache does not hold is asked for. That is one call, also where the cache
        holds all of it: it may be erased since. The caller owns the messages. Errors: those of AsyncClient.assemble."""
        head, messages = await self._messages(policy)
        self._s.read = head
        return messages

    async def _messages(self, policy: v1.Policy | None) -> tuple[str, list[v1.Message]]:
        """messages, and the head whose they are."""
        if policy is None:
            view = await self._view()
            return view.head, view.messages()
        whole = await self._c.assemble(by_id(self.head), view=v1.VIEW_CONVERSATION, policy=policy)
        return whole.head_id, whole.messages()

    async def _view(self) -> View:
        """Gives the effective view of the head and keeps it."""
        with self._s.lock:
            head, at = self._s.head, self._s.at
        held = self._c._cache.get(head) or self._c._cache.get(at)
        held = await self._extended(head, held)
        if not self._c._cache.put(held):
            return held  # what is kept of its beginning stays what the next one goes on from
        self._c._cache.name(self._s.alias, head)
        self._s.at = head
        return held

    async def _extended(self, head: str, held: View | None) -> View:
        """Asks for what the view of head adds to a view that is held; None: for all of it. It asks also where that is the view of head, which may
        be erased since."""
        after, erasures = (held.head, held.erasures) if held is not None else ("", 0)
        try:
            whole = await self._c.assemble(by_id(head), after=after, after_erasures=erasures)
        except (NotAnAncestorError, NodeNotFoundError):
            if held is None:
                raise
            return await self._extended(head, None)  # the guess at an ancestor was wrong
        if not whole.base_id:
            held = None  # the whole view came: it replaces what was held
        elif held is not None and held.head == head:
            return held
        return View(head, held, b"".join(whole.payloads), whole.erasures)

    async def refresh(self) -> None:
        """Makes the thread go on from where its alias points now. Error: AliasNotFoundError."""
        while True:
            moves = self._s.moves
            if self._s.refreshed(await self._c.resolve(self._s.alias), moves):
                return

    async def fork(self, alias: str) -> AsyncThread:
        """Gives a thread that goes on from the same head under an alias of its own, which must not exist (AliasExistsError) unless it points there
        already; then `new` is False."""
        if not _check.text("alias", alias):
            raise NoNameError("alias must not be empty")
        state = self._s.forked(alias)
        try:
            results, unsure = await self._c._set_aliases(AliasMove(alias, by_id(state.head), must_not_exist()))
        except AliasExistsError as error:
            raise advised(error, "alias is taken: open gives its thread; another branch needs an alias of its own") from None
        state.is_new = unsure or (bool(results) and results[0].changed)
        return AsyncThread(self._c, state)

    async def open_calls(self) -> list[v1.ToolCall]:
        """Gives the tool calls that have no result yet at the head, in order. After resume they may have run."""
        return open_calls((await self._messages(None))[1])

    async def answer_unknown(self) -> None:
        """Puts, for each open call, a result that says that it is unknown whether the call ran (unknown_result), as one node; nothing where no call
        is open. Call it after the results that could be found out were put."""
        open_now = await self.open_calls()
        if open_now:
            await self.append_results(*map(unknown_result, open_now))
