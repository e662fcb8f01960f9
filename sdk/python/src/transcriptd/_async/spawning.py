"""How a thread starts the conversations of subagents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .. import _check, v1
from ..errors import InvalidFieldError, NoNameError, ToolCallNotFoundError
from ..ledger import Pending
from ..refs import by_id, must_not_exist
from ..spawns import INHERITANCES, INHERITS_KEY, Inheritance
from ..thread_state import ThreadState
from ..writes import Node, PutResult

if TYPE_CHECKING:
    from .client import AsyncClient
    from .thread import AsyncThread


class Spawning:
    """How a thread starts the conversations of subagents."""

    _c: AsyncClient
    _s: ThreadState

    async def spawn(
        self,
        call_id: str,
        alias: str,
        *messages: v1.Message,
        inherit: Inheritance | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> AsyncThread:
        """Begins a subagent's thread, linked to the call that starts it: describe tells of it on both sides. The subagent works in its own chain;
        what it comes to is put here by the caller as the result of the call (append_results), and nothing else of it is seen here.

        `call_id` is the id of the call that starts it, the latest with that id, which is on the thread already. `alias` is the subagent's thread.
        `messages` is what it begins with: as a rule its own system messages and a user message with its task. `inherit` is what it has of the
        thread, which describe tells: with "prefix" its chain goes on from the thread's head, else it begins anew; None: nothing is said.
        `metadata` is further metadata of its first node: variables that it begins with, say.

        It may be called again, after a crash say: until the subagent went on that gives the same thread, of which `new` tells that it was there;
        afterwards it is AliasExistsError: AsyncClient.open gives the thread. Errors: NoNameError, ToolCallNotFoundError, AliasExistsError,
        InvalidFieldError for another `inherit`, and others.
        """
        if not _check.text("alias", alias):
            raise NoNameError("alias must not be empty: it is the subagent's thread")
        if inherit is not None and inherit not in INHERITANCES:
            raise InvalidFieldError(f"inherit must be one of {', '.join(INHERITANCES)}, or None")
        with self._s.lock:
            head, at = self._s.head, self._s.at
        call = await self._call_place(head, call_id)
        state = ThreadState(alias)
        node = Node(
            messages=messages,
            parent=by_id(head) if inherit == "prefix" else None,
            aliases=state.aliases(must_not_exist()),
            spawned_from=v1.SpawnedFromRef(node_id=call.node_id, tool_call_id=call_id),
            metadata={**(metadata or {}), **({INHERITS_KEY: inherit} if inherit is not None else {})},
        )
        if inherit == "prefix":
            state.at = at

        async def put(node: Node, _: Pending) -> PutResult:
            return await self._c._put(node)

        return await self._c._begin(state, node, put, "alias is taken: open gives its thread; another subagent needs an alias of its own")

    async def _call_place(self, head: str, call_id: str) -> v1.MessagePlace:
        """Where the latest call with an id was put. A result without its call is none."""
        request = v1.RecallToolCallRequest(
            namespace=self._c.namespace,
            head=v1.NodeRef(node_id=head),
            tool_call_id=_check.text("call_id", call_id),
            page_bytes=1,
        )
        told = await self._c._recalled(request)
        if not told.HasField("call_place"):
            raise ToolCallNotFoundError("the chain has the result of that call, and not the call")
        return told.call_place
