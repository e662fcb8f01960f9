"""The calls that put nodes and read them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from .. import _check, v1
from ..errors import BadReplyError
from ..nodes import Found, put_result, read_node, read_nodes
from ..refs import Ref, ref
from ..retry import repeatable_put
from ..verify import verify_put
from ..writes import AliasUpdate, Node, PutResult
from .calls import PAGE_SIZE, Calls

_MOST_IDS = 1000  # the ids of one GetNodes


class Nodes(Calls):
    """The calls that put nodes and read them."""

    async def put(
        self,
        *messages: v1.Message,
        parent: Ref | None = None,
        notes: Sequence[v1.MessageNote] = (),
        metadata: Mapping[str, str] | None = None,
        salt: bytes = b"",
        spawned_from: v1.SpawnedFromRef | None = None,
        aliases: Sequence[AliasUpdate] = (),
    ) -> PutResult:
        """Appends messages to `parent` as one node, or without one begins a chain, and sets aliases to it, all or nothing.

        The arguments are those of Node. Where its reply is lost it is repeated only where that can do nothing twice and undo nothing: the
        parent is absent, a node id, or an alias that the call conditions on a head; and no alias is set, or one is set with must_not_exist or
        head_is, or has revision_is or head_at, or all are deleted with head_is. Errors: InvalidFieldError, LimitExceededError,
        ParentNotFoundError, AliasNotFoundError, AliasExistsError, AliasMovedError and others.
        """
        return await self._put(
            Node(
                messages=messages,
                parent=parent,
                notes=notes,
                metadata=metadata or {},
                salt=salt,
                spawned_from=spawned_from,
                aliases=aliases,
            )
        )

    async def _put(self, node: Node, repeatable: bool | None = None) -> PutResult:
        """put, repeated where its reply was lost if it may be."""
        wire = node.wire()
        request = v1.PutNodeRequest(
            namespace=self.namespace,
            parent=wire.parent if wire.HasField("parent") else None,
            messages=wire.messages,
            notes=wire.notes,
            metadata=wire.metadata,
            salt=wire.salt,
            spawned_from=wire.spawned_from if wire.HasField("spawned_from") else None,
            aliases=wire.aliases,
        )
        repeatable = repeatable_put([request]) if repeatable is None else repeatable
        reply, unsure = await self._call("PutNode", request, v1.PutNodeResponse, repeatable)
        if self._settings.verify:
            verify_put([wire], [reply])
        return put_result(reply, unsure)

    async def put_all(self, *nodes: Node) -> list[PutResult]:
        """Puts 1 to 1,000 nodes in one commit, all or nothing, and gives a result for each in their order. It is repeated, and fails, as
        put does."""
        wire = [node.wire() for node in _check.instances("nodes", nodes, Node)]
        request = v1.PutNodesRequest(namespace=self.namespace, nodes=wire)
        reply, unsure = await self._call("PutNodes", request, v1.PutNodesResponse, repeatable_put(wire))
        if len(reply.nodes) != len(wire):
            raise BadReplyError("not a result for each node")
        if self._settings.verify:
            verify_put(wire, list(reply.nodes))
        return [put_result(one, unsure) for one in reply.nodes]

    async def put_archived(self, *nodes: v1.ArchivedNode) -> list[PutResult]:
        """Puts 1 to 1,000 nodes that were put elsewhere, as an archive has them (docs/archive.md), in one commit, all or nothing, and gives
        a result for each in their order. What is there already stays as it is. It is repeated where its reply was lost. Errors:
        ParentNotFoundError, NodeNotFoundError, NotAnAncestorError, AlreadyCoveredError, OpenToolCallsError and others."""
        wire = _check.instances("nodes", nodes, v1.ArchivedNode)
        request = v1.PutArchivedNodesRequest(namespace=self.namespace, nodes=wire)
        reply, unsure = await self._call("PutArchivedNodes", request, v1.PutArchivedNodesResponse, True)
        if len(reply.nodes) != len(wire):
            raise BadReplyError("not a result for each node")
        return [put_result(one, unsure) for one in reply.nodes]

    async def node(self, node: Ref) -> v1.GetNodeResponse:
        """Gives one node with its messages as they were put, verified where the client has verify=True. Errors: NodeNotFoundError,
        AliasNotFoundError, AmbiguousPrefixError, VerificationError; UseStreamAssembleError where messages and metadata are together over
        4 MiB, for which node_info and assemble can be asked."""
        return await self._node(v1.GetNodeRequest(namespace=self.namespace, node=ref("node", node)))

    async def node_info(self, node: Ref) -> v1.GetNodeResponse:
        """node without the messages; then only the envelope is verified."""
        return await self._node(v1.GetNodeRequest(namespace=self.namespace, node=ref("node", node), omit_messages=True))

    async def _node(self, request: v1.GetNodeRequest) -> v1.GetNodeResponse:
        return read_node(request, await self._raw("GetNode", request), self._settings.verify)

    async def nodes(self, *ids: str) -> Found:
        """Gives the nodes with some ids, each 64 digits and each once, in as many calls as that takes, verified where the client has
        verify=True. Of aliases nothing is told. Errors: UseStreamAssembleError where messages and metadata of one node are together over
        4 MiB - 64 KiB, VerificationError and others."""
        return await self._nodes(ids, omit=False)

    async def node_infos(self, *ids: str) -> Found:
        """nodes without the messages; then only envelopes are verified."""
        return await self._nodes(ids, omit=True)

    async def _nodes(self, ids: Sequence[str], omit: bool) -> Found:
        left = [_check.node_id(f"ids[{i}]", one) for i, one in enumerate(ids)]
        found = Found([], [])
        while left:
            asked = left[:_MOST_IDS]
            request = v1.GetNodesRequest(namespace=self.namespace, node_ids=asked, omit_messages=omit)
            some = read_nodes(request, await self._raw("GetNodes", request), self._settings.verify)
            found = Found(found.nodes + some.nodes, found.missing + some.missing)
            left = left[len(some.nodes) + len(some.missing) :]
        return found

    async def children(self, node: Ref) -> AsyncIterator[v1.ChildNode]:
        """Lists the nodes whose parent a node is, in the order in which they were first put, asking for page after page as the caller
        iterates. Errors: NodeNotFoundError, AliasNotFoundError."""
        parent = ref("node", node)

        async def page(token: str) -> tuple[list[v1.ChildNode], str]:
            request = v1.ListChildrenRequest(namespace=self.namespace, node=parent, page_size=PAGE_SIZE, page_token=token)
            reply = await self._read("ListChildren", request, v1.ListChildrenResponse)
            return list(reply.children), reply.next_page_token

        async for child in self._pages(page):
            yield child
