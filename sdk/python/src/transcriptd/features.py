"""Which features of a server a request needs, so that the refusal of an older one names them. docs/api.md lists the features."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.message import Message

from . import v1

_METHODS = {
    "Backup": "backup",
    "CollectGarbage": "collection",
    "Erase": "erase",
    "GetReceipts": "erase",
    "DeleteAliases": "delete_aliases",
    "DeleteNamespace": "delete_namespace",
    "GetNodes": "get_nodes",
    "PutArchivedNodes": "archived_nodes",
    "ListNamespaces": "namespaces",
    "Restore": "backup",
    "SetNamespace": "namespaces",
}
# By kind of message: its fields that are of a feature, and the feature.
_FIELDS: dict[type[Message], dict[str, str]] = {
    v1.AliasUpdate: {"delete": "alias_deletes"},
    v1.AliasMove: {"delete": "alias_deletes"},
    v1.ListAliasesRequest: {"order": "alias_order"},
    v1.AliasPrecondition: {"revision": "alias_revisions"},
    v1.DeleteAliasRequest: {"forget_history": "collection"},
    v1.DeleteAliasesRequest: {"forget_history": "collection"},
    v1.NamespaceSettings: {"retention": "retention"},
    v1.StreamAssembleRequest: dict.fromkeys(("last_messages", "last_bytes", "before"), "last_messages"),
    v1.MessageNote: dict.fromkeys(("model", "finish_reason", "input_tokens", "output_tokens", "cached_tokens", "attributes"), "note_costs"),
    v1.Part: {"opaque": "opaque_parts"},
    v1.Policy: {"preset": "presets"},
    v1.VerifyRequest: dict.fromkeys(("scope", "cursor", "max_bytes_per_second"), "verify_cursor"),
}


def needed(method: str, request: Message) -> set[str]:
    """The features that a request needs."""
    found = {_METHODS[method]} if method in _METHODS else set()
    for message in _messages(request):
        fields = _FIELDS.get(type(message), {})
        found.update(fields[field.name] for field, _ in message.ListFields() if field.name in fields)
    return found


def _messages(message: Message) -> Iterator[Message]:
    """A message and all that are within it."""
    yield message
    for _, value in message.ListFields():
        for one in _listed(value):
            if isinstance(one, Message):
                yield from _messages(one)


def _listed(value: Any) -> Iterable[Any]:
    """The values of a field, which may be a single one."""
    return [value] if isinstance(value, (Message, str, bytes, int, float)) else list(value)
