import datetime

from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SharedRoots(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SHARED_ROOTS_UNSPECIFIED: _ClassVar[SharedRoots]
    SHARED_ROOTS_KEEP: _ClassVar[SharedRoots]
    SHARED_ROOTS_ERASE: _ClassVar[SharedRoots]

class ErasePhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERASE_PHASE_UNSPECIFIED: _ClassVar[ErasePhase]
    ERASE_PHASE_SELECTING: _ClassVar[ErasePhase]
    ERASE_PHASE_ERASING: _ClassVar[ErasePhase]
    ERASE_PHASE_PURGING: _ClassVar[ErasePhase]

class EraseCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERASE_CAUSE_UNSPECIFIED: _ClassVar[EraseCause]
    ERASE_CAUSE_SELECTED: _ClassVar[EraseCause]
    ERASE_CAUSE_COPIES: _ClassVar[EraseCause]
SHARED_ROOTS_UNSPECIFIED: SharedRoots
SHARED_ROOTS_KEEP: SharedRoots
SHARED_ROOTS_ERASE: SharedRoots
ERASE_PHASE_UNSPECIFIED: ErasePhase
ERASE_PHASE_SELECTING: ErasePhase
ERASE_PHASE_ERASING: ErasePhase
ERASE_PHASE_PURGING: ErasePhase
ERASE_CAUSE_UNSPECIFIED: EraseCause
ERASE_CAUSE_SELECTED: EraseCause
ERASE_CAUSE_COPIES: EraseCause

class EraseRequest(_message.Message):
    __slots__ = ("namespace", "nodes", "alias_prefix", "metadata", "attribute", "dry_run", "shared_roots", "reference", "wait_for_files")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    ALIAS_PREFIX_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    SHARED_ROOTS_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_FILES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    nodes: NodeSelector
    alias_prefix: str
    metadata: EntrySelector
    attribute: EntrySelector
    dry_run: bool
    shared_roots: SharedRoots
    reference: str
    wait_for_files: bool
    def __init__(self, namespace: _Optional[str] = ..., nodes: _Optional[_Union[NodeSelector, _Mapping]] = ..., alias_prefix: _Optional[str] = ..., metadata: _Optional[_Union[EntrySelector, _Mapping]] = ..., attribute: _Optional[_Union[EntrySelector, _Mapping]] = ..., dry_run: bool = ..., shared_roots: _Optional[_Union[SharedRoots, str]] = ..., reference: _Optional[str] = ..., wait_for_files: bool = ...) -> None: ...

class NodeSelector(_message.Message):
    __slots__ = ("ids",)
    IDS_FIELD_NUMBER: _ClassVar[int]
    ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, ids: _Optional[_Iterable[str]] = ...) -> None: ...

class EntrySelector(_message.Message):
    __slots__ = ("key", "value")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class EraseResponse(_message.Message):
    __slots__ = ("phase", "nodes_looked_at", "nodes_selected", "nodes_erased", "messages", "message_bytes", "compactions", "already_erased", "shared_roots_kept", "nodes_in_files", "nodes", "aliases", "spawned_node_ids", "more_spawned", "done", "labels_erased")
    PHASE_FIELD_NUMBER: _ClassVar[int]
    NODES_LOOKED_AT_FIELD_NUMBER: _ClassVar[int]
    NODES_SELECTED_FIELD_NUMBER: _ClassVar[int]
    NODES_ERASED_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    COMPACTIONS_FIELD_NUMBER: _ClassVar[int]
    ALREADY_ERASED_FIELD_NUMBER: _ClassVar[int]
    SHARED_ROOTS_KEPT_FIELD_NUMBER: _ClassVar[int]
    NODES_IN_FILES_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    SPAWNED_NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    MORE_SPAWNED_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    LABELS_ERASED_FIELD_NUMBER: _ClassVar[int]
    phase: ErasePhase
    nodes_looked_at: int
    nodes_selected: int
    nodes_erased: int
    messages: int
    message_bytes: int
    compactions: int
    already_erased: int
    shared_roots_kept: int
    nodes_in_files: int
    nodes: _containers.RepeatedCompositeFieldContainer[ErasedNode]
    aliases: _containers.RepeatedCompositeFieldContainer[ReachingAlias]
    spawned_node_ids: _containers.RepeatedScalarFieldContainer[str]
    more_spawned: bool
    done: bool
    labels_erased: int
    def __init__(self, phase: _Optional[_Union[ErasePhase, str]] = ..., nodes_looked_at: _Optional[int] = ..., nodes_selected: _Optional[int] = ..., nodes_erased: _Optional[int] = ..., messages: _Optional[int] = ..., message_bytes: _Optional[int] = ..., compactions: _Optional[int] = ..., already_erased: _Optional[int] = ..., shared_roots_kept: _Optional[int] = ..., nodes_in_files: _Optional[int] = ..., nodes: _Optional[_Iterable[_Union[ErasedNode, _Mapping]]] = ..., aliases: _Optional[_Iterable[_Union[ReachingAlias, _Mapping]]] = ..., spawned_node_ids: _Optional[_Iterable[str]] = ..., more_spawned: bool = ..., done: bool = ..., labels_erased: _Optional[int] = ...) -> None: ...

class ErasedNode(_message.Message):
    __slots__ = ("node_id", "messages", "message_bytes", "root", "salted", "cause", "already_erased", "forked")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    ROOT_FIELD_NUMBER: _ClassVar[int]
    SALTED_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    ALREADY_ERASED_FIELD_NUMBER: _ClassVar[int]
    FORKED_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    messages: int
    message_bytes: int
    root: bool
    salted: bool
    cause: EraseCause
    already_erased: bool
    forked: bool
    def __init__(self, node_id: _Optional[str] = ..., messages: _Optional[int] = ..., message_bytes: _Optional[int] = ..., root: bool = ..., salted: bool = ..., cause: _Optional[_Union[EraseCause, str]] = ..., already_erased: bool = ..., forked: bool = ...) -> None: ...

class ReachingAlias(_message.Message):
    __slots__ = ("name", "of_prefix", "past_only", "deleted")
    NAME_FIELD_NUMBER: _ClassVar[int]
    OF_PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAST_ONLY_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    name: str
    of_prefix: bool
    past_only: bool
    deleted: bool
    def __init__(self, name: _Optional[str] = ..., of_prefix: bool = ..., past_only: bool = ..., deleted: bool = ...) -> None: ...

class ErasureReceipt(_message.Message):
    __slots__ = ("store_id", "namespace", "node_id", "erased_at", "reference")
    STORE_ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ERASED_AT_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    store_id: str
    namespace: str
    node_id: bytes
    erased_at: _timestamp_pb2.Timestamp
    reference: str
    def __init__(self, store_id: _Optional[str] = ..., namespace: _Optional[str] = ..., node_id: _Optional[bytes] = ..., erased_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reference: _Optional[str] = ...) -> None: ...

class SignedReceipt(_message.Message):
    __slots__ = ("receipt", "signature", "public_key")
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    receipt: bytes
    signature: bytes
    public_key: bytes
    def __init__(self, receipt: _Optional[bytes] = ..., signature: _Optional[bytes] = ..., public_key: _Optional[bytes] = ...) -> None: ...

class GetReceiptsRequest(_message.Message):
    __slots__ = ("namespace", "node_ids")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, namespace: _Optional[str] = ..., node_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class GetReceiptsResponse(_message.Message):
    __slots__ = ("receipts",)
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    receipts: _containers.RepeatedCompositeFieldContainer[NodeReceipt]
    def __init__(self, receipts: _Optional[_Iterable[_Union[NodeReceipt, _Mapping]]] = ...) -> None: ...

class NodeReceipt(_message.Message):
    __slots__ = ("node_id", "receipt", "purged_at")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    PURGED_AT_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    receipt: SignedReceipt
    purged_at: _timestamp_pb2.Timestamp
    def __init__(self, node_id: _Optional[str] = ..., receipt: _Optional[_Union[SignedReceipt, _Mapping]] = ..., purged_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
