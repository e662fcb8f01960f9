"""Tools that an agent can hand to its model, ready made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import toolkit, v1
from ..errors import (
    BadReplyError,
    InvalidFieldError,
    InvalidPatternError,
    LimitExceededError,
    ToolCallNotFoundError,
    UseStreamAssembleError,
)
from ..refs import by_id
from ..thread_state import ThreadState

if TYPE_CHECKING:
    from .client import AsyncClient


@dataclass(frozen=True)
class AsyncTool:
    """A tool that an agent can hand to its model: what the model is told of it, and what runs its calls."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON Schema of the arguments."""
    run: Callable[[str | Mapping[str, Any]], Awaitable[str]]
    """Runs it with the arguments, as the model wrote them or parsed, and gives the text of the result. What the model can put right, such as a
    call id that is not there, is a text too; an error is a failure of the service."""

    def openai(self) -> dict[str, Any]:
        """The tool as OpenAI's chat completions take it in "tools"."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    def openai_responses(self) -> dict[str, Any]:
        """The tool as OpenAI's Responses take it in "tools"."""
        return {
            "type": "function",
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "strict": False,
        }

    def anthropic(self) -> dict[str, Any]:
        """The tool as Anthropic's messages take it in "tools"."""
        return {"name": self.name, "description": self.description, "input_schema": self.parameters}


class Tools:
    """The tools of a thread."""

    _c: AsyncClient
    _s: ThreadState

    def recall_tool(self, *, redact: bool = False) -> AsyncTool:
        """Gives the tool recall_tool_call, with which a model gets back a result, or the arguments of a call, that were left out of what it sees.
        A text is given in parts of 20,000 characters, as it was put. With `redact` the server takes secrets out of each text first."""

        async def run(arguments: str | Mapping[str, Any]) -> str:
            return await self._recall(arguments, redact)

        return AsyncTool(toolkit.RECALL, toolkit.RECALL_DESCRIPTION, toolkit.recall_parameters(), run)

    def search_tool(self, *, redact: bool = False) -> AsyncTool:
        """Gives the tool search_history, with which a model finds what was said earlier in its conversation, also what it no longer sees. It gives at
        most 10 messages, newest first, as they were put, and takes some 10 seconds at most. With `redact` the server takes secrets out of what is
        shown, and nothing is found by them."""

        async def run(arguments: str | Mapping[str, Any]) -> str:
            return await self._search(arguments, redact)

        return AsyncTool(toolkit.SEARCH, toolkit.SEARCH_DESCRIPTION, toolkit.search_parameters(), run)

    async def _recall(self, arguments: str | Mapping[str, Any], redact: bool) -> str:
        asked = toolkit.RecallArguments.read(arguments)
        if asked is None:
            return toolkit.RECALL_USAGE
        head = by_id(self._s.head)
        try:
            got = await self._c.recall(head, asked.exact_id(redact), place=asked.place, redact=redact)
        except ToolCallNotFoundError:
            return "There is no such tool call in this conversation."
        except (InvalidFieldError, LimitExceededError, ValueError):
            return "That is not the id and place of a tool call: copy both from the line."
        return toolkit.arguments_text(got, asked.offset) if asked.arguments else toolkit.result_text(got, asked.offset)

    async def _search(self, arguments: str | Mapping[str, Any], redact: bool) -> str:
        asked = toolkit.SearchArguments.read(arguments)
        if asked is None:
            return toolkit.SEARCH_USAGE
        request = v1.SearchRequest(
            namespace=self._c.namespace,
            head=v1.NodeRef(node_id=self._s.head),
            page_size=2 * toolkit.MOST_HITS,
            redact=redact,
        )
        if asked.regexp:
            request.regexp = asked.query
        else:
            request.text = asked.query
        try:
            hits, more = await self._hits(request)
        except InvalidPatternError:
            return "That is not an RE2 pattern, or one that is too large."
        except (InvalidFieldError, LimitExceededError):
            return "That cannot be searched for: query has to be 1 byte to 1 KiB of text."
        return toolkit.hits_text(hits, more)

    async def _hits(self, request: v1.SearchRequest) -> tuple[list[v1.SearchHit], bool]:
        """The first hits of a search, one more than are shown if there are so many, but for what matches only in calls and results of the tools
        themselves: a model's search would always find itself; and, redacted, in secrets alone. Tells, too, whether not all was looked at."""
        hits: list[v1.SearchHit] = []
        token = ""
        for _ in range(toolkit.MOST_PAGES):
            page = await self._c._search_page(request, token)
            for hit in page.hits:
                own = toolkit.of_tools(hit.tool_name)
                secret = request.redact and not hit.matches
                shown = await self._hit_behind(request, hit) if own or secret else hit
                if shown is not None:
                    hits.append(shown)
            token = page.next_page_token
            if not token or len(hits) > toolkit.MOST_HITS:
                break
        return hits, bool(token)

    async def _hit_behind(self, request: v1.SearchRequest, hit: v1.SearchHit) -> v1.SearchHit | None:
        """What a message matches in besides calls of the tools themselves: a hit names only the first part that matches, and behind a call may come
        another tool's, or a text. None: there is nothing else, as in a result of the tools. Nothing is told of what is behind in a redacted search,
        since only the server takes secrets out, and in one for a pattern, which a model wrote, and Python's re might match for years."""
        if request.redact or request.regexp or (hit.role != v1.ROLE_ASSISTANT and toolkit.of_tools(hit.tool_name)):
            return None
        try:
            node = await self._c.node(by_id(hit.place.node_id))
        except UseStreamAssembleError:
            return None  # more than a model wants to find in
        at = hit.place.message_index
        if at >= len(node.messages) or hit.part_index >= len(node.messages[at].parts):
            raise BadReplyError("a hit in what is not there")
        return toolkit.hit_beside_tools(hit, node.messages[at].parts[hit.part_index :], toolkit.literal(request.text))
