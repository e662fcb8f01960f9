"""Nodes as replies tell them."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.message import DecodeError, Message

from . import raw, v1
from .errors import BadReplyError
from .verify import verify_node
from .writes import PutResult


@dataclass(frozen=True)
class Found:
    """The nodes that Client.nodes was asked for."""

    nodes: list[v1.GetNodeResponse]
    """Those that are there, in the order of their ids as given."""
    missing: list[str]
    """The ids that no node has, in the same order."""


def put_result(reply: v1.PutNodeResponse, retried: bool) -> PutResult:
    """What became of a node that was put."""
    if not reply.node_id or not reply.HasField("counters"):
        raise BadReplyError("a node that was put, without its id or counters")
    return PutResult(reply.node_id, reply.created, list(reply.aliases), reply.counters, retried)


def read_node(request: v1.GetNodeRequest, reply: bytes, verify: bool) -> v1.GetNodeResponse:
    """A reply of GetNode, or an entry of one of GetNodes: BadReplyError, VerificationError."""
    payload, rest = raw.split(reply)
    node = v1.GetNodeResponse()
    _decode(rest, node)
    if not node.HasField("info"):
        raise BadReplyError("a node without its info")
    if verify:
        verify_node(request, node, payload)
    node.messages.extend(raw.messages_of(payload))
    return node


def read_nodes(request: v1.GetNodesRequest, reply: bytes, verify: bool) -> Found:
    """A reply of GetNodes, which must tell of the first ids in their order, and of one at least."""
    payload, rest = raw.split(reply)  # nodes have the number that messages have elsewhere
    told = v1.GetNodesResponse()
    _decode(rest, told)
    entries, absent, nodes = list(raw.each(payload)), list(told.missing_ids), []
    for asked in request.node_ids:
        if absent and absent[0] == asked:
            del absent[0]
            continue
        if not entries:
            break
        one = v1.GetNodeRequest(node=v1.NodeRef(node_id=asked), omit_messages=request.omit_messages)
        node = read_node(one, raw.body(entries.pop(0)), verify)
        if node.info.node_id != asked:
            raise BadReplyError("the nodes are not those asked for")
        nodes.append(node)
    got = len(nodes) + len(told.missing_ids)
    if absent or entries or got == 0 or got + told.remaining != len(request.node_ids):
        raise BadReplyError("the nodes are not those asked for")
    return Found(nodes, list(told.missing_ids))


def _decode(part: bytes, into: Message) -> None:
    try:
        into.ParseFromString(part)
    except DecodeError as error:
        raise BadReplyError("the reply does not parse") from error
