import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from . import message_pb2 as _message_pb2
from . import node_pb2 as _node_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SortOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SORT_ORDER_UNSPECIFIED: _ClassVar[SortOrder]
    SORT_ORDER_ASCENDING: _ClassVar[SortOrder]
    SORT_ORDER_DESCENDING: _ClassVar[SortOrder]

class View(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VIEW_UNSPECIFIED: _ClassVar[View]
    VIEW_FULL: _ClassVar[View]
    VIEW_EFFECTIVE: _ClassVar[View]
    VIEW_CONVERSATION: _ClassVar[View]

class ToolTrace(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_TRACE_UNSPECIFIED: _ClassVar[ToolTrace]
    TOOL_TRACE_DROP: _ClassVar[ToolTrace]
    TOOL_TRACE_REQUESTS: _ClassVar[ToolTrace]

class Preset(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRESET_UNSPECIFIED: _ClassVar[Preset]
    PRESET_UNBOUNDED: _ClassVar[Preset]
    PRESET_CHAT: _ClassVar[Preset]
    PRESET_CODING: _ClassVar[Preset]
    PRESET_LONG: _ClassVar[Preset]
    PRESET_FRUGAL: _ClassVar[Preset]

class NodeDetail(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NODE_DETAIL_UNSPECIFIED: _ClassVar[NodeDetail]
    NODE_DETAIL_IDS: _ClassVar[NodeDetail]
    NODE_DETAIL_ENVELOPES: _ClassVar[NodeDetail]

class NodeContent(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NODE_CONTENT_UNSPECIFIED: _ClassVar[NodeContent]
    NODE_CONTENT_VERBATIM: _ClassVar[NodeContent]
    NODE_CONTENT_MADE: _ClassVar[NodeContent]
    NODE_CONTENT_ERASED: _ClassVar[NodeContent]

class FindingKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FINDING_KIND_UNSPECIFIED: _ClassVar[FindingKind]
    FINDING_KIND_DUPLICATE_RESULT: _ClassVar[FindingKind]
    FINDING_KIND_LATE_RESULT: _ClassVar[FindingKind]
    FINDING_KIND_ORPHAN_RESULT: _ClassVar[FindingKind]
    FINDING_KIND_UNANSWERED_CALL: _ClassVar[FindingKind]
    FINDING_KIND_DUPLICATE_CALL_ID: _ClassVar[FindingKind]
    FINDING_KIND_INTERRUPTED_LOOP: _ClassVar[FindingKind]
    FINDING_KIND_LEAD_IN: _ClassVar[FindingKind]
    FINDING_KIND_ERASED: _ClassVar[FindingKind]

class LoopPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOOP_PHASE_UNSPECIFIED: _ClassVar[LoopPhase]
    LOOP_PHASE_ASKED: _ClassVar[LoopPhase]
    LOOP_PHASE_WORKING: _ClassVar[LoopPhase]
    LOOP_PHASE_ENDED: _ClassVar[LoopPhase]

class NotWrittenReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NOT_WRITTEN_REASON_UNSPECIFIED: _ClassVar[NotWrittenReason]
    NOT_WRITTEN_REASON_NOTHING_SHRINKS: _ClassVar[NotWrittenReason]

class RunLoopState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_LOOP_STATE_UNSPECIFIED: _ClassVar[RunLoopState]
    RUN_LOOP_STATE_OPEN: _ClassVar[RunLoopState]
    RUN_LOOP_STATE_CLOSED: _ClassVar[RunLoopState]
    RUN_LOOP_STATE_INTERRUPTED: _ClassVar[RunLoopState]

class RunOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUN_OUTCOME_UNSPECIFIED: _ClassVar[RunOutcome]
    RUN_OUTCOME_REPLIED: _ClassVar[RunOutcome]
    RUN_OUTCOME_STOPPED: _ClassVar[RunOutcome]
    RUN_OUTCOME_FAILED: _ClassVar[RunOutcome]
    RUN_OUTCOME_CANCELLED: _ClassVar[RunOutcome]

class ToolCallState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_CALL_STATE_UNSPECIFIED: _ClassVar[ToolCallState]
    TOOL_CALL_STATE_OK: _ClassVar[ToolCallState]
    TOOL_CALL_STATE_ERROR: _ClassVar[ToolCallState]
    TOOL_CALL_STATE_UNANSWERED: _ClassVar[ToolCallState]

class SearchField(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SEARCH_FIELD_UNSPECIFIED: _ClassVar[SearchField]
    SEARCH_FIELD_TEXT: _ClassVar[SearchField]
    SEARCH_FIELD_REASONING: _ClassVar[SearchField]
    SEARCH_FIELD_JSON: _ClassVar[SearchField]
    SEARCH_FIELD_TOOL_NAME: _ClassVar[SearchField]
    SEARCH_FIELD_ARGUMENTS: _ClassVar[SearchField]

class DescribeMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DESCRIBE_MODE_UNSPECIFIED: _ClassVar[DescribeMode]
    DESCRIBE_MODE_OFF: _ClassVar[DescribeMode]
    DESCRIBE_MODE_METADATA: _ClassVar[DescribeMode]
    DESCRIBE_MODE_PREVIEW: _ClassVar[DescribeMode]

class Inheritance(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    INHERITANCE_UNSPECIFIED: _ClassVar[Inheritance]
    INHERITANCE_NONE: _ClassVar[Inheritance]
    INHERITANCE_ARGUMENTS: _ClassVar[Inheritance]
    INHERITANCE_PREFIX: _ClassVar[Inheritance]
SORT_ORDER_UNSPECIFIED: SortOrder
SORT_ORDER_ASCENDING: SortOrder
SORT_ORDER_DESCENDING: SortOrder
VIEW_UNSPECIFIED: View
VIEW_FULL: View
VIEW_EFFECTIVE: View
VIEW_CONVERSATION: View
TOOL_TRACE_UNSPECIFIED: ToolTrace
TOOL_TRACE_DROP: ToolTrace
TOOL_TRACE_REQUESTS: ToolTrace
PRESET_UNSPECIFIED: Preset
PRESET_UNBOUNDED: Preset
PRESET_CHAT: Preset
PRESET_CODING: Preset
PRESET_LONG: Preset
PRESET_FRUGAL: Preset
NODE_DETAIL_UNSPECIFIED: NodeDetail
NODE_DETAIL_IDS: NodeDetail
NODE_DETAIL_ENVELOPES: NodeDetail
NODE_CONTENT_UNSPECIFIED: NodeContent
NODE_CONTENT_VERBATIM: NodeContent
NODE_CONTENT_MADE: NodeContent
NODE_CONTENT_ERASED: NodeContent
FINDING_KIND_UNSPECIFIED: FindingKind
FINDING_KIND_DUPLICATE_RESULT: FindingKind
FINDING_KIND_LATE_RESULT: FindingKind
FINDING_KIND_ORPHAN_RESULT: FindingKind
FINDING_KIND_UNANSWERED_CALL: FindingKind
FINDING_KIND_DUPLICATE_CALL_ID: FindingKind
FINDING_KIND_INTERRUPTED_LOOP: FindingKind
FINDING_KIND_LEAD_IN: FindingKind
FINDING_KIND_ERASED: FindingKind
LOOP_PHASE_UNSPECIFIED: LoopPhase
LOOP_PHASE_ASKED: LoopPhase
LOOP_PHASE_WORKING: LoopPhase
LOOP_PHASE_ENDED: LoopPhase
NOT_WRITTEN_REASON_UNSPECIFIED: NotWrittenReason
NOT_WRITTEN_REASON_NOTHING_SHRINKS: NotWrittenReason
RUN_LOOP_STATE_UNSPECIFIED: RunLoopState
RUN_LOOP_STATE_OPEN: RunLoopState
RUN_LOOP_STATE_CLOSED: RunLoopState
RUN_LOOP_STATE_INTERRUPTED: RunLoopState
RUN_OUTCOME_UNSPECIFIED: RunOutcome
RUN_OUTCOME_REPLIED: RunOutcome
RUN_OUTCOME_STOPPED: RunOutcome
RUN_OUTCOME_FAILED: RunOutcome
RUN_OUTCOME_CANCELLED: RunOutcome
TOOL_CALL_STATE_UNSPECIFIED: ToolCallState
TOOL_CALL_STATE_OK: ToolCallState
TOOL_CALL_STATE_ERROR: ToolCallState
TOOL_CALL_STATE_UNANSWERED: ToolCallState
SEARCH_FIELD_UNSPECIFIED: SearchField
SEARCH_FIELD_TEXT: SearchField
SEARCH_FIELD_REASONING: SearchField
SEARCH_FIELD_JSON: SearchField
SEARCH_FIELD_TOOL_NAME: SearchField
SEARCH_FIELD_ARGUMENTS: SearchField
DESCRIBE_MODE_UNSPECIFIED: DescribeMode
DESCRIBE_MODE_OFF: DescribeMode
DESCRIBE_MODE_METADATA: DescribeMode
DESCRIBE_MODE_PREVIEW: DescribeMode
INHERITANCE_UNSPECIFIED: Inheritance
INHERITANCE_NONE: Inheritance
INHERITANCE_ARGUMENTS: Inheritance
INHERITANCE_PREFIX: Inheritance

class NodeRef(_message.Message):
    __slots__ = ("node_id", "alias")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    alias: str
    def __init__(self, node_id: _Optional[str] = ..., alias: _Optional[str] = ...) -> None: ...

class MessageNote(_message.Message):
    __slots__ = ("sent_at", "token_count", "token_count_estimated", "model", "finish_reason", "input_tokens", "output_tokens", "cached_tokens", "attributes")
    class AttributesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SENT_AT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    sent_at: _timestamp_pb2.Timestamp
    token_count: int
    token_count_estimated: bool
    model: str
    finish_reason: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    attributes: _containers.ScalarMap[str, str]
    def __init__(self, sent_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., token_count: _Optional[int] = ..., token_count_estimated: bool = ..., model: _Optional[str] = ..., finish_reason: _Optional[str] = ..., input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cached_tokens: _Optional[int] = ..., attributes: _Optional[_Mapping[str, str]] = ...) -> None: ...

class SpawnedFromRef(_message.Message):
    __slots__ = ("node_id", "tool_call_id")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    tool_call_id: str
    def __init__(self, node_id: _Optional[str] = ..., tool_call_id: _Optional[str] = ...) -> None: ...

class AliasPrecondition(_message.Message):
    __slots__ = ("must_not_exist", "must_exist", "head_id", "revision")
    MUST_NOT_EXIST_FIELD_NUMBER: _ClassVar[int]
    MUST_EXIST_FIELD_NUMBER: _ClassVar[int]
    HEAD_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    must_not_exist: bool
    must_exist: bool
    head_id: str
    revision: int
    def __init__(self, must_not_exist: bool = ..., must_exist: bool = ..., head_id: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class Labels(_message.Message):
    __slots__ = ("entries",)
    class EntriesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.ScalarMap[str, str]
    def __init__(self, entries: _Optional[_Mapping[str, str]] = ...) -> None: ...

class AliasUpdate(_message.Message):
    __slots__ = ("name", "precondition", "labels", "delete")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRECONDITION_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    name: str
    precondition: AliasPrecondition
    labels: Labels
    delete: bool
    def __init__(self, name: _Optional[str] = ..., precondition: _Optional[_Union[AliasPrecondition, _Mapping]] = ..., labels: _Optional[_Union[Labels, _Mapping]] = ..., delete: bool = ...) -> None: ...

class AliasResult(_message.Message):
    __slots__ = ("name", "changed", "previous_id", "revision", "revised")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    REVISED_FIELD_NUMBER: _ClassVar[int]
    name: str
    changed: bool
    previous_id: str
    revision: int
    revised: bool
    def __init__(self, name: _Optional[str] = ..., changed: bool = ..., previous_id: _Optional[str] = ..., revision: _Optional[int] = ..., revised: bool = ...) -> None: ...

class Counters(_message.Message):
    __slots__ = ("nodes", "messages", "depth", "run_loops", "bytes", "tokens", "tokens_estimated")
    NODES_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    RUN_LOOPS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    nodes: int
    messages: int
    depth: int
    run_loops: int
    bytes: int
    tokens: int
    tokens_estimated: bool
    def __init__(self, nodes: _Optional[int] = ..., messages: _Optional[int] = ..., depth: _Optional[int] = ..., run_loops: _Optional[int] = ..., bytes: _Optional[int] = ..., tokens: _Optional[int] = ..., tokens_estimated: bool = ...) -> None: ...

class ChainCounters(_message.Message):
    __slots__ = ("full", "effective")
    FULL_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_FIELD_NUMBER: _ClassVar[int]
    full: Counters
    effective: Counters
    def __init__(self, full: _Optional[_Union[Counters, _Mapping]] = ..., effective: _Optional[_Union[Counters, _Mapping]] = ...) -> None: ...

class PutNodeRequest(_message.Message):
    __slots__ = ("namespace", "parent", "messages", "notes", "metadata", "salt", "spawned_from", "aliases")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    SPAWNED_FROM_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    parent: NodeRef
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    notes: _containers.RepeatedCompositeFieldContainer[MessageNote]
    metadata: _containers.RepeatedCompositeFieldContainer[_node_pb2.MetadataEntry]
    salt: bytes
    spawned_from: SpawnedFromRef
    aliases: _containers.RepeatedCompositeFieldContainer[AliasUpdate]
    def __init__(self, namespace: _Optional[str] = ..., parent: _Optional[_Union[NodeRef, _Mapping]] = ..., messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., notes: _Optional[_Iterable[_Union[MessageNote, _Mapping]]] = ..., metadata: _Optional[_Iterable[_Union[_node_pb2.MetadataEntry, _Mapping]]] = ..., salt: _Optional[bytes] = ..., spawned_from: _Optional[_Union[SpawnedFromRef, _Mapping]] = ..., aliases: _Optional[_Iterable[_Union[AliasUpdate, _Mapping]]] = ...) -> None: ...

class PutNodeResponse(_message.Message):
    __slots__ = ("node_id", "created", "aliases", "counters")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    created: bool
    aliases: _containers.RepeatedCompositeFieldContainer[AliasResult]
    counters: ChainCounters
    def __init__(self, node_id: _Optional[str] = ..., created: bool = ..., aliases: _Optional[_Iterable[_Union[AliasResult, _Mapping]]] = ..., counters: _Optional[_Union[ChainCounters, _Mapping]] = ...) -> None: ...

class NewNode(_message.Message):
    __slots__ = ("parent", "previous", "messages", "notes", "metadata", "salt", "spawned_from", "aliases")
    PARENT_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    SPAWNED_FROM_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    parent: NodeRef
    previous: bool
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    notes: _containers.RepeatedCompositeFieldContainer[MessageNote]
    metadata: _containers.RepeatedCompositeFieldContainer[_node_pb2.MetadataEntry]
    salt: bytes
    spawned_from: SpawnedFromRef
    aliases: _containers.RepeatedCompositeFieldContainer[AliasUpdate]
    def __init__(self, parent: _Optional[_Union[NodeRef, _Mapping]] = ..., previous: bool = ..., messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., notes: _Optional[_Iterable[_Union[MessageNote, _Mapping]]] = ..., metadata: _Optional[_Iterable[_Union[_node_pb2.MetadataEntry, _Mapping]]] = ..., salt: _Optional[bytes] = ..., spawned_from: _Optional[_Union[SpawnedFromRef, _Mapping]] = ..., aliases: _Optional[_Iterable[_Union[AliasUpdate, _Mapping]]] = ...) -> None: ...

class PutNodesRequest(_message.Message):
    __slots__ = ("namespace", "nodes")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    nodes: _containers.RepeatedCompositeFieldContainer[NewNode]
    def __init__(self, namespace: _Optional[str] = ..., nodes: _Optional[_Iterable[_Union[NewNode, _Mapping]]] = ...) -> None: ...

class PutNodesResponse(_message.Message):
    __slots__ = ("nodes",)
    NODES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[PutNodeResponse]
    def __init__(self, nodes: _Optional[_Iterable[_Union[PutNodeResponse, _Mapping]]] = ...) -> None: ...

class PutArchivedNodesRequest(_message.Message):
    __slots__ = ("namespace", "nodes")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    nodes: _containers.RepeatedCompositeFieldContainer[ArchivedNode]
    def __init__(self, namespace: _Optional[str] = ..., nodes: _Optional[_Iterable[_Union[ArchivedNode, _Mapping]]] = ...) -> None: ...

class ArchivedNode(_message.Message):
    __slots__ = ("envelope", "payload", "metadata", "salt", "first_put_at", "notes", "copies", "erasure")
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    FIRST_PUT_AT_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    COPIES_FIELD_NUMBER: _ClassVar[int]
    ERASURE_FIELD_NUMBER: _ClassVar[int]
    envelope: bytes
    payload: bytes
    metadata: bytes
    salt: bytes
    first_put_at: _timestamp_pb2.Timestamp
    notes: _containers.RepeatedCompositeFieldContainer[MessageNote]
    copies: CompactionCopies
    erasure: ArchivedErasure
    def __init__(self, envelope: _Optional[bytes] = ..., payload: _Optional[bytes] = ..., metadata: _Optional[bytes] = ..., salt: _Optional[bytes] = ..., first_put_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., notes: _Optional[_Iterable[_Union[MessageNote, _Mapping]]] = ..., copies: _Optional[_Union[CompactionCopies, _Mapping]] = ..., erasure: _Optional[_Union[ArchivedErasure, _Mapping]] = ...) -> None: ...

class ArchivedErasure(_message.Message):
    __slots__ = ("message_bytes", "metadata_bytes", "variables", "outcome", "receipt")
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    METADATA_BYTES_FIELD_NUMBER: _ClassVar[int]
    VARIABLES_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_FIELD_NUMBER: _ClassVar[int]
    message_bytes: _containers.RepeatedScalarFieldContainer[int]
    metadata_bytes: int
    variables: _containers.RepeatedCompositeFieldContainer[ErasedVariable]
    outcome: RunOutcome
    receipt: bytes
    def __init__(self, message_bytes: _Optional[_Iterable[int]] = ..., metadata_bytes: _Optional[int] = ..., variables: _Optional[_Iterable[_Union[ErasedVariable, _Mapping]]] = ..., outcome: _Optional[_Union[RunOutcome, str]] = ..., receipt: _Optional[bytes] = ...) -> None: ...

class ErasedVariable(_message.Message):
    __slots__ = ("name", "declared", "unset")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DECLARED_FIELD_NUMBER: _ClassVar[int]
    UNSET_FIELD_NUMBER: _ClassVar[int]
    name: str
    declared: bool
    unset: bool
    def __init__(self, name: _Optional[str] = ..., declared: bool = ..., unset: bool = ...) -> None: ...

class PutArchivedNodesResponse(_message.Message):
    __slots__ = ("nodes",)
    NODES_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[PutNodeResponse]
    def __init__(self, nodes: _Optional[_Iterable[_Union[PutNodeResponse, _Mapping]]] = ...) -> None: ...

class AliasMove(_message.Message):
    __slots__ = ("name", "target", "precondition", "labels", "delete")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    PRECONDITION_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    name: str
    target: NodeRef
    precondition: AliasPrecondition
    labels: Labels
    delete: bool
    def __init__(self, name: _Optional[str] = ..., target: _Optional[_Union[NodeRef, _Mapping]] = ..., precondition: _Optional[_Union[AliasPrecondition, _Mapping]] = ..., labels: _Optional[_Union[Labels, _Mapping]] = ..., delete: bool = ...) -> None: ...

class AliasRequest(_message.Message):
    __slots__ = ("namespace", "aliases")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    aliases: _containers.RepeatedCompositeFieldContainer[AliasMove]
    def __init__(self, namespace: _Optional[str] = ..., aliases: _Optional[_Iterable[_Union[AliasMove, _Mapping]]] = ...) -> None: ...

class AliasResponse(_message.Message):
    __slots__ = ("aliases",)
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    aliases: _containers.RepeatedCompositeFieldContainer[AliasResult]
    def __init__(self, aliases: _Optional[_Iterable[_Union[AliasResult, _Mapping]]] = ...) -> None: ...

class DeleteAliasRequest(_message.Message):
    __slots__ = ("namespace", "name", "precondition", "forget_history")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRECONDITION_FIELD_NUMBER: _ClassVar[int]
    FORGET_HISTORY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    precondition: AliasPrecondition
    forget_history: bool
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., precondition: _Optional[_Union[AliasPrecondition, _Mapping]] = ..., forget_history: bool = ...) -> None: ...

class DeleteAliasResponse(_message.Message):
    __slots__ = ("deleted", "previous_id", "revision")
    DELETED_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    deleted: bool
    previous_id: str
    revision: int
    def __init__(self, deleted: bool = ..., previous_id: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class DeleteAliasesRequest(_message.Message):
    __slots__ = ("namespace", "prefix", "all", "moved_before", "dry_run", "page_size", "page_token", "forget_history")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    MOVED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FORGET_HISTORY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    prefix: str
    all: bool
    moved_before: _timestamp_pb2.Timestamp
    dry_run: bool
    page_size: int
    page_token: str
    forget_history: bool
    def __init__(self, namespace: _Optional[str] = ..., prefix: _Optional[str] = ..., all: bool = ..., moved_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., dry_run: bool = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., forget_history: bool = ...) -> None: ...

class DeleteAliasesResponse(_message.Message):
    __slots__ = ("aliases", "moved_before", "next_page_token")
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    MOVED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    aliases: _containers.RepeatedCompositeFieldContainer[AliasInfo]
    moved_before: _timestamp_pb2.Timestamp
    next_page_token: str
    def __init__(self, aliases: _Optional[_Iterable[_Union[AliasInfo, _Mapping]]] = ..., moved_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class AliasInfo(_message.Message):
    __slots__ = ("name", "node_id", "moved_at", "labels", "loop", "revision")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    MOVED_AT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    LOOP_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    name: str
    node_id: str
    moved_at: _timestamp_pb2.Timestamp
    labels: _containers.ScalarMap[str, str]
    loop: AliasLoop
    revision: int
    def __init__(self, name: _Optional[str] = ..., node_id: _Optional[str] = ..., moved_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., labels: _Optional[_Mapping[str, str]] = ..., loop: _Optional[_Union[AliasLoop, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class DeletedAlias(_message.Message):
    __slots__ = ("revision", "deleted_at", "previous_id")
    REVISION_FIELD_NUMBER: _ClassVar[int]
    DELETED_AT_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_ID_FIELD_NUMBER: _ClassVar[int]
    revision: int
    deleted_at: _timestamp_pb2.Timestamp
    previous_id: str
    def __init__(self, revision: _Optional[int] = ..., deleted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., previous_id: _Optional[str] = ...) -> None: ...

class AliasLoop(_message.Message):
    __slots__ = ("state", "outcome", "lead_in", "started_at", "last_put_at")
    STATE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    LEAD_IN_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    LAST_PUT_AT_FIELD_NUMBER: _ClassVar[int]
    state: RunLoopState
    outcome: RunOutcome
    lead_in: bool
    started_at: _timestamp_pb2.Timestamp
    last_put_at: _timestamp_pb2.Timestamp
    def __init__(self, state: _Optional[_Union[RunLoopState, str]] = ..., outcome: _Optional[_Union[RunOutcome, str]] = ..., lead_in: bool = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., last_put_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ResolveAliasRequest(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class ResolveAliasResponse(_message.Message):
    __slots__ = ("alias", "counters")
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    alias: AliasInfo
    counters: ChainCounters
    def __init__(self, alias: _Optional[_Union[AliasInfo, _Mapping]] = ..., counters: _Optional[_Union[ChainCounters, _Mapping]] = ...) -> None: ...

class ListAliasesRequest(_message.Message):
    __slots__ = ("namespace", "prefix", "folder", "page_size", "page_token", "include_loops", "open_only", "order")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    FOLDER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_LOOPS_FIELD_NUMBER: _ClassVar[int]
    OPEN_ONLY_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    prefix: str
    folder: str
    page_size: int
    page_token: str
    include_loops: bool
    open_only: bool
    order: SortOrder
    def __init__(self, namespace: _Optional[str] = ..., prefix: _Optional[str] = ..., folder: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., include_loops: bool = ..., open_only: bool = ..., order: _Optional[_Union[SortOrder, str]] = ...) -> None: ...

class ListAliasesResponse(_message.Message):
    __slots__ = ("aliases", "next_page_token", "now")
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    aliases: _containers.RepeatedCompositeFieldContainer[AliasInfo]
    next_page_token: str
    now: _timestamp_pb2.Timestamp
    def __init__(self, aliases: _Optional[_Iterable[_Union[AliasInfo, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListAliasHistoryRequest(_message.Message):
    __slots__ = ("namespace", "name", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class AliasHistoryEntry(_message.Message):
    __slots__ = ("node_id", "began_at", "revision")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    BEGAN_AT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    began_at: _timestamp_pb2.Timestamp
    revision: int
    def __init__(self, node_id: _Optional[str] = ..., began_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class ListAliasHistoryResponse(_message.Message):
    __slots__ = ("entries", "next_page_token")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[AliasHistoryEntry]
    next_page_token: str
    def __init__(self, entries: _Optional[_Iterable[_Union[AliasHistoryEntry, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Policy(_message.Message):
    __slots__ = ("max_run_loops", "max_age", "max_bytes", "max_tokens", "max_user_chars", "max_reply_chars", "keep_whole_run_loops", "clear_tool_results", "tool_trace", "preset", "omit_left_out_line", "reply_tools")
    MAX_RUN_LOOPS_FIELD_NUMBER: _ClassVar[int]
    MAX_AGE_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_USER_CHARS_FIELD_NUMBER: _ClassVar[int]
    MAX_REPLY_CHARS_FIELD_NUMBER: _ClassVar[int]
    KEEP_WHOLE_RUN_LOOPS_FIELD_NUMBER: _ClassVar[int]
    CLEAR_TOOL_RESULTS_FIELD_NUMBER: _ClassVar[int]
    TOOL_TRACE_FIELD_NUMBER: _ClassVar[int]
    PRESET_FIELD_NUMBER: _ClassVar[int]
    OMIT_LEFT_OUT_LINE_FIELD_NUMBER: _ClassVar[int]
    REPLY_TOOLS_FIELD_NUMBER: _ClassVar[int]
    max_run_loops: int
    max_age: _duration_pb2.Duration
    max_bytes: int
    max_tokens: int
    max_user_chars: int
    max_reply_chars: int
    keep_whole_run_loops: int
    clear_tool_results: ClearToolResults
    tool_trace: ToolTrace
    preset: Preset
    omit_left_out_line: bool
    reply_tools: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, max_run_loops: _Optional[int] = ..., max_age: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_bytes: _Optional[int] = ..., max_tokens: _Optional[int] = ..., max_user_chars: _Optional[int] = ..., max_reply_chars: _Optional[int] = ..., keep_whole_run_loops: _Optional[int] = ..., clear_tool_results: _Optional[_Union[ClearToolResults, _Mapping]] = ..., tool_trace: _Optional[_Union[ToolTrace, str]] = ..., preset: _Optional[_Union[Preset, str]] = ..., omit_left_out_line: bool = ..., reply_tools: _Optional[_Iterable[str]] = ...) -> None: ...

class ClearToolResults(_message.Message):
    __slots__ = ("keep", "clear_arguments", "cached_percent")
    KEEP_FIELD_NUMBER: _ClassVar[int]
    CLEAR_ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    CACHED_PERCENT_FIELD_NUMBER: _ClassVar[int]
    keep: int
    clear_arguments: bool
    cached_percent: int
    def __init__(self, keep: _Optional[int] = ..., clear_arguments: bool = ..., cached_percent: _Optional[int] = ...) -> None: ...

class NodeFacts(_message.Message):
    __slots__ = ("metadata_keys",)
    METADATA_KEYS_FIELD_NUMBER: _ClassVar[int]
    metadata_keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, metadata_keys: _Optional[_Iterable[str]] = ...) -> None: ...

class AssembleRequest(_message.Message):
    __slots__ = ("namespace", "head", "view", "after_id", "if_none_match", "node_detail", "policy", "condense_last", "node_facts", "last_messages", "last_bytes", "before", "after_erasures")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    AFTER_ID_FIELD_NUMBER: _ClassVar[int]
    IF_NONE_MATCH_FIELD_NUMBER: _ClassVar[int]
    NODE_DETAIL_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    CONDENSE_LAST_FIELD_NUMBER: _ClassVar[int]
    NODE_FACTS_FIELD_NUMBER: _ClassVar[int]
    LAST_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    LAST_BYTES_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_ERASURES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    head: NodeRef
    view: View
    after_id: str
    if_none_match: str
    node_detail: NodeDetail
    policy: Policy
    condense_last: bool
    node_facts: NodeFacts
    last_messages: int
    last_bytes: int
    before: MessagePlace
    after_erasures: int
    def __init__(self, namespace: _Optional[str] = ..., head: _Optional[_Union[NodeRef, _Mapping]] = ..., view: _Optional[_Union[View, str]] = ..., after_id: _Optional[str] = ..., if_none_match: _Optional[str] = ..., node_detail: _Optional[_Union[NodeDetail, str]] = ..., policy: _Optional[_Union[Policy, _Mapping]] = ..., condense_last: bool = ..., node_facts: _Optional[_Union[NodeFacts, _Mapping]] = ..., last_messages: _Optional[int] = ..., last_bytes: _Optional[int] = ..., before: _Optional[_Union[MessagePlace, _Mapping]] = ..., after_erasures: _Optional[int] = ...) -> None: ...

class NodeInfo(_message.Message):
    __slots__ = ("node_id", "message_count", "size_bytes", "content", "notes", "envelope", "first_put_at", "metadata", "has_more_metadata")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    ENVELOPE_FIELD_NUMBER: _ClassVar[int]
    FIRST_PUT_AT_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_METADATA_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    message_count: int
    size_bytes: int
    content: NodeContent
    notes: _containers.RepeatedCompositeFieldContainer[MessageNote]
    envelope: EnvelopeInfo
    first_put_at: _timestamp_pb2.Timestamp
    metadata: _containers.RepeatedCompositeFieldContainer[_node_pb2.MetadataEntry]
    has_more_metadata: bool
    def __init__(self, node_id: _Optional[str] = ..., message_count: _Optional[int] = ..., size_bytes: _Optional[int] = ..., content: _Optional[_Union[NodeContent, str]] = ..., notes: _Optional[_Iterable[_Union[MessageNote, _Mapping]]] = ..., envelope: _Optional[_Union[EnvelopeInfo, _Mapping]] = ..., first_put_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., metadata: _Optional[_Iterable[_Union[_node_pb2.MetadataEntry, _Mapping]]] = ..., has_more_metadata: bool = ...) -> None: ...

class EnvelopeInfo(_message.Message):
    __slots__ = ("parent_id", "payload_digest", "metadata_digest", "covers_through_id", "spawned_from", "salt")
    PARENT_ID_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_DIGEST_FIELD_NUMBER: _ClassVar[int]
    METADATA_DIGEST_FIELD_NUMBER: _ClassVar[int]
    COVERS_THROUGH_ID_FIELD_NUMBER: _ClassVar[int]
    SPAWNED_FROM_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    parent_id: str
    payload_digest: str
    metadata_digest: str
    covers_through_id: str
    spawned_from: SpawnedFromRef
    salt: bytes
    def __init__(self, parent_id: _Optional[str] = ..., payload_digest: _Optional[str] = ..., metadata_digest: _Optional[str] = ..., covers_through_id: _Optional[str] = ..., spawned_from: _Optional[_Union[SpawnedFromRef, _Mapping]] = ..., salt: _Optional[bytes] = ...) -> None: ...

class Finding(_message.Message):
    __slots__ = ("kind", "node_id", "message_index", "count")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_INDEX_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    kind: FindingKind
    node_id: str
    message_index: int
    count: int
    def __init__(self, kind: _Optional[_Union[FindingKind, str]] = ..., node_id: _Optional[str] = ..., message_index: _Optional[int] = ..., count: _Optional[int] = ...) -> None: ...

class Report(_message.Message):
    __slots__ = ("messages", "bytes", "repairs", "findings", "more_findings", "tokens", "tokens_estimated", "shortened_messages", "left_out", "window", "limit_exceeded", "policy")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    REPAIRS_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    MORE_FINDINGS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    SHORTENED_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    LIMIT_EXCEEDED_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    messages: int
    bytes: int
    repairs: int
    findings: _containers.RepeatedCompositeFieldContainer[Finding]
    more_findings: int
    tokens: int
    tokens_estimated: bool
    shortened_messages: int
    left_out: LeftOut
    window: Window
    limit_exceeded: bool
    policy: Policy
    def __init__(self, messages: _Optional[int] = ..., bytes: _Optional[int] = ..., repairs: _Optional[int] = ..., findings: _Optional[_Iterable[_Union[Finding, _Mapping]]] = ..., more_findings: _Optional[int] = ..., tokens: _Optional[int] = ..., tokens_estimated: bool = ..., shortened_messages: _Optional[int] = ..., left_out: _Optional[_Union[LeftOut, _Mapping]] = ..., window: _Optional[_Union[Window, _Mapping]] = ..., limit_exceeded: bool = ..., policy: _Optional[_Union[Policy, _Mapping]] = ...) -> None: ...

class LeftOut(_message.Message):
    __slots__ = ("messages", "bytes", "tokens", "run_loops")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    RUN_LOOPS_FIELD_NUMBER: _ClassVar[int]
    messages: int
    bytes: int
    tokens: int
    run_loops: int
    def __init__(self, messages: _Optional[int] = ..., bytes: _Optional[int] = ..., tokens: _Optional[int] = ..., run_loops: _Optional[int] = ...) -> None: ...

class Window(_message.Message):
    __slots__ = ("node_id", "message_index", "run_loops")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_INDEX_FIELD_NUMBER: _ClassVar[int]
    RUN_LOOPS_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    message_index: int
    run_loops: int
    def __init__(self, node_id: _Optional[str] = ..., message_index: _Optional[int] = ..., run_loops: _Optional[int] = ...) -> None: ...

class AssembleResponse(_message.Message):
    __slots__ = ("messages", "head_id", "base_id", "etag", "not_modified", "counters", "report", "nodes", "begin", "has_more_before", "erasures")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    HEAD_ID_FIELD_NUMBER: _ClassVar[int]
    BASE_ID_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    NOT_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    ERASURES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    head_id: str
    base_id: str
    etag: str
    not_modified: bool
    counters: ChainCounters
    report: Report
    nodes: _containers.RepeatedCompositeFieldContainer[NodeInfo]
    begin: MessagePlace
    has_more_before: bool
    erasures: int
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., head_id: _Optional[str] = ..., base_id: _Optional[str] = ..., etag: _Optional[str] = ..., not_modified: bool = ..., counters: _Optional[_Union[ChainCounters, _Mapping]] = ..., report: _Optional[_Union[Report, _Mapping]] = ..., nodes: _Optional[_Iterable[_Union[NodeInfo, _Mapping]]] = ..., begin: _Optional[_Union[MessagePlace, _Mapping]] = ..., has_more_before: bool = ..., erasures: _Optional[int] = ...) -> None: ...

class StreamAssembleRequest(_message.Message):
    __slots__ = ("namespace", "head", "view", "after_id", "if_none_match", "node_detail", "policy", "condense_last", "node_facts", "last_messages", "last_bytes", "before", "after_erasures")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    AFTER_ID_FIELD_NUMBER: _ClassVar[int]
    IF_NONE_MATCH_FIELD_NUMBER: _ClassVar[int]
    NODE_DETAIL_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    CONDENSE_LAST_FIELD_NUMBER: _ClassVar[int]
    NODE_FACTS_FIELD_NUMBER: _ClassVar[int]
    LAST_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    LAST_BYTES_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_ERASURES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    head: NodeRef
    view: View
    after_id: str
    if_none_match: str
    node_detail: NodeDetail
    policy: Policy
    condense_last: bool
    node_facts: NodeFacts
    last_messages: int
    last_bytes: int
    before: MessagePlace
    after_erasures: int
    def __init__(self, namespace: _Optional[str] = ..., head: _Optional[_Union[NodeRef, _Mapping]] = ..., view: _Optional[_Union[View, str]] = ..., after_id: _Optional[str] = ..., if_none_match: _Optional[str] = ..., node_detail: _Optional[_Union[NodeDetail, str]] = ..., policy: _Optional[_Union[Policy, _Mapping]] = ..., condense_last: bool = ..., node_facts: _Optional[_Union[NodeFacts, _Mapping]] = ..., last_messages: _Optional[int] = ..., last_bytes: _Optional[int] = ..., before: _Optional[_Union[MessagePlace, _Mapping]] = ..., after_erasures: _Optional[int] = ...) -> None: ...

class StreamAssembleResponse(_message.Message):
    __slots__ = ("messages", "head_id", "base_id", "etag", "not_modified", "counters", "report", "nodes", "begin", "has_more_before", "erasures")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    HEAD_ID_FIELD_NUMBER: _ClassVar[int]
    BASE_ID_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    NOT_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_BEFORE_FIELD_NUMBER: _ClassVar[int]
    ERASURES_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    head_id: str
    base_id: str
    etag: str
    not_modified: bool
    counters: ChainCounters
    report: Report
    nodes: _containers.RepeatedCompositeFieldContainer[NodeInfo]
    begin: MessagePlace
    has_more_before: bool
    erasures: int
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., head_id: _Optional[str] = ..., base_id: _Optional[str] = ..., etag: _Optional[str] = ..., not_modified: bool = ..., counters: _Optional[_Union[ChainCounters, _Mapping]] = ..., report: _Optional[_Union[Report, _Mapping]] = ..., nodes: _Optional[_Iterable[_Union[NodeInfo, _Mapping]]] = ..., begin: _Optional[_Union[MessagePlace, _Mapping]] = ..., has_more_before: bool = ..., erasures: _Optional[int] = ...) -> None: ...

class GetNodeRequest(_message.Message):
    __slots__ = ("namespace", "node", "omit_messages")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    OMIT_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    node: NodeRef
    omit_messages: bool
    def __init__(self, namespace: _Optional[str] = ..., node: _Optional[_Union[NodeRef, _Mapping]] = ..., omit_messages: bool = ...) -> None: ...

class GetNodeResponse(_message.Message):
    __slots__ = ("messages", "info", "metadata", "first_put_at", "counters", "ancestors", "aliases", "roles", "has_more_aliases", "copies", "erasure")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    FIRST_PUT_AT_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    ANCESTORS_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_ALIASES_FIELD_NUMBER: _ClassVar[int]
    COPIES_FIELD_NUMBER: _ClassVar[int]
    ERASURE_FIELD_NUMBER: _ClassVar[int]
    messages: _containers.RepeatedCompositeFieldContainer[_message_pb2.Message]
    info: NodeInfo
    metadata: _node_pb2.Metadata
    first_put_at: _timestamp_pb2.Timestamp
    counters: ChainCounters
    ancestors: int
    aliases: _containers.RepeatedScalarFieldContainer[str]
    roles: _containers.RepeatedScalarFieldContainer[_message_pb2.Role]
    has_more_aliases: bool
    copies: CompactionCopies
    erasure: ArchivedErasure
    def __init__(self, messages: _Optional[_Iterable[_Union[_message_pb2.Message, _Mapping]]] = ..., info: _Optional[_Union[NodeInfo, _Mapping]] = ..., metadata: _Optional[_Union[_node_pb2.Metadata, _Mapping]] = ..., first_put_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., counters: _Optional[_Union[ChainCounters, _Mapping]] = ..., ancestors: _Optional[int] = ..., aliases: _Optional[_Iterable[str]] = ..., roles: _Optional[_Iterable[_Union[_message_pb2.Role, str]]] = ..., has_more_aliases: bool = ..., copies: _Optional[_Union[CompactionCopies, _Mapping]] = ..., erasure: _Optional[_Union[ArchivedErasure, _Mapping]] = ...) -> None: ...

class CompactionCopies(_message.Message):
    __slots__ = ("copied_from", "loop_begins", "last_loop")
    COPIED_FROM_FIELD_NUMBER: _ClassVar[int]
    LOOP_BEGINS_FIELD_NUMBER: _ClassVar[int]
    LAST_LOOP_FIELD_NUMBER: _ClassVar[int]
    copied_from: _containers.RepeatedCompositeFieldContainer[CopiedFrom]
    loop_begins: _containers.RepeatedScalarFieldContainer[int]
    last_loop: LoopPhase
    def __init__(self, copied_from: _Optional[_Iterable[_Union[CopiedFrom, _Mapping]]] = ..., loop_begins: _Optional[_Iterable[int]] = ..., last_loop: _Optional[_Union[LoopPhase, str]] = ...) -> None: ...

class CopiedFrom(_message.Message):
    __slots__ = ("ancestors", "message_index")
    ANCESTORS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_INDEX_FIELD_NUMBER: _ClassVar[int]
    ancestors: int
    message_index: int
    def __init__(self, ancestors: _Optional[int] = ..., message_index: _Optional[int] = ...) -> None: ...

class GetNodesRequest(_message.Message):
    __slots__ = ("namespace", "node_ids", "omit_messages")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    OMIT_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    omit_messages: bool
    def __init__(self, namespace: _Optional[str] = ..., node_ids: _Optional[_Iterable[str]] = ..., omit_messages: bool = ...) -> None: ...

class GetNodesResponse(_message.Message):
    __slots__ = ("nodes", "missing_ids", "remaining")
    NODES_FIELD_NUMBER: _ClassVar[int]
    MISSING_IDS_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    nodes: _containers.RepeatedCompositeFieldContainer[GetNodeResponse]
    missing_ids: _containers.RepeatedScalarFieldContainer[str]
    remaining: int
    def __init__(self, nodes: _Optional[_Iterable[_Union[GetNodeResponse, _Mapping]]] = ..., missing_ids: _Optional[_Iterable[str]] = ..., remaining: _Optional[int] = ...) -> None: ...

class ListChildrenRequest(_message.Message):
    __slots__ = ("namespace", "node", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    node: NodeRef
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., node: _Optional[_Union[NodeRef, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ChildNode(_message.Message):
    __slots__ = ("node_id", "first_put_at", "size_bytes", "roles")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_PUT_AT_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    first_put_at: _timestamp_pb2.Timestamp
    size_bytes: int
    roles: _containers.RepeatedScalarFieldContainer[_message_pb2.Role]
    def __init__(self, node_id: _Optional[str] = ..., first_put_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., size_bytes: _Optional[int] = ..., roles: _Optional[_Iterable[_Union[_message_pb2.Role, str]]] = ...) -> None: ...

class ListChildrenResponse(_message.Message):
    __slots__ = ("children", "next_page_token")
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    children: _containers.RepeatedCompositeFieldContainer[ChildNode]
    next_page_token: str
    def __init__(self, children: _Optional[_Iterable[_Union[ChildNode, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class AliasConflicts(_message.Message):
    __slots__ = ("conflicts", "more_conflicts")
    CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    MORE_CONFLICTS_FIELD_NUMBER: _ClassVar[int]
    conflicts: _containers.RepeatedCompositeFieldContainer[AliasConflict]
    more_conflicts: int
    def __init__(self, conflicts: _Optional[_Iterable[_Union[AliasConflict, _Mapping]]] = ..., more_conflicts: _Optional[int] = ...) -> None: ...

class AliasConflict(_message.Message):
    __slots__ = ("field", "node_id", "only_compacted", "revision")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ONLY_COMPACTED_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    field: str
    node_id: str
    only_compacted: bool
    revision: int
    def __init__(self, field: _Optional[str] = ..., node_id: _Optional[str] = ..., only_compacted: bool = ..., revision: _Optional[int] = ...) -> None: ...

class AmbiguousPrefix(_message.Message):
    __slots__ = ("node_ids",)
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    node_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, node_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class CompactRequest(_message.Message):
    __slots__ = ("namespace", "head", "through_id", "policy", "summary", "summary_only", "salt", "dry_run", "aliases")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    THROUGH_ID_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_ONLY_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    head: NodeRef
    through_id: str
    policy: Policy
    summary: str
    summary_only: bool
    salt: bytes
    dry_run: bool
    aliases: _containers.RepeatedCompositeFieldContainer[AliasUpdate]
    def __init__(self, namespace: _Optional[str] = ..., head: _Optional[_Union[NodeRef, _Mapping]] = ..., through_id: _Optional[str] = ..., policy: _Optional[_Union[Policy, _Mapping]] = ..., summary: _Optional[str] = ..., summary_only: bool = ..., salt: _Optional[bytes] = ..., dry_run: bool = ..., aliases: _Optional[_Iterable[_Union[AliasUpdate, _Mapping]]] = ...) -> None: ...

class CompactResponse(_message.Message):
    __slots__ = ("written", "not_written_reason", "node_id", "head_id", "through_id", "aliases", "counters", "report")
    WRITTEN_FIELD_NUMBER: _ClassVar[int]
    NOT_WRITTEN_REASON_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    HEAD_ID_FIELD_NUMBER: _ClassVar[int]
    THROUGH_ID_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    written: bool
    not_written_reason: NotWrittenReason
    node_id: str
    head_id: str
    through_id: str
    aliases: _containers.RepeatedCompositeFieldContainer[AliasResult]
    counters: ChainCounters
    report: CompactReport
    def __init__(self, written: bool = ..., not_written_reason: _Optional[_Union[NotWrittenReason, str]] = ..., node_id: _Optional[str] = ..., head_id: _Optional[str] = ..., through_id: _Optional[str] = ..., aliases: _Optional[_Iterable[_Union[AliasResult, _Mapping]]] = ..., counters: _Optional[_Union[ChainCounters, _Mapping]] = ..., report: _Optional[_Union[CompactReport, _Mapping]] = ...) -> None: ...

class CompactReport(_message.Message):
    __slots__ = ("messages_before", "bytes_before", "tokens_before", "messages_after", "bytes_after", "tokens_after", "tokens_estimated", "run_loops_dropped", "run_loops_condensed", "run_loops_whole", "shortened_messages", "summary_replaced", "policy")
    MESSAGES_BEFORE_FIELD_NUMBER: _ClassVar[int]
    BYTES_BEFORE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_BEFORE_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_AFTER_FIELD_NUMBER: _ClassVar[int]
    BYTES_AFTER_FIELD_NUMBER: _ClassVar[int]
    TOKENS_AFTER_FIELD_NUMBER: _ClassVar[int]
    TOKENS_ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    RUN_LOOPS_DROPPED_FIELD_NUMBER: _ClassVar[int]
    RUN_LOOPS_CONDENSED_FIELD_NUMBER: _ClassVar[int]
    RUN_LOOPS_WHOLE_FIELD_NUMBER: _ClassVar[int]
    SHORTENED_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_REPLACED_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    messages_before: int
    bytes_before: int
    tokens_before: int
    messages_after: int
    bytes_after: int
    tokens_after: int
    tokens_estimated: bool
    run_loops_dropped: int
    run_loops_condensed: int
    run_loops_whole: int
    shortened_messages: int
    summary_replaced: bool
    policy: Policy
    def __init__(self, messages_before: _Optional[int] = ..., bytes_before: _Optional[int] = ..., tokens_before: _Optional[int] = ..., messages_after: _Optional[int] = ..., bytes_after: _Optional[int] = ..., tokens_after: _Optional[int] = ..., tokens_estimated: bool = ..., run_loops_dropped: _Optional[int] = ..., run_loops_condensed: _Optional[int] = ..., run_loops_whole: _Optional[int] = ..., shortened_messages: _Optional[int] = ..., summary_replaced: bool = ..., policy: _Optional[_Union[Policy, _Mapping]] = ...) -> None: ...

class MessagePlace(_message.Message):
    __slots__ = ("node_id", "message_index")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_INDEX_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    message_index: int
    def __init__(self, node_id: _Optional[str] = ..., message_index: _Optional[int] = ...) -> None: ...

class ToolCallSummary(_message.Message):
    __slots__ = ("id", "name", "state", "call_place", "result_place", "called_at", "answered_at", "arguments", "arguments_cut")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CALL_PLACE_FIELD_NUMBER: _ClassVar[int]
    RESULT_PLACE_FIELD_NUMBER: _ClassVar[int]
    CALLED_AT_FIELD_NUMBER: _ClassVar[int]
    ANSWERED_AT_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_CUT_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    state: ToolCallState
    call_place: MessagePlace
    result_place: MessagePlace
    called_at: _timestamp_pb2.Timestamp
    answered_at: _timestamp_pb2.Timestamp
    arguments: str
    arguments_cut: bool
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., state: _Optional[_Union[ToolCallState, str]] = ..., call_place: _Optional[_Union[MessagePlace, _Mapping]] = ..., result_place: _Optional[_Union[MessagePlace, _Mapping]] = ..., called_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., answered_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., arguments: _Optional[str] = ..., arguments_cut: bool = ...) -> None: ...

class ListRunLoopsRequest(_message.Message):
    __slots__ = ("namespace", "head", "page_size", "page_token", "preview_chars", "redact", "argument_chars")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_CHARS_FIELD_NUMBER: _ClassVar[int]
    REDACT_FIELD_NUMBER: _ClassVar[int]
    ARGUMENT_CHARS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    head: NodeRef
    page_size: int
    page_token: str
    preview_chars: int
    redact: bool
    argument_chars: int
    def __init__(self, namespace: _Optional[str] = ..., head: _Optional[_Union[NodeRef, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., preview_chars: _Optional[int] = ..., redact: bool = ..., argument_chars: _Optional[int] = ...) -> None: ...

class RunLoop(_message.Message):
    __slots__ = ("first", "last", "started_at", "ended_at", "state", "lead_in", "user_preview", "reply_preview", "messages", "bytes", "tokens", "tokens_estimated", "tool_calls", "more_tool_calls", "unanswered_calls", "outcome")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LEAD_IN_FIELD_NUMBER: _ClassVar[int]
    USER_PREVIEW_FIELD_NUMBER: _ClassVar[int]
    REPLY_PREVIEW_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_ESTIMATED_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    MORE_TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    UNANSWERED_CALLS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    first: MessagePlace
    last: MessagePlace
    started_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    state: RunLoopState
    lead_in: bool
    user_preview: str
    reply_preview: str
    messages: int
    bytes: int
    tokens: int
    tokens_estimated: bool
    tool_calls: _containers.RepeatedCompositeFieldContainer[ToolCallSummary]
    more_tool_calls: int
    unanswered_calls: int
    outcome: RunOutcome
    def __init__(self, first: _Optional[_Union[MessagePlace, _Mapping]] = ..., last: _Optional[_Union[MessagePlace, _Mapping]] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., state: _Optional[_Union[RunLoopState, str]] = ..., lead_in: bool = ..., user_preview: _Optional[str] = ..., reply_preview: _Optional[str] = ..., messages: _Optional[int] = ..., bytes: _Optional[int] = ..., tokens: _Optional[int] = ..., tokens_estimated: bool = ..., tool_calls: _Optional[_Iterable[_Union[ToolCallSummary, _Mapping]]] = ..., more_tool_calls: _Optional[int] = ..., unanswered_calls: _Optional[int] = ..., outcome: _Optional[_Union[RunOutcome, str]] = ...) -> None: ...

class ListRunLoopsResponse(_message.Message):
    __slots__ = ("run_loops", "next_page_token")
    RUN_LOOPS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    run_loops: _containers.RepeatedCompositeFieldContainer[RunLoop]
    next_page_token: str
    def __init__(self, run_loops: _Optional[_Iterable[_Union[RunLoop, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RecallToolCallRequest(_message.Message):
    __slots__ = ("namespace", "head", "tool_call_id", "place", "occurrence", "page_bytes", "page_token", "redact")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    OCCURRENCE_FIELD_NUMBER: _ClassVar[int]
    PAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REDACT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    head: NodeRef
    tool_call_id: str
    place: str
    occurrence: int
    page_bytes: int
    page_token: str
    redact: bool
    def __init__(self, namespace: _Optional[str] = ..., head: _Optional[_Union[NodeRef, _Mapping]] = ..., tool_call_id: _Optional[str] = ..., place: _Optional[str] = ..., occurrence: _Optional[int] = ..., page_bytes: _Optional[int] = ..., page_token: _Optional[str] = ..., redact: bool = ...) -> None: ...

class RecallToolCallResponse(_message.Message):
    __slots__ = ("call", "call_place", "state", "parts", "continues", "result_place", "left_out", "result_bytes", "sent_at", "next_page_token", "earlier_occurrences")
    CALL_FIELD_NUMBER: _ClassVar[int]
    CALL_PLACE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    CONTINUES_FIELD_NUMBER: _ClassVar[int]
    RESULT_PLACE_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    RESULT_BYTES_FIELD_NUMBER: _ClassVar[int]
    SENT_AT_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EARLIER_OCCURRENCES_FIELD_NUMBER: _ClassVar[int]
    call: _message_pb2.ToolCall
    call_place: MessagePlace
    state: ToolCallState
    parts: _containers.RepeatedCompositeFieldContainer[_message_pb2.Part]
    continues: bool
    result_place: MessagePlace
    left_out: bool
    result_bytes: int
    sent_at: _timestamp_pb2.Timestamp
    next_page_token: str
    earlier_occurrences: int
    def __init__(self, call: _Optional[_Union[_message_pb2.ToolCall, _Mapping]] = ..., call_place: _Optional[_Union[MessagePlace, _Mapping]] = ..., state: _Optional[_Union[ToolCallState, str]] = ..., parts: _Optional[_Iterable[_Union[_message_pb2.Part, _Mapping]]] = ..., continues: bool = ..., result_place: _Optional[_Union[MessagePlace, _Mapping]] = ..., left_out: bool = ..., result_bytes: _Optional[int] = ..., sent_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., next_page_token: _Optional[str] = ..., earlier_occurrences: _Optional[int] = ...) -> None: ...

class SearchRequest(_message.Message):
    __slots__ = ("namespace", "head", "alias_prefix", "text", "regexp", "roles", "tool_names", "since", "until", "errors_only", "page_size", "page_token", "excerpt_chars", "redact")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    ALIAS_PREFIX_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REGEXP_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAMES_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    ERRORS_ONLY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    EXCERPT_CHARS_FIELD_NUMBER: _ClassVar[int]
    REDACT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    head: NodeRef
    alias_prefix: str
    text: str
    regexp: str
    roles: _containers.RepeatedScalarFieldContainer[_message_pb2.Role]
    tool_names: _containers.RepeatedScalarFieldContainer[str]
    since: _timestamp_pb2.Timestamp
    until: _timestamp_pb2.Timestamp
    errors_only: bool
    page_size: int
    page_token: str
    excerpt_chars: int
    redact: bool
    def __init__(self, namespace: _Optional[str] = ..., head: _Optional[_Union[NodeRef, _Mapping]] = ..., alias_prefix: _Optional[str] = ..., text: _Optional[str] = ..., regexp: _Optional[str] = ..., roles: _Optional[_Iterable[_Union[_message_pb2.Role, str]]] = ..., tool_names: _Optional[_Iterable[str]] = ..., since: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., errors_only: bool = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., excerpt_chars: _Optional[int] = ..., redact: bool = ...) -> None: ...

class SearchHit(_message.Message):
    __slots__ = ("place", "role", "run_loop_place", "alias", "part_index", "field", "excerpt", "matches", "sent_at", "tool_call_id", "tool_name")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    RUN_LOOP_PLACE_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    PART_INDEX_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    EXCERPT_FIELD_NUMBER: _ClassVar[int]
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    SENT_AT_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAME_FIELD_NUMBER: _ClassVar[int]
    place: MessagePlace
    role: _message_pb2.Role
    run_loop_place: MessagePlace
    alias: str
    part_index: int
    field: SearchField
    excerpt: str
    matches: _containers.RepeatedCompositeFieldContainer[TextRange]
    sent_at: _timestamp_pb2.Timestamp
    tool_call_id: str
    tool_name: str
    def __init__(self, place: _Optional[_Union[MessagePlace, _Mapping]] = ..., role: _Optional[_Union[_message_pb2.Role, str]] = ..., run_loop_place: _Optional[_Union[MessagePlace, _Mapping]] = ..., alias: _Optional[str] = ..., part_index: _Optional[int] = ..., field: _Optional[_Union[SearchField, str]] = ..., excerpt: _Optional[str] = ..., matches: _Optional[_Iterable[_Union[TextRange, _Mapping]]] = ..., sent_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., tool_call_id: _Optional[str] = ..., tool_name: _Optional[str] = ...) -> None: ...

class TextRange(_message.Message):
    __slots__ = ("start", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class SearchResponse(_message.Message):
    __slots__ = ("hits", "next_page_token", "scanned_bytes", "scanned_nodes")
    HITS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SCANNED_BYTES_FIELD_NUMBER: _ClassVar[int]
    SCANNED_NODES_FIELD_NUMBER: _ClassVar[int]
    hits: _containers.RepeatedCompositeFieldContainer[SearchHit]
    next_page_token: str
    scanned_bytes: int
    scanned_nodes: int
    def __init__(self, hits: _Optional[_Iterable[_Union[SearchHit, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., scanned_bytes: _Optional[int] = ..., scanned_nodes: _Optional[int] = ...) -> None: ...

class ReplayToolsRequest(_message.Message):
    __slots__ = ("namespace", "head", "max_calls", "max_item_chars", "max_chars", "tool_names", "past_loops_only")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    MAX_CALLS_FIELD_NUMBER: _ClassVar[int]
    MAX_ITEM_CHARS_FIELD_NUMBER: _ClassVar[int]
    MAX_CHARS_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAMES_FIELD_NUMBER: _ClassVar[int]
    PAST_LOOPS_ONLY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    head: NodeRef
    max_calls: int
    max_item_chars: int
    max_chars: int
    tool_names: _containers.RepeatedScalarFieldContainer[str]
    past_loops_only: bool
    def __init__(self, namespace: _Optional[str] = ..., head: _Optional[_Union[NodeRef, _Mapping]] = ..., max_calls: _Optional[int] = ..., max_item_chars: _Optional[int] = ..., max_chars: _Optional[int] = ..., tool_names: _Optional[_Iterable[str]] = ..., past_loops_only: bool = ...) -> None: ...

class ReplayedCall(_message.Message):
    __slots__ = ("id", "name", "state", "arguments", "arguments_cut", "result", "result_cut", "call_place", "result_place", "run_loop_place", "called_at", "text")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_CUT_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    RESULT_CUT_FIELD_NUMBER: _ClassVar[int]
    CALL_PLACE_FIELD_NUMBER: _ClassVar[int]
    RESULT_PLACE_FIELD_NUMBER: _ClassVar[int]
    RUN_LOOP_PLACE_FIELD_NUMBER: _ClassVar[int]
    CALLED_AT_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    state: ToolCallState
    arguments: str
    arguments_cut: bool
    result: str
    result_cut: bool
    call_place: MessagePlace
    result_place: MessagePlace
    run_loop_place: MessagePlace
    called_at: _timestamp_pb2.Timestamp
    text: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., state: _Optional[_Union[ToolCallState, str]] = ..., arguments: _Optional[str] = ..., arguments_cut: bool = ..., result: _Optional[str] = ..., result_cut: bool = ..., call_place: _Optional[_Union[MessagePlace, _Mapping]] = ..., result_place: _Optional[_Union[MessagePlace, _Mapping]] = ..., run_loop_place: _Optional[_Union[MessagePlace, _Mapping]] = ..., called_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., text: _Optional[str] = ...) -> None: ...

class ReplayToolsResponse(_message.Message):
    __slots__ = ("calls", "text", "has_more_calls")
    CALLS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_CALLS_FIELD_NUMBER: _ClassVar[int]
    calls: _containers.RepeatedCompositeFieldContainer[ReplayedCall]
    text: str
    has_more_calls: bool
    def __init__(self, calls: _Optional[_Iterable[_Union[ReplayedCall, _Mapping]]] = ..., text: _Optional[str] = ..., has_more_calls: bool = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ("namespace", "head", "mode", "max_items", "preview_chars", "max_text_chars", "stale_after", "redact", "now", "variable_names")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    MAX_ITEMS_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_CHARS_FIELD_NUMBER: _ClassVar[int]
    MAX_TEXT_CHARS_FIELD_NUMBER: _ClassVar[int]
    STALE_AFTER_FIELD_NUMBER: _ClassVar[int]
    REDACT_FIELD_NUMBER: _ClassVar[int]
    NOW_FIELD_NUMBER: _ClassVar[int]
    VARIABLE_NAMES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    head: NodeRef
    mode: DescribeMode
    max_items: int
    preview_chars: int
    max_text_chars: int
    stale_after: _duration_pb2.Duration
    redact: bool
    now: _timestamp_pb2.Timestamp
    variable_names: VariableNames
    def __init__(self, namespace: _Optional[str] = ..., head: _Optional[_Union[NodeRef, _Mapping]] = ..., mode: _Optional[_Union[DescribeMode, str]] = ..., max_items: _Optional[int] = ..., preview_chars: _Optional[int] = ..., max_text_chars: _Optional[int] = ..., stale_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., redact: bool = ..., now: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., variable_names: _Optional[_Union[VariableNames, _Mapping]] = ...) -> None: ...

class VariableNames(_message.Message):
    __slots__ = ("exact", "prefix")
    EXACT_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    exact: _containers.RepeatedScalarFieldContainer[str]
    prefix: str
    def __init__(self, exact: _Optional[_Iterable[str]] = ..., prefix: _Optional[str] = ...) -> None: ...

class DescribeResponse(_message.Message):
    __slots__ = ("head_id", "head_first_put_at", "age", "counters", "loop", "lineage", "tools", "more_tools", "other_calls", "aliases", "has_more_aliases", "variables", "more_variables", "text")
    HEAD_ID_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIRST_PUT_AT_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    LOOP_FIELD_NUMBER: _ClassVar[int]
    LINEAGE_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    MORE_TOOLS_FIELD_NUMBER: _ClassVar[int]
    OTHER_CALLS_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_ALIASES_FIELD_NUMBER: _ClassVar[int]
    VARIABLES_FIELD_NUMBER: _ClassVar[int]
    MORE_VARIABLES_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    head_id: str
    head_first_put_at: _timestamp_pb2.Timestamp
    age: _duration_pb2.Duration
    counters: ChainCounters
    loop: LoopStatus
    lineage: Lineage
    tools: _containers.RepeatedCompositeFieldContainer[ToolUse]
    more_tools: int
    other_calls: int
    aliases: _containers.RepeatedScalarFieldContainer[str]
    has_more_aliases: bool
    variables: _containers.RepeatedCompositeFieldContainer[VariableInfo]
    more_variables: int
    text: str
    def __init__(self, head_id: _Optional[str] = ..., head_first_put_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., age: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., counters: _Optional[_Union[ChainCounters, _Mapping]] = ..., loop: _Optional[_Union[LoopStatus, _Mapping]] = ..., lineage: _Optional[_Union[Lineage, _Mapping]] = ..., tools: _Optional[_Iterable[_Union[ToolUse, _Mapping]]] = ..., more_tools: _Optional[int] = ..., other_calls: _Optional[int] = ..., aliases: _Optional[_Iterable[str]] = ..., has_more_aliases: bool = ..., variables: _Optional[_Iterable[_Union[VariableInfo, _Mapping]]] = ..., more_variables: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...

class LoopStatus(_message.Message):
    __slots__ = ("state", "first", "lead_in", "started_at", "open_for", "stale", "pending", "more_pending", "user_preview", "last_preview", "outcome")
    STATE_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LEAD_IN_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    OPEN_FOR_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    MORE_PENDING_FIELD_NUMBER: _ClassVar[int]
    USER_PREVIEW_FIELD_NUMBER: _ClassVar[int]
    LAST_PREVIEW_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    state: RunLoopState
    first: MessagePlace
    lead_in: bool
    started_at: _timestamp_pb2.Timestamp
    open_for: _duration_pb2.Duration
    stale: bool
    pending: _containers.RepeatedCompositeFieldContainer[PendingCall]
    more_pending: int
    user_preview: str
    last_preview: str
    outcome: RunOutcome
    def __init__(self, state: _Optional[_Union[RunLoopState, str]] = ..., first: _Optional[_Union[MessagePlace, _Mapping]] = ..., lead_in: bool = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., open_for: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., stale: bool = ..., pending: _Optional[_Iterable[_Union[PendingCall, _Mapping]]] = ..., more_pending: _Optional[int] = ..., user_preview: _Optional[str] = ..., last_preview: _Optional[str] = ..., outcome: _Optional[_Union[RunOutcome, str]] = ...) -> None: ...

class PendingCall(_message.Message):
    __slots__ = ("id", "name")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class Lineage(_message.Message):
    __slots__ = ("ancestors", "forks", "fork_nodes", "compactions", "has_more_compactions", "spawned_from", "spawned_node_id", "inheritance", "spawned", "has_more_spawned", "spawn_depth", "spawn_depth_at_least")
    ANCESTORS_FIELD_NUMBER: _ClassVar[int]
    FORKS_FIELD_NUMBER: _ClassVar[int]
    FORK_NODES_FIELD_NUMBER: _ClassVar[int]
    COMPACTIONS_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_COMPACTIONS_FIELD_NUMBER: _ClassVar[int]
    SPAWNED_FROM_FIELD_NUMBER: _ClassVar[int]
    SPAWNED_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    INHERITANCE_FIELD_NUMBER: _ClassVar[int]
    SPAWNED_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_SPAWNED_FIELD_NUMBER: _ClassVar[int]
    SPAWN_DEPTH_FIELD_NUMBER: _ClassVar[int]
    SPAWN_DEPTH_AT_LEAST_FIELD_NUMBER: _ClassVar[int]
    ancestors: int
    forks: int
    fork_nodes: _containers.RepeatedCompositeFieldContainer[PathNode]
    compactions: _containers.RepeatedCompositeFieldContainer[CompactionInfo]
    has_more_compactions: bool
    spawned_from: SpawnedFromRef
    spawned_node_id: str
    inheritance: Inheritance
    spawned: _containers.RepeatedCompositeFieldContainer[SpawnedChain]
    has_more_spawned: bool
    spawn_depth: int
    spawn_depth_at_least: bool
    def __init__(self, ancestors: _Optional[int] = ..., forks: _Optional[int] = ..., fork_nodes: _Optional[_Iterable[_Union[PathNode, _Mapping]]] = ..., compactions: _Optional[_Iterable[_Union[CompactionInfo, _Mapping]]] = ..., has_more_compactions: bool = ..., spawned_from: _Optional[_Union[SpawnedFromRef, _Mapping]] = ..., spawned_node_id: _Optional[str] = ..., inheritance: _Optional[_Union[Inheritance, str]] = ..., spawned: _Optional[_Iterable[_Union[SpawnedChain, _Mapping]]] = ..., has_more_spawned: bool = ..., spawn_depth: _Optional[int] = ..., spawn_depth_at_least: bool = ...) -> None: ...

class PathNode(_message.Message):
    __slots__ = ("node_id", "ancestors")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ANCESTORS_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    ancestors: int
    def __init__(self, node_id: _Optional[str] = ..., ancestors: _Optional[int] = ...) -> None: ...

class CompactionInfo(_message.Message):
    __slots__ = ("node_id", "ancestors", "covers_through_id", "message_count", "size_bytes", "has_summary")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ANCESTORS_FIELD_NUMBER: _ClassVar[int]
    COVERS_THROUGH_ID_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_COUNT_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    HAS_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    ancestors: int
    covers_through_id: str
    message_count: int
    size_bytes: int
    has_summary: bool
    def __init__(self, node_id: _Optional[str] = ..., ancestors: _Optional[int] = ..., covers_through_id: _Optional[str] = ..., message_count: _Optional[int] = ..., size_bytes: _Optional[int] = ..., has_summary: bool = ...) -> None: ...

class SpawnedChain(_message.Message):
    __slots__ = ("node_id", "spawned_from")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    SPAWNED_FROM_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    spawned_from: SpawnedFromRef
    def __init__(self, node_id: _Optional[str] = ..., spawned_from: _Optional[_Union[SpawnedFromRef, _Mapping]] = ...) -> None: ...

class ToolUse(_message.Message):
    __slots__ = ("name", "calls")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    name: str
    calls: int
    def __init__(self, name: _Optional[str] = ..., calls: _Optional[int] = ...) -> None: ...

class VariableInfo(_message.Message):
    __slots__ = ("name", "type", "size_bytes", "preview", "set_by", "set_at", "iteration")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    PREVIEW_FIELD_NUMBER: _ClassVar[int]
    SET_BY_FIELD_NUMBER: _ClassVar[int]
    SET_AT_FIELD_NUMBER: _ClassVar[int]
    ITERATION_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: str
    size_bytes: int
    preview: str
    set_by: PathNode
    set_at: _timestamp_pb2.Timestamp
    iteration: int
    def __init__(self, name: _Optional[str] = ..., type: _Optional[str] = ..., size_bytes: _Optional[int] = ..., preview: _Optional[str] = ..., set_by: _Optional[_Union[PathNode, _Mapping]] = ..., set_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., iteration: _Optional[int] = ...) -> None: ...

class ListNamespacesRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class NamespaceInfo(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class ListNamespacesResponse(_message.Message):
    __slots__ = ("namespaces", "next_page_token")
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespaces: _containers.RepeatedCompositeFieldContainer[NamespaceInfo]
    next_page_token: str
    def __init__(self, namespaces: _Optional[_Iterable[_Union[NamespaceInfo, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ServerInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ServerInfoResponse(_message.Message):
    __slots__ = ("server_version", "store_id", "store_format", "engine", "features", "limits", "receipt_public_key")
    SERVER_VERSION_FIELD_NUMBER: _ClassVar[int]
    STORE_ID_FIELD_NUMBER: _ClassVar[int]
    STORE_FORMAT_FIELD_NUMBER: _ClassVar[int]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    RECEIPT_PUBLIC_KEY_FIELD_NUMBER: _ClassVar[int]
    server_version: str
    store_id: str
    store_format: int
    engine: str
    features: _containers.RepeatedScalarFieldContainer[str]
    limits: ServerLimits
    receipt_public_key: bytes
    def __init__(self, server_version: _Optional[str] = ..., store_id: _Optional[str] = ..., store_format: _Optional[int] = ..., engine: _Optional[str] = ..., features: _Optional[_Iterable[str]] = ..., limits: _Optional[_Union[ServerLimits, _Mapping]] = ..., receipt_public_key: _Optional[bytes] = ...) -> None: ...

class ServerLimits(_message.Message):
    __slots__ = ("request_bytes", "head_bytes", "calls_per_connection", "reply_bytes", "frame_bytes", "namespace_bytes", "nodes_per_request", "messages_per_request", "calls_per_request", "aliases_per_request", "items_per_request", "messages_per_node", "payload_bytes", "message_bytes", "calls_per_message", "open_calls", "open_call_bytes", "call_id_bytes", "name_bytes", "opaque_type_bytes", "opaque_bytes", "extras_depth", "note_bytes", "notes_bytes", "note_attributes", "attribute_key_bytes", "attribute_value_bytes", "salt_bytes", "metadata_entries", "metadata_key_bytes", "metadata_value_bytes", "alias_bytes", "labels", "label_key_bytes", "label_value_bytes", "node_ids", "last_messages", "fact_keys", "etag_bytes", "page_size", "run_loops", "search_hits", "pattern_bytes", "tool_names", "summary_bytes")
    REQUEST_BYTES_FIELD_NUMBER: _ClassVar[int]
    HEAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    CALLS_PER_CONNECTION_FIELD_NUMBER: _ClassVar[int]
    REPLY_BYTES_FIELD_NUMBER: _ClassVar[int]
    FRAME_BYTES_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_BYTES_FIELD_NUMBER: _ClassVar[int]
    NODES_PER_REQUEST_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_PER_REQUEST_FIELD_NUMBER: _ClassVar[int]
    CALLS_PER_REQUEST_FIELD_NUMBER: _ClassVar[int]
    ALIASES_PER_REQUEST_FIELD_NUMBER: _ClassVar[int]
    ITEMS_PER_REQUEST_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_PER_NODE_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    CALLS_PER_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    OPEN_CALLS_FIELD_NUMBER: _ClassVar[int]
    OPEN_CALL_BYTES_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_BYTES_FIELD_NUMBER: _ClassVar[int]
    NAME_BYTES_FIELD_NUMBER: _ClassVar[int]
    OPAQUE_TYPE_BYTES_FIELD_NUMBER: _ClassVar[int]
    OPAQUE_BYTES_FIELD_NUMBER: _ClassVar[int]
    EXTRAS_DEPTH_FIELD_NUMBER: _ClassVar[int]
    NOTE_BYTES_FIELD_NUMBER: _ClassVar[int]
    NOTES_BYTES_FIELD_NUMBER: _ClassVar[int]
    NOTE_ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTE_KEY_BYTES_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTE_VALUE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SALT_BYTES_FIELD_NUMBER: _ClassVar[int]
    METADATA_ENTRIES_FIELD_NUMBER: _ClassVar[int]
    METADATA_KEY_BYTES_FIELD_NUMBER: _ClassVar[int]
    METADATA_VALUE_BYTES_FIELD_NUMBER: _ClassVar[int]
    ALIAS_BYTES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    LABEL_KEY_BYTES_FIELD_NUMBER: _ClassVar[int]
    LABEL_VALUE_BYTES_FIELD_NUMBER: _ClassVar[int]
    NODE_IDS_FIELD_NUMBER: _ClassVar[int]
    LAST_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    FACT_KEYS_FIELD_NUMBER: _ClassVar[int]
    ETAG_BYTES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    RUN_LOOPS_FIELD_NUMBER: _ClassVar[int]
    SEARCH_HITS_FIELD_NUMBER: _ClassVar[int]
    PATTERN_BYTES_FIELD_NUMBER: _ClassVar[int]
    TOOL_NAMES_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_BYTES_FIELD_NUMBER: _ClassVar[int]
    request_bytes: int
    head_bytes: int
    calls_per_connection: int
    reply_bytes: int
    frame_bytes: int
    namespace_bytes: int
    nodes_per_request: int
    messages_per_request: int
    calls_per_request: int
    aliases_per_request: int
    items_per_request: int
    messages_per_node: int
    payload_bytes: int
    message_bytes: int
    calls_per_message: int
    open_calls: int
    open_call_bytes: int
    call_id_bytes: int
    name_bytes: int
    opaque_type_bytes: int
    opaque_bytes: int
    extras_depth: int
    note_bytes: int
    notes_bytes: int
    note_attributes: int
    attribute_key_bytes: int
    attribute_value_bytes: int
    salt_bytes: int
    metadata_entries: int
    metadata_key_bytes: int
    metadata_value_bytes: int
    alias_bytes: int
    labels: int
    label_key_bytes: int
    label_value_bytes: int
    node_ids: int
    last_messages: int
    fact_keys: int
    etag_bytes: int
    page_size: int
    run_loops: int
    search_hits: int
    pattern_bytes: int
    tool_names: int
    summary_bytes: int
    def __init__(self, request_bytes: _Optional[int] = ..., head_bytes: _Optional[int] = ..., calls_per_connection: _Optional[int] = ..., reply_bytes: _Optional[int] = ..., frame_bytes: _Optional[int] = ..., namespace_bytes: _Optional[int] = ..., nodes_per_request: _Optional[int] = ..., messages_per_request: _Optional[int] = ..., calls_per_request: _Optional[int] = ..., aliases_per_request: _Optional[int] = ..., items_per_request: _Optional[int] = ..., messages_per_node: _Optional[int] = ..., payload_bytes: _Optional[int] = ..., message_bytes: _Optional[int] = ..., calls_per_message: _Optional[int] = ..., open_calls: _Optional[int] = ..., open_call_bytes: _Optional[int] = ..., call_id_bytes: _Optional[int] = ..., name_bytes: _Optional[int] = ..., opaque_type_bytes: _Optional[int] = ..., opaque_bytes: _Optional[int] = ..., extras_depth: _Optional[int] = ..., note_bytes: _Optional[int] = ..., notes_bytes: _Optional[int] = ..., note_attributes: _Optional[int] = ..., attribute_key_bytes: _Optional[int] = ..., attribute_value_bytes: _Optional[int] = ..., salt_bytes: _Optional[int] = ..., metadata_entries: _Optional[int] = ..., metadata_key_bytes: _Optional[int] = ..., metadata_value_bytes: _Optional[int] = ..., alias_bytes: _Optional[int] = ..., labels: _Optional[int] = ..., label_key_bytes: _Optional[int] = ..., label_value_bytes: _Optional[int] = ..., node_ids: _Optional[int] = ..., last_messages: _Optional[int] = ..., fact_keys: _Optional[int] = ..., etag_bytes: _Optional[int] = ..., page_size: _Optional[int] = ..., run_loops: _Optional[int] = ..., search_hits: _Optional[int] = ..., pattern_bytes: _Optional[int] = ..., tool_names: _Optional[int] = ..., summary_bytes: _Optional[int] = ...) -> None: ...
