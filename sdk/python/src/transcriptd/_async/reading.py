"""The calls that look at a chain: past tool calls, run loops, search, its state."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator, Sequence

from .. import _check, v1
from ..errors import BadReplyError
from ..refs import Ref, by_id, ref
from .aliases import timestamp
from .calls import Calls

_RECALL_PAGE = 1 << 20  # the bytes of a page: the most that the server gives
# How many variables a description tells of, and the code points of each preview: the most that there are.
_VARIABLES, _PREVIEW = 64, 2000
_INT32 = 2**31 - 1


class Reading(Calls):
    """The calls that look at a chain."""

    async def recall(
        self, head: Ref, call_id: str | None = None, *, place: str = "", occurrence: int = 0, redact: bool = False
    ) -> v1.RecallToolCallResponse:
        """Gives a past tool call with its arguments and its whole result, whatever was compacted since; `parts` is all of the result.

        `call_id` is the call's id; None: calls without one. It is not needed with `place`, NODE.I as the line of a left-out result gives it,
        which names exactly that result. `occurrence` counts back where ids repeat: 0 is the latest; not with `place`. `redact` takes secrets
        out of all text of the call and of the result, of each text by itself. Errors: ToolCallNotFoundError, NodeNotFoundError,
        AliasNotFoundError, InvalidFieldError.
        """
        request = v1.RecallToolCallRequest(
            namespace=self.namespace,
            head=ref("head", head),
            tool_call_id=None if call_id is None else _check.text("call_id", call_id),
            place=_check.text("place", place),
            occurrence=_check.number("occurrence", occurrence, most=_INT32),
            redact=_check.flag("redact", redact),
            page_bytes=_RECALL_PAGE,
        )
        whole = await self._recalled(request)
        while whole.next_page_token:
            request.page_token = whole.next_page_token
            page = await self._recalled(request)
            if page.next_page_token == request.page_token:
                raise BadReplyError("a page leads to itself")
            more = list(page.parts)
            if page.continues and more and whole.parts and whole.parts[-1].WhichOneof("kind") == "text":
                whole.parts[-1].text += more.pop(0).text
            whole.parts.extend(more)
            whole.next_page_token = page.next_page_token
        return whole

    async def _recalled(self, request: v1.RecallToolCallRequest) -> v1.RecallToolCallResponse:
        return await self._read("RecallToolCall", request, v1.RecallToolCallResponse)

    async def run_loops(
        self, head: Ref, *, preview_chars: int = 0, argument_chars: int = 0, redact: bool = False
    ) -> AsyncIterator[v1.RunLoop]:
        """Lists the run loops of a chain, newest first, asking for page after page as the caller iterates.

        `preview_chars`: the code points of user text and reply text to tell of each, at most 10,000. `argument_chars`: those of the arguments
        of each tool call, at most 2,000. `redact` takes secrets out of them. Errors: NodeNotFoundError, AliasNotFoundError.
        """
        request = v1.ListRunLoopsRequest(
            namespace=self.namespace,
            head=ref("head", head),
            preview_chars=_check.number("preview_chars", preview_chars, most=_INT32),
            argument_chars=_check.number("argument_chars", argument_chars, most=_INT32),
            redact=_check.flag("redact", redact),
        )

        async def page(token: str) -> tuple[list[v1.RunLoop], str]:
            request.page_token = token
            reply = await self._read("ListRunLoops", request, v1.ListRunLoopsResponse)
            return list(reply.run_loops), reply.next_page_token

        async for loop in self._pages(page):
            yield loop

    async def search(
        self,
        text: str = "",
        *,
        regexp: str = "",
        head: Ref | None = None,
        alias_prefix: str = "",
        roles: Sequence[int] = (),
        tool_names: Sequence[str] = (),
        since: datetime.datetime | None = None,
        until: datetime.datetime | None = None,
        errors_only: bool = False,
        excerpt_chars: int = 0,
        redact: bool = False,
    ) -> AsyncIterator[v1.SearchHit]:
        """Finds the messages that have a text, in any case of its letters, or match an RE2 pattern, `regexp`: one of them, of 1 byte to 1 KiB.

        It looks at the chain of `head`, newest message first, or without at all chains of aliases whose names begin with `alias_prefix`, and asks
        for page after page as the caller iterates: give it a deadline, for a page may cost half a second and a search of many chains many pages.

        Only messages of these `roles` (v1.ROLE_USER and its like), calls of the tools `tool_names` and their results, messages at or after
        `since` and before `until` (times with a zone), and with `errors_only` results that are errors. `excerpt_chars`: the code points around
        the first match, at most 2,000; 0 means 200. `redact` takes secrets out of what is told; a message that matches only inside a secret is
        still a hit. Errors: InvalidPatternError, InvalidFieldError, NodeNotFoundError, AliasNotFoundError.
        """
        request = v1.SearchRequest(
            namespace=self.namespace,
            roles=[_check.number(f"roles[{i}]", role, most=_INT32) for i, role in enumerate(roles)],  # type: ignore[misc]
            tool_names=_names("tool_names", tool_names),
            since=None if since is None else timestamp("since", since),
            until=None if until is None else timestamp("until", until),
            errors_only=_check.flag("errors_only", errors_only),
            excerpt_chars=_check.number("excerpt_chars", excerpt_chars, most=_INT32),
            redact=_check.flag("redact", redact),
        )
        if bool(_check.text("text", text)) == bool(_check.text("regexp", regexp)):
            raise ValueError("give a text to search for, or regexp, and not both")
        if text:
            request.text = text
        else:
            request.regexp = regexp
        if head is None:
            request.alias_prefix = _check.text("alias_prefix", alias_prefix)
        elif alias_prefix:
            raise ValueError("give head or alias_prefix, not both")
        else:
            request.head.CopyFrom(ref("head", head))

        async def page(token: str) -> tuple[list[v1.SearchHit], str]:
            reply = await self._search_page(request, token)
            return list(reply.hits), reply.next_page_token

        async for hit in self._pages(page):
            yield hit

    async def _search_page(self, request: v1.SearchRequest, token: str) -> v1.SearchResponse:
        """One page of a search, beginning at a token: empty for the first."""
        request.page_token = token
        return await self._read("Search", request, v1.SearchResponse)

    async def replay(
        self,
        head: Ref,
        *,
        max_calls: int = 0,
        max_item_chars: int = 0,
        max_chars: int = 0,
        tool_names: Sequence[str] = (),
        past_loops_only: bool = False,
    ) -> v1.ReplayToolsResponse:
        """Gives a bounded, redacted digest of a chain's latest tool calls.

        `max_calls`: at most 200, 0 means 20. `max_item_chars`: the code points of each call's arguments and of each result, at most 10,000,
        0 means 500. `max_chars`: those of all together, at most 200,000, 0 means 8,000. `tool_names`: only calls of these. `past_loops_only`
        leaves out the last run loop, which every view shows anyway. Errors: NodeNotFoundError, AliasNotFoundError and others.
        """
        request = v1.ReplayToolsRequest(
            namespace=self.namespace,
            head=ref("head", head),
            max_calls=_check.number("max_calls", max_calls, most=_INT32),
            max_item_chars=_check.number("max_item_chars", max_item_chars, most=_INT32),
            max_chars=_check.number("max_chars", max_chars, most=_INT32),
            tool_names=_names("tool_names", tool_names),
            past_loops_only=_check.flag("past_loops_only", past_loops_only),
        )
        return await self._read("ReplayTools", request, v1.ReplayToolsResponse)

    async def describe(
        self,
        head: Ref,
        *,
        mode: int = v1.DESCRIBE_MODE_UNSPECIFIED,
        max_items: int = 0,
        preview_chars: int = 0,
        max_text_chars: int = 0,
        stale_after: datetime.timedelta | None = None,
        redact: bool = False,
        now: datetime.datetime | None = None,
        variable_names: Sequence[str] | None = None,
        variable_prefix: str | None = None,
    ) -> v1.DescribeResponse:
        """Tells the state of a chain.

        `mode`: DESCRIBE_MODE_METADATA (without), DESCRIBE_MODE_OFF or DESCRIBE_MODE_PREVIEW. `max_items`: the entries of each list, at most 64,
        0 means 16. `preview_chars`: the code points of each preview, at most 2,000, 0 means 200. `max_text_chars`: those of the text block, at
        most 20,000, 0 means 4,000. `stale_after`: when an open run loop is stale; None: after an hour. `redact` takes secrets out. `now`, a
        time with a zone: what ages are measured at; None: the server's clock. `variable_names` and `variable_prefix`: the variables to tell
        of; without, those that were set last. Errors: NodeNotFoundError, AliasNotFoundError and others.
        """
        request = v1.DescribeRequest(
            namespace=self.namespace,
            head=ref("head", head),
            mode=_check.number("mode", mode, most=_INT32),  # type: ignore[arg-type]
            max_items=_check.number("max_items", max_items, most=_INT32),
            preview_chars=_check.number("preview_chars", preview_chars, most=_INT32),
            max_text_chars=_check.number("max_text_chars", max_text_chars, most=_INT32),
            redact=_check.flag("redact", redact),
            now=None if now is None else timestamp("now", now),
        )
        if stale_after is not None:
            if not isinstance(stale_after, datetime.timedelta):
                raise TypeError(f"stale_after must be a datetime.timedelta, not {type(stale_after).__name__}")
            request.stale_after.FromTimedelta(stale_after)
        if variable_names is not None or variable_prefix is not None:
            prefix = None if variable_prefix is None else _check.text("variable_prefix", variable_prefix)
            names = v1.VariableNames(exact=_names("variable_names", variable_names or ()), prefix=prefix)
            request.variable_names.CopyFrom(names)
        return await self._read("Describe", request, v1.DescribeResponse)

    async def variables(self, head: Ref, *names: str) -> list[v1.VariableInfo]:
        """Tells of variables by their names, as they are set at a head, with previews of up to 2,000 code points: of a value that has no more,
        the whole of it. The whole of a longer one is the node's that set it (`set_by`): node_info has its metadata. Of names that are not set
        nothing is told. Where the head is an alias that moves meanwhile, all are told as of one node. describe tells of variables by prefix,
        and of those set last. Errors: AliasNotFoundError, NodeNotFoundError, InvalidFieldError for an empty name, LimitExceededError for one
        over 252 bytes."""
        told: list[v1.VariableInfo] = []
        asked = _names("names", names)
        for first in range(0, len(asked), _VARIABLES):
            described = await self.describe(
                head,
                mode=v1.DESCRIBE_MODE_PREVIEW,
                max_items=_VARIABLES,
                preview_chars=_PREVIEW,
                variable_names=asked[first : first + _VARIABLES],
            )
            told.extend(described.variables)
            head = by_id(described.head_id)
        return told


def _names(name: str, values: Sequence[str]) -> list[str]:
    """A list of texts."""
    if isinstance(values, str):
        raise TypeError(f"{name} must be a list of str, not a str")
    return [_check.text(f"{name}[{i}]", value) for i, value in enumerate(values)]
