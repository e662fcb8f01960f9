"""The rules for what a client puts in a node. The server judges it, and more; an SDK judges what its converters made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Literal

from google.protobuf.message import Message as AnyMessage
from google.protobuf.unknown_fields import UnknownFieldSet

from . import v1
from ._json import MAX_EXTRAS_DEPTH, read_compactable, write
from .identity import encode_messages
from .messages import is_opaque

MAX_MESSAGE_BYTES: Final = 3 << 20
"""The most bytes of a message, encoded. A later server may have greater limits, not smaller ones."""
MAX_PAYLOAD_BYTES: Final = (4 << 20) - (128 << 10)
"""The most bytes of a node's messages, encoded."""
MAX_MESSAGES: Final = 1000
"""The most messages of a node."""
MAX_CALLS: Final = 256
"""The most tool calls of a message."""
MAX_CALL_ID_BYTES: Final = 1 << 10
"""The most bytes of the id of a call."""
MAX_NAME_BYTES: Final = 1 << 10
"""The most bytes of the name of a tool or of a speaker."""
MAX_OPAQUE_TYPE_BYTES: Final = 256
"""The most bytes of the type of an opaque part; the least is 1."""
MAX_OPAQUE_BYTES: Final = 1 << 20
"""The most bytes of the data of an opaque part."""
MAX_METADATA_ENTRIES: Final = 64
"""The most metadata entries of a node."""
MAX_METADATA_KEY_BYTES: Final = 256
"""The most bytes of a metadata key; the least is 1."""
MAX_METADATA_VALUE_BYTES: Final = 4 << 10
"""The most bytes of a metadata value."""

Refusal = Literal["invalid", "limit", "malformed"]
"""Why something is refused: it breaks a rule, is over a limit, or has fields that are not known."""

_ID = re.compile("[0-9a-f]{64}")
_RESERVED = ("run/", "var/", "varinfo/", "spawn/", "transcriptd/")
_WORDS = {"run/end": ("replied", "stopped", "failed", "cancelled"), "spawn/inherits": ("none", "arguments", "prefix")}


class FieldError(ValueError):
    """Which field breaks which rule; never its value."""

    def __init__(self, field: str, rule: str, kind: Refusal = "invalid") -> None:
        super().__init__(f"{field}: {rule}" if field else rule)
        self.field = field
        """The field's path: `messages[3].parts[0].tool_call.id`."""
        self.rule = rule
        """What must hold: `must be at most 1024 bytes`."""
        self.kind = kind


def check_node(
    messages: Sequence[v1.Message],
    metadata: Sequence[v1.MetadataEntry] = (),
    salt: bytes = b"",
    spawned_from: v1.SpawnedFromRef | None = None,
) -> None:
    """Judges what a client puts in one node, as servers of this version do; the values of metadata varinfo/NAME the server alone judges.

    FieldError, whose path begins messages, metadata, salt or spawned_from.
    """
    if not messages and not metadata:
        raise FieldError("messages", "must not be empty without metadata")
    check_messages(messages)
    _metadata(metadata)
    if salt and not 16 <= len(salt) <= 32:
        raise FieldError("salt", "must be empty or 16 to 32 bytes")
    if spawned_from is not None:
        _known(spawned_from, "spawned_from")
        if not _ID.fullmatch(spawned_from.node_id):
            raise FieldError("spawned_from.node_id", "must be 64 lower-case hex digits")
        _short(spawned_from, "tool_call_id", MAX_CALL_ID_BYTES, "spawned_from")


def check_messages(messages: Sequence[v1.Message]) -> None:
    """Judges the messages of a node: 1,000 at most. FieldError, whose path begins messages."""
    if len(messages) > MAX_MESSAGES:
        raise FieldError("messages", f"must be at most {MAX_MESSAGES}", "limit")
    total = 0
    for i, message in enumerate(messages):
        check_message(message, f"messages[{i}]")
        total += len(encode_messages([message]))
    if total > MAX_PAYLOAD_BYTES:
        raise FieldError("messages", f"must together be at most {MAX_PAYLOAD_BYTES} bytes in canonical encoding", "limit")


def check_message(message: v1.Message, path: str) -> None:
    """Judges one message. FieldError, whose path begins with path."""
    at = f"{path}." if path else ""
    _known(message, path)
    _enums(message, at)
    if message.role != v1.ROLE_TOOL:
        _refuse(message.HasField("tool_call_id"), f"{at}tool_call_id", "must be set on TOOL messages only")
        _refuse(message.is_error, f"{at}is_error", "must be set on TOOL messages only")
    _short(message, "tool_call_id", MAX_CALL_ID_BYTES, path)
    _short(message, "name", MAX_NAME_BYTES, path)
    _parts(message, at)
    _alone(message, at)
    _content_form(message, f"{at}content_form")
    _extras(f"{at}extras", message.extras)
    if message.ByteSize() > MAX_MESSAGE_BYTES:
        raise FieldError(path, f"must be at most {MAX_MESSAGE_BYTES} bytes in canonical encoding", "limit")


def _refuse(broken: bool, field: str, rule: str) -> None:
    if broken:
        raise FieldError(field, rule)


def _known(message: AnyMessage, path: str) -> None:
    if len(UnknownFieldSet(message)):
        raise FieldError(path, "must not have fields that are not known", "malformed")


def _short(message: AnyMessage, field: str, limit: int, path: str) -> None:
    """Judges a text of limited length, which may be absent."""
    if len(getattr(message, field).encode()) > limit:
        raise FieldError(f"{path}.{field}" if path else field, f"must be at most {limit} bytes", "limit")


def _enums(message: v1.Message, at: str) -> None:
    _refuse(message.role == v1.ROLE_UNSPECIFIED, f"{at}role", "must be set")
    declared: tuple[tuple[str, int, Any], ...] = (
        ("role", message.role, v1.Role),
        ("state", message.state, v1.MessageState),
        ("content_form", message.content_form, v1.ContentForm),
        ("origin", message.origin, v1.Origin),
    )
    for field, value, kind in declared:
        _refuse(value not in kind.values(), at + field, "must be a declared value")
    _refuse(message.origin != v1.ORIGIN_UNSPECIFIED, f"{at}origin", "must not be set: it is the server's")


def _parts(message: v1.Message, at: str) -> None:
    calls = 0
    for i, part in enumerate(message.parts):
        path = f"{at}parts[{i}]"
        _part(part, path)
        if part.WhichOneof("kind") == "tool_call":
            _refuse(message.role != v1.ROLE_ASSISTANT, f"{path}.tool_call", "must be on ASSISTANT messages only")
            calls += 1
    if calls > MAX_CALLS:
        raise FieldError(f"{at}parts", f"must hold at most {MAX_CALLS} tool calls", "limit")


def _part(part: v1.Part, path: str) -> None:
    _known(part, path)
    kind = part.WhichOneof("kind")
    if kind is None:
        raise FieldError(path, "must have a kind")
    if kind not in ("text", "json"):
        inner, within = getattr(part, kind), f"{path}.{kind}"
        _known(inner, within)
        if judge := _KINDS.get(kind):
            judge(inner, within)
    _extras(f"{path}.extras", part.extras)


def _media(media: v1.Media, path: str) -> None:
    rule = "must not be set where ServerInfo does not list the feature blobs: use inline or uri"
    _refuse(media.WhichOneof("source") == "blob_digest", f"{path}.blob_digest", rule)


def _tool_call(call: v1.ToolCall, path: str) -> None:
    _short(call, "id", MAX_CALL_ID_BYTES, path)
    _short(call, "name", MAX_NAME_BYTES, path)


def _opaque(state: v1.Opaque, path: str) -> None:
    _refuse(not state.type, f"{path}.type", "must not be empty")
    _short(state, "type", MAX_OPAQUE_TYPE_BYTES, path)
    if len(state.data) > MAX_OPAQUE_BYTES:
        raise FieldError(f"{path}.data", f"must be at most {MAX_OPAQUE_BYTES} bytes", "limit")


_KINDS: dict[str, Callable[[Any, str], None]] = {"media": _media, "tool_call": _tool_call, "opaque": _opaque}


def _alone(message: v1.Message, at: str) -> None:
    """Judges a message with an opaque part: it has a role other than TOOL, that part, and nothing else."""
    place = next((i for i, part in enumerate(message.parts) if part.WhichOneof("kind") == "opaque"), -1)
    if place < 0:
        return
    field = f"{at}parts[{place}].opaque"
    _refuse(not is_opaque(message), field, "must be the only part of its message")
    _refuse(message.role == v1.ROLE_TOOL, field, "must not be on TOOL messages")
    for name, is_set in (
        ("parts[0].extras", bool(message.parts[0].extras)),
        ("name", message.HasField("name")),
        ("state", bool(message.state)),
        ("content_form", bool(message.content_form)),
        ("joined", message.joined),
        ("extras", bool(message.extras)),
    ):
        _refuse(is_set, at + name, "must not be set on an opaque message")


def _content_form(message: v1.Message, field: str) -> None:
    """Refuses a form that the parts imply. Calls and reasoning aside, no part implies null, exactly one text part without extras a string,
    anything else a list."""
    if message.content_form == v1.CONTENT_FORM_UNSPECIFIED:
        return
    content = [part for part in message.parts if part.WhichOneof("kind") not in ("tool_call", "reasoning")]
    single = len(content) == 1 and content[0].WhichOneof("kind") == "text" and not content[0].extras
    implied = message.content_form == v1.CONTENT_FORM_PARTS and bool(content) and not single
    _refuse(implied, field, "must not be PARTS where the parts imply a list")
    absent = message.content_form == v1.CONTENT_FORM_ABSENT
    _refuse(absent and bool(content), field, "must not be ABSENT where there is content")


def _extras(field: str, text: str) -> None:
    """Judges extras: empty, or an object with a member in the compact form."""
    if not text:
        return
    value = read_compactable(text) if text.startswith("{") else None
    if value is None:
        raise FieldError(field, f"must be a JSON object in compact form, at most {MAX_EXTRAS_DEPTH} deep, or empty")
    _refuse(write(value) != text, field, "must be a JSON object in compact form, strings escaped as JSON.stringify does")
    _refuse(not value.members, field, "must not be an empty object")


def _metadata(entries: Sequence[v1.MetadataEntry]) -> None:
    if len(entries) > MAX_METADATA_ENTRIES:
        raise FieldError("metadata", f"must have at most {MAX_METADATA_ENTRIES} entries", "limit")
    seen: set[str] = set()
    for i, entry in enumerate(entries):
        path = f"metadata[{i}]"
        _known(entry, path)
        _refuse(not entry.key, f"{path}.key", "must not be empty")
        _short(entry, "key", MAX_METADATA_KEY_BYTES, path)
        _short(entry, "value", MAX_METADATA_VALUE_BYTES, path)
        _refuse(entry.key in seen, f"{path}.key", "must not stand twice")
        seen.add(entry.key)
    _reserved(entries)


def _reserved(entries: Iterable[v1.MetadataEntry]) -> None:
    """Judges the entries that the service gives a meaning, or may give one later."""
    for i, entry in enumerate(entries):
        path, key = f"metadata[{i}]", entry.key
        words = _WORDS.get(key)
        variable = any(key.startswith(prefix) and key != prefix for prefix in ("var/", "varinfo/"))
        if key.startswith(_RESERVED) and words is None and not variable:
            unless = "unless it is run/end, var/NAME, varinfo/NAME or spawn/inherits"
            raise FieldError(f"{path}.key", f"must not begin with {', '.join(_RESERVED)}, {unless}")
        if words is not None and entry.value not in words:
            raise FieldError(f"{path}.value", f"of {key} must be {', '.join(words[:-1])} or {words[-1]}")


def in_nodes(messages: Sequence[v1.Message]) -> Iterator[Sequence[v1.Message]]:
    """Messages in as few nodes as hold them."""
    start = size = 0
    for i, message in enumerate(messages):
        own = message.ByteSize() + 16
        if i > start and (i - start == MAX_MESSAGES or size + own > MAX_PAYLOAD_BYTES):
            yield messages[start:i]
            start, size = i, 0
        size += own
    if messages:
        yield messages[start:]
