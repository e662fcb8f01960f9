"""The calls about the server, its namespaces, and the whole store."""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator, Iterable

from .. import _check, v1
from ..errors import BadReplyError
from .calls import PAGE_SIZE, Calls, decoded

_INT64 = 2**63 - 1


def _entry(name: str, entry: tuple[str, str]) -> v1.EntrySelector:
    key, value = entry
    return v1.EntrySelector(key=_check.text(name, key, empty=False), value=_check.text(name, value))


class Admin(Calls):
    """The calls about the server, its namespaces, and the whole store."""

    async def stats(self) -> v1.NamespaceStatsResponse:
        """Counts the namespace, and tells its settings, which are absent where they were never set."""
        return await self._read("NamespaceStats", v1.NamespaceStatsRequest(namespace=self.namespace), v1.NamespaceStatsResponse)

    async def namespaces(self) -> AsyncIterator[str]:
        """Lists the names of namespaces that the caller may read, in the order of their bytes, asking for page after page as the caller
        iterates."""

        async def page(token: str) -> tuple[list[str], str]:
            request = v1.ListNamespacesRequest(page_size=PAGE_SIZE, page_token=token)
            reply = await self._read("ListNamespaces", request, v1.ListNamespacesResponse)
            return [info.name for info in reply.namespaces], reply.next_page_token

        async for name in self._pages(page):
            yield name

    async def set_namespace(
        self,
        *,
        max_nodes: int = 0,
        max_message_bytes: int = 0,
        max_aliases: int = 0,
        retention: Iterable[v1.RetentionRule] = (),
        revision: int | None = None,
    ) -> v1.SetNamespaceResponse:
        """Replaces the settings of the namespace as a whole: what is not given, and 0, is no limit. `retention` are the rules by which aliases
        expire or are held: one that is not among them is taken away, and with it a hold. A server without the feature "retention" has none.

        With a revision it does so only if that is the settings' own, as stats tells it, 0 where they were never set; else
        SettingsChangedError. None: whatever they are, and then a call whose reply is lost is not repeated.
        """
        settings = v1.NamespaceSettings(
            max_nodes=_check.number("max_nodes", max_nodes),
            max_message_bytes=_check.number("max_message_bytes", max_message_bytes),
            max_aliases=_check.number("max_aliases", max_aliases),
            retention=retention,
        )
        request = v1.SetNamespaceRequest(
            namespace=self.namespace, settings=settings, revision=None if revision is None else _check.number("revision", revision)
        )
        reply, _ = await self._call("SetNamespace", request, v1.SetNamespaceResponse, revision is not None)
        return reply

    async def delete_namespace(self, confirm: str) -> bool:
        """Deletes the namespace with all that it has, receipts and settings too, and tells whether there was one. `confirm` must be its name.

        The caller needs the roles admin and erase; LegalHoldError, where there is a hold. A call whose reply is lost is not repeated: somebody may
        have begun the namespace anew. A server without the feature "delete_namespace" does not have it.
        """
        request = v1.DeleteNamespaceRequest(namespace=self.namespace, confirm=_check.text("confirm", confirm))
        try:
            reply, _ = await self._call("DeleteNamespace", request, v1.DeleteNamespaceResponse, False)
        finally:
            self._cache.clear()
        return reply.deleted

    async def verify(
        self, *, whole_store: bool = False, cursor: str = "", max_bytes_per_second: int = 0
    ) -> AsyncIterator[v1.VerifyResponse]:
        """Makes the server read the whole namespace, recompute every id and check links, folds and indexes, and yields its reports as they come.
        A problem is a report, not an error. An error ends it: where the last report was not done, the check was not finished, and another goes
        on at that report's cursor.

        `whole_store`: every namespace, and what is the store's own. `cursor`: that of the last report of an earlier check of the same, which
        goes on; it is good after a restart of the server, too. `max_bytes_per_second` bounds what the server reads; 0: nothing does.
        """
        whole = _check.flag("whole_store", whole_store)
        request = v1.VerifyRequest(
            namespace="" if whole else self.namespace,
            scope=v1.SCOPE_STORE if whole else v1.SCOPE_UNSPECIFIED,
            cursor=_check.text("cursor", cursor),
            max_bytes_per_second=_check.number("max_bytes_per_second", max_bytes_per_second, most=_INT64),
        )
        done = False
        async for received in self._stream("Verify", request):
            report = decoded(received, v1.VerifyResponse)
            done = report.done
            yield report
        if not done:
            raise BadReplyError("the check was not finished")

    async def collect_garbage(
        self,
        *,
        whole_store: bool = False,
        dry_run: bool = False,
        grace: datetime.timedelta | None = None,
        max_nodes_per_second: int = 0,
        reclaim_space: bool = False,
    ) -> AsyncIterator[v1.CollectGarbageResponse]:
        """Makes the server delete the nodes of the namespace that no alias, no history and no grace keeps, and yields its reports as they come.
        An error ends it, and so does a caller who stops: what was deleted stays deleted, and another goes on with the rest.

        `whole_store`: every namespace in turn. `dry_run` counts what would be deleted, and deletes nothing. `grace` is how long a node is kept
        after it was put, whatever refers to it, in whole milliseconds; None: as the server is set. With none, timedelta(0), its time does not keep
        a node, and one whose alias somebody is about to set may go. `max_nodes_per_second` bounds what is deleted, on average; 0: nothing does.
        `reclaim_space`, of a whole store and not in a dry run, gives the space back that what was deleted takes; calls take longer meanwhile.
        A server without the feature "collection" does not have it.
        """
        whole = _check.flag("whole_store", whole_store)
        request = v1.CollectGarbageRequest(
            namespace="" if whole else self.namespace,
            scope=v1.SCOPE_STORE if whole else v1.SCOPE_UNSPECIFIED,
            dry_run=_check.flag("dry_run", dry_run),
            max_nodes_per_second=_check.number("max_nodes_per_second", max_nodes_per_second, most=_INT64),
            reclaim_space=_check.flag("reclaim_space", reclaim_space),
        )
        if grace is not None:
            if not isinstance(grace, datetime.timedelta):
                raise TypeError(f"grace must be a datetime.timedelta, not {type(grace).__name__}")
            request.grace.FromTimedelta(grace)
        done = False
        async for received in self._stream("CollectGarbage", request):
            report = decoded(received, v1.CollectGarbageResponse)
            done = report.done
            yield report
        if not done:
            raise BadReplyError("the collection was not finished")

    async def erase(
        self,
        *,
        nodes: Iterable[str] | None = None,
        alias_prefix: str = "",
        metadata: tuple[str, str] | None = None,
        attribute: tuple[str, str] | None = None,
        dry_run: bool = False,
        shared_roots: v1.SharedRoots = v1.SHARED_ROOTS_UNSPECIFIED,
        reference: str = "",
        wait_for_files: bool = False,
    ) -> AsyncIterator[v1.EraseResponse]:
        """Makes the server erase the content of nodes of the namespace, and of its copies in compaction nodes, and yields its reports as they
        come. The nodes stay, with markers. An error ends it, and so does a caller who stops: what was erased stays erased, and another goes on
        with the rest.

        One selector is given. `nodes`: by their ids. `alias_prefix`: what aliases whose names begin so reach, and did in their histories, up to
        the roots. `metadata`: the nodes with this entry, a key and a value; `attribute`: those that have a message with it in its note.
        `dry_run` tells what would be erased, and erases nothing. `shared_roots` says what becomes of roots without a salt, which all chains
        have that begin with the same words: without it they are refused, SharedRootError. `reference` stays in the receipts, such as the
        number of a ticket: no personal data. `wait_for_files` goes on until the content has left the files of the server's store. A server
        without the feature "erase" does not have it.
        """
        given = [name for name, value in (("nodes", nodes), ("metadata", metadata), ("attribute", attribute)) if value is not None]
        if len(given) + (alias_prefix != "") != 1:
            raise ValueError("exactly one of nodes, alias_prefix, metadata and attribute must be given")
        request = v1.EraseRequest(
            namespace=self.namespace,
            dry_run=_check.flag("dry_run", dry_run),
            shared_roots=shared_roots,
            reference=_check.text("reference", reference),
            wait_for_files=_check.flag("wait_for_files", wait_for_files),
        )
        if nodes is not None:
            request.nodes.ids.extend(_check.node_id("nodes", node) for node in nodes)
            request.nodes.SetInParent()
        elif metadata is not None:
            request.metadata.CopyFrom(_entry("metadata", metadata))
        elif attribute is not None:
            request.attribute.CopyFrom(_entry("attribute", attribute))
        else:
            request.alias_prefix = _check.text("alias_prefix", alias_prefix)
        done = False
        async for received in self._stream("Erase", request):
            report = decoded(received, v1.EraseResponse)
            done = report.done
            if not dry_run:
                self._cache.clear()
            yield report
        if not done:
            raise BadReplyError("the erasure was not finished")

    async def receipts(self, *node_ids: str) -> list[v1.NodeReceipt]:
        """Returns the receipts of nodes that were erased, by their ids, at most 1,000: NodeNotFoundError for one that was not. A receipt is signed
        with the key that server_info tells as receipt_public_key. A server without the feature "erase" does not have them.
        """
        request = v1.GetReceiptsRequest(namespace=self.namespace, node_ids=[_check.node_id("node_ids", node) for node in node_ids])
        return list((await self._read("GetReceipts", request, v1.GetReceiptsResponse)).receipts)

    async def backup(
        self,
        *,
        whole_store: bool = False,
        since_cursor: bytes = b"",
        since_digest: bytes = b"",
        continue_cursor: bytes = b"",
        continue_digest: bytes = b"",
        max_bytes_per_second: int = 0,
        plain: bool = False,
    ) -> AsyncIterator[v1.BackupResponse]:
        """Makes the server write an archive (docs/archive.md) of one state of the namespace, or the store, and yields its pieces as they come,
        some of them empty reports of how far it is. The last one is done and has the digest. An error ends it: then the archive was cut, and
        another one goes on from its last point.

        `since_cursor`, `since_digest`: of the archive to go on from; then what was put, set or deleted since is written. `continue_cursor`,
        `continue_digest`: of the last point of an archive that was cut; then the rest of it is written. `max_bytes_per_second` bounds what the
        server reads of nodes; 0: nothing does. `plain` says that whoever receives the archive protects it: without it the backup of an encrypted
        store is refused.
        """
        whole = _check.flag("whole_store", whole_store)
        request = v1.BackupRequest(
            namespace="" if whole else self.namespace,
            scope=v1.SCOPE_STORE if whole else v1.SCOPE_UNSPECIFIED,
            since_cursor=_check.binary("since_cursor", since_cursor),
            since_digest=_check.binary("since_digest", since_digest),
            continue_cursor=_check.binary("continue_cursor", continue_cursor),
            continue_digest=_check.binary("continue_digest", continue_digest),
            max_bytes_per_second=_check.number("max_bytes_per_second", max_bytes_per_second, most=_INT64),
            plain=_check.flag("plain", plain),
        )
        done = False
        async for received in self._stream("Backup", request):
            piece = decoded(received, v1.BackupResponse)
            done = piece.done
            yield piece
        if not done:
            raise BadReplyError("the archive was cut")

    async def restore(self, *aliases: v1.ArchiveAlias, archived: v1.ArchiveNamespace | None = None) -> int:
        """Sets aliases as an archive has them, with their histories and revisions, and what it has of the namespace itself: at most 1,000 aliases
        with 10,000 states in all. Nodes are put before, with put_archived. An alias goes forward alone: what is there is replaced if it is of
        the past of the archived one, and stays if it is as the archive has it; else AliasMovedError. Returns how many were set.
        """
        wire = _check.instances("aliases", aliases, v1.ArchiveAlias)
        if archived is not None:
            archived = _check.message("archived", archived, v1.ArchiveNamespace)
        request = v1.RestoreRequest(namespace=self.namespace, archived=archived, aliases=wire)
        reply, _ = await self._call("Restore", request, v1.RestoreResponse, True)
        return reply.aliases_set
