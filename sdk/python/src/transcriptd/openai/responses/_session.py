"""The items of a session of the OpenAI Agents SDK, and the messages that they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ... import v1
from ._format import items_of
from ._parse import parse

if TYPE_CHECKING:
    from agents import TResponseInputItem


def popped(node: v1.GetNodeResponse) -> tuple[list[v1.Message], list[TResponseInputItem]]:
    """The items of the last message of a node that has some, and the node's messages without the last item."""
    rest, items = list(node.messages) if not node.info.envelope.covers_through_id else [], cast("list[TResponseInputItem]", [])
    while rest and not items:
        items = items_in([rest.pop()])
    return rest + messages_of(items[:-1]), items


def items_in(messages: Sequence[v1.Message]) -> list[TResponseInputItem]:
    """The items that messages are."""
    return cast("list[TResponseInputItem]", [item for message in messages for item in items_of(message)])


def messages_of(items: Sequence[TResponseInputItem]) -> list[v1.Message]:
    """The messages that items are."""
    return [message for item in items for message in parse([item])[0]]
