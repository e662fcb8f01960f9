import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from . import admin_service_pb2 as _admin_service_pb2
from . import transcript_service_pb2 as _transcript_service_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ArchiveKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ARCHIVE_KIND_UNSPECIFIED: _ClassVar[ArchiveKind]
    ARCHIVE_KIND_BACKUP: _ClassVar[ArchiveKind]
    ARCHIVE_KIND_BUNDLE: _ClassVar[ArchiveKind]
ARCHIVE_KIND_UNSPECIFIED: ArchiveKind
ARCHIVE_KIND_BACKUP: ArchiveKind
ARCHIVE_KIND_BUNDLE: ArchiveKind

class ArchiveRecord(_message.Message):
    __slots__ = ("header", "namespace", "node", "alias", "point", "end", "receipt")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    POINT_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    header: ArchiveHeader
    namespace: _admin_service_pb2.ArchiveNamespace
    node: _transcript_service_pb2.ArchivedNode
    alias: _admin_service_pb2.ArchiveAlias
    point: ArchivePoint
    end: ArchiveEnd
    receipt: bytes
    def __init__(self, header: _Optional[_Union[ArchiveHeader, _Mapping]] = ..., namespace: _Optional[_Union[_admin_service_pb2.ArchiveNamespace, _Mapping]] = ..., node: _Optional[_Union[_transcript_service_pb2.ArchivedNode, _Mapping]] = ..., alias: _Optional[_Union[_admin_service_pb2.ArchiveAlias, _Mapping]] = ..., point: _Optional[_Union[ArchivePoint, _Mapping]] = ..., end: _Optional[_Union[ArchiveEnd, _Mapping]] = ..., receipt: _Optional[bytes] = ...) -> None: ...

class ArchiveHeader(_message.Message):
    __slots__ = ("kind", "required_features", "store_id", "made_by", "made_at", "since", "continues", "heads", "known", "last_namespace")
    KIND_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FEATURES_FIELD_NUMBER: _ClassVar[int]
    STORE_ID_FIELD_NUMBER: _ClassVar[int]
    MADE_BY_FIELD_NUMBER: _ClassVar[int]
    MADE_AT_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    CONTINUES_FIELD_NUMBER: _ClassVar[int]
    HEADS_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    LAST_NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    kind: ArchiveKind
    required_features: _containers.RepeatedScalarFieldContainer[str]
    store_id: str
    made_by: str
    made_at: _timestamp_pb2.Timestamp
    since: bytes
    continues: bytes
    heads: _containers.RepeatedScalarFieldContainer[bytes]
    known: _containers.RepeatedScalarFieldContainer[bytes]
    last_namespace: int
    def __init__(self, kind: _Optional[_Union[ArchiveKind, str]] = ..., required_features: _Optional[_Iterable[str]] = ..., store_id: _Optional[str] = ..., made_by: _Optional[str] = ..., made_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., since: _Optional[bytes] = ..., continues: _Optional[bytes] = ..., heads: _Optional[_Iterable[bytes]] = ..., known: _Optional[_Iterable[bytes]] = ..., last_namespace: _Optional[int] = ...) -> None: ...

class ArchivePoint(_message.Message):
    __slots__ = ("cursor",)
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    cursor: bytes
    def __init__(self, cursor: _Optional[bytes] = ...) -> None: ...

class ArchiveEnd(_message.Message):
    __slots__ = ("namespaces", "nodes", "messages", "message_bytes", "aliases", "digest", "cursor")
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    namespaces: int
    nodes: int
    messages: int
    message_bytes: int
    aliases: int
    digest: bytes
    cursor: bytes
    def __init__(self, namespaces: _Optional[int] = ..., nodes: _Optional[int] = ..., messages: _Optional[int] = ..., message_bytes: _Optional[int] = ..., aliases: _Optional[int] = ..., digest: _Optional[bytes] = ..., cursor: _Optional[bytes] = ...) -> None: ...
