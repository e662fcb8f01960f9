from . import message_pb2 as _message_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Payload(_message.Message):
    __slots__ = ("messages",)
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ...) -> None: ...

class Metadata(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[MetadataEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[MetadataEntry, _Mapping]]] = ...) -> None: ...

class MetadataEntry(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class SpawnedFrom(_message.Message):
    __slots__ = ("node", "tool_call_id")
    NODE_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    node: bytes
    tool_call_id: str
    def __init__(self, node: _Optional[bytes] = ..., tool_call_id: _Optional[str] = ...) -> None: ...

class NodeEnvelope(_message.Message):
    __slots__ = ("payload_digest", "parent", "metadata_digest", "covers_through", "spawned_from")
    PAYLOAD_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    METADATA_DIGEST_FIELD_NUMBER: _ClassVar[int]
    COVERS_THROUGH_FIELD_NUMBER: _ClassVar[int]
    SPAWNED_FROM_FIELD_NUMBER: _ClassVar[int]
    payload_digest: bytes
    parent: bytes
    metadata_digest: bytes
    covers_through: bytes
    spawned_from: SpawnedFrom
    def __init__(self, payload_digest: _Optional[bytes] = ..., parent: _Optional[bytes] = ..., metadata_digest: _Optional[bytes] = ..., covers_through: _Optional[bytes] = ..., spawned_from: _Optional[_Union[SpawnedFrom, _Mapping]] = ...) -> None: ...
