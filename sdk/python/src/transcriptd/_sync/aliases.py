# Made from ../_async/aliases.py by tools/unasync.py: do not edit.
"""The calls about aliases."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

from google.protobuf import timestamp_pb2

from .. import _check, v1
from ..errors import BadReplyError, InvalidFieldError
from ..refs import Condition, precondition
from ..retry import repeatable_delete, repeatable_deletion, repeatable_moves
from ..writes import AliasMove
from .calls import PAGE_SIZE, Calls


class Aliases(Calls):
    """The calls about aliases."""

    def set_aliases(self, *moves: AliasMove) -> list[v1.AliasResult]:
        """Sets or deletes 1 to 1,000 aliases in one commit, all or nothing, and tells in their order what changed; after a repeat, changed
        and revised may be false although this call changed it.

        Where its reply is lost it is repeated only if each move is on revision_is or head_at, to a node by its id or to its own alias; or on
        must_not_exist or head_is, to a node by its id, and without labels; or deletes on head_is, revision_is or head_at: a repeat of any
        other could undo what others did since. Errors: NodeNotFoundError, AliasNotFoundError, AliasExistsError, AliasMovedError and others.
        """
        return (self._set_aliases(*moves))[0]

    def _set_aliases(self, *moves: AliasMove) -> tuple[list[v1.AliasResult], bool]:
        """set_aliases, and tells whether an attempt that failed may have set them."""
        wire = [move.wire() for move in _check.instances("moves", moves, AliasMove)]
        request = v1.AliasRequest(namespace=self.namespace, aliases=wire)
        reply, unsure = self._call("Alias", request, v1.AliasResponse, repeatable_moves(wire))
        return list(reply.aliases), unsure

    def delete_alias(self, name: str, condition: Condition | None = None, *, forget_history: bool = False) -> str:
        """Deletes an alias; its nodes and its history stay. Gives the node that it pointed to, empty where there was none; after a repeat
        it may be empty although this call deleted it.

        `forget_history` deletes the history, too, also where the alias is deleted already: then nothing of the name keeps a node from
        collect_garbage. Where its reply is lost it is repeated only with revision_is or head_is: otherwise the repeat could delete what
        others set since. Errors: AliasNotFoundError with must_exist, AliasMovedError with head_is and revision_is.
        """
        request = v1.DeleteAliasRequest(
            namespace=self.namespace,
            name=_check.text("name", name),
            precondition=precondition(condition),
            forget_history=_check.flag("forget_history", forget_history),
        )
        repeatable = repeatable_delete(request.precondition)
        reply, _ = self._call("DeleteAlias", request, v1.DeleteAliasResponse, repeatable)
        return reply.previous_id

    def delete_aliases(
        self,
        *,
        prefix: str = "",
        all: bool = False,
        moved_before: datetime.datetime | None = None,
        dry_run: bool = False,
        forget_history: bool = False,
    ) -> Iterator[v1.AliasInfo]:
        """Deletes aliases in the order of their names, page after page as the caller iterates, and yields each as it was. Aliases behind
        that where the caller stops stay. Nodes and histories stay, and so does what others move meanwhile.

        `prefix`: those whose names begin so. `all`: every alias of the namespace. One of them is required, else InvalidFieldError.
        `moved_before`, a time with a zone: only those that were created or last moved before, by the server's clock; without, those that
        are there when the deletion begins. `dry_run`: tells what would be deleted, and deletes nothing. `forget_history` deletes their
        histories, too, as delete_alias does.

        A page whose reply is lost is asked for again: then what it deleted may not be yielded. An error ends it; to go on, delete again
        with the same `moved_before`.
        """
        if _check.flag("all", all) == bool(_check.text("prefix", prefix)):
            raise InvalidFieldError("a deletion has prefix, or all=True, and not both")
        request = v1.DeleteAliasesRequest(
            namespace=self.namespace,
            dry_run=_check.flag("dry_run", dry_run),
            forget_history=_check.flag("forget_history", forget_history),
            page_size=PAGE_SIZE,
            moved_before=None if moved_before is None else timestamp("moved_before", moved_before),
        )
        if all:
            request.all = True
        else:
            request.prefix = prefix

        def page(token: str) -> tuple[list[v1.AliasInfo], str]:
            if not request.HasField("moved_before"):
                request.moved_before.CopyFrom(self._begins_now(request))
            request.page_token = token
            reply, _ = self._call("DeleteAliases", request, v1.DeleteAliasesResponse, repeatable_deletion(request))
            return list(reply.aliases), reply.next_page_token

        for info in self._pages(page):
            yield info

    def _begins_now(self, request: v1.DeleteAliasesRequest) -> timestamp_pb2.Timestamp:
        """Asks the server for the time with which a deletion may be repeated."""
        ask = v1.DeleteAliasesRequest()
        ask.CopyFrom(request)
        ask.dry_run, ask.page_size = True, 1
        reply = self._read("DeleteAliases", ask, v1.DeleteAliasesResponse)
        if not reply.HasField("moved_before"):
            raise BadReplyError("a dry run without its moved_before")
        return reply.moved_before

    def resolve(self, name: str) -> v1.ResolveAliasResponse:
        """Tells which node an alias points to, its revision, and the totals of the chain that ends there. Error: AliasNotFoundError, of
        which `deleted` tells whether the name was deleted."""
        request = v1.ResolveAliasRequest(namespace=self.namespace, name=_check.text("name", name))
        reply = self._read("ResolveAlias", request, v1.ResolveAliasResponse)
        if not reply.HasField("alias"):
            raise BadReplyError("an alias that is there, without its node")
        return reply

    def aliases(self, *, prefix: str | None = None, under: str | None = None, reverse: bool = False) -> Iterator[v1.AliasInfo]:
        """Lists aliases, asking for page after page as the caller iterates.

        Without arguments it is all of them, in the order of the names' bytes. `prefix`: those whose names begin so. `under`: those in a
        folder, directly or deeper, last moved first: "chat" has "chat/42" and "chat/42/x", "" has every name. A folder is at most eight
        levels deep; "" is the first. `reverse`: the last name first, or what was moved first.
        """

        def page(token: str) -> tuple[list[v1.AliasInfo], str]:
            request = self._alias_page(prefix, under, reverse, token)
            reply = self._read("ListAliases", request, v1.ListAliasesResponse)
            return list(reply.aliases), reply.next_page_token

        for info in self._pages(page):
            yield info

    def _alias_page(self, prefix: str | None, under: str | None, reverse: bool, token: str) -> v1.ListAliasesRequest:
        request = v1.ListAliasesRequest(namespace=self.namespace, page_size=PAGE_SIZE, page_token=token)
        if prefix is not None and under is not None:
            raise ValueError("give prefix or under, not both")
        if prefix is not None:
            request.prefix = _check.text("prefix", prefix)
        if under is not None:
            request.folder = _check.text("under", under)
        if _check.flag("reverse", reverse):
            request.order = v1.SORT_ORDER_DESCENDING if under is None else v1.SORT_ORDER_ASCENDING
        return request

    def history(self, name: str) -> Iterator[v1.AliasHistoryEntry]:
        """Lists the states of an alias, newest first: at most the last 100, at most 90 days back, also after its deletion. Error:
        AliasNotFoundError for a name that never was set, or was deleted more than 90 days ago."""
        _check.text("name", name)

        def page(token: str) -> tuple[list[v1.AliasHistoryEntry], str]:
            request = v1.ListAliasHistoryRequest(namespace=self.namespace, name=name, page_size=PAGE_SIZE, page_token=token)
            reply = self._read("ListAliasHistory", request, v1.ListAliasHistoryResponse)
            return list(reply.entries), reply.next_page_token

        for entry in self._pages(page):
            yield entry


def timestamp(name: str, value: datetime.datetime) -> timestamp_pb2.Timestamp:
    """A time as requests have it."""
    if not isinstance(value, datetime.datetime):
        raise TypeError(f"{name} must be a datetime.datetime, not {type(value).__name__}")
    if value.utcoffset() is None:
        raise ValueError(f"{name} must have a time zone, such as datetime.timezone.utc")
    made = timestamp_pb2.Timestamp()
    made.FromDatetime(value)
    return made
