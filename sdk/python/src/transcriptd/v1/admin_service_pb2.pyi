import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from . import erasure_pb2 as _erasure_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Scope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SCOPE_UNSPECIFIED: _ClassVar[Scope]
    SCOPE_NAMESPACE: _ClassVar[Scope]
    SCOPE_STORE: _ClassVar[Scope]

class ProblemKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROBLEM_KIND_UNSPECIFIED: _ClassVar[ProblemKind]
    PROBLEM_KIND_FILE: _ClassVar[ProblemKind]
    PROBLEM_KIND_STORE: _ClassVar[ProblemKind]
    PROBLEM_KIND_STRAY: _ClassVar[ProblemKind]
    PROBLEM_KIND_NODE: _ClassVar[ProblemKind]
    PROBLEM_KIND_CONTENT: _ClassVar[ProblemKind]
    PROBLEM_KIND_FOLD: _ClassVar[ProblemKind]
    PROBLEM_KIND_INDEX: _ClassVar[ProblemKind]
    PROBLEM_KIND_COUNTERS: _ClassVar[ProblemKind]
    PROBLEM_KIND_ALIAS: _ClassVar[ProblemKind]
    PROBLEM_KIND_SETTINGS: _ClassVar[ProblemKind]
    PROBLEM_KIND_LAST_PUT: _ClassVar[ProblemKind]

class CollectPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COLLECT_PHASE_UNSPECIFIED: _ClassVar[CollectPhase]
    COLLECT_PHASE_QUEUED: _ClassVar[CollectPhase]
    COLLECT_PHASE_MARKING: _ClassVar[CollectPhase]
    COLLECT_PHASE_HELD: _ClassVar[CollectPhase]
    COLLECT_PHASE_SWEEPING: _ClassVar[CollectPhase]
    COLLECT_PHASE_RECLAIMING: _ClassVar[CollectPhase]
SCOPE_UNSPECIFIED: Scope
SCOPE_NAMESPACE: Scope
SCOPE_STORE: Scope
PROBLEM_KIND_UNSPECIFIED: ProblemKind
PROBLEM_KIND_FILE: ProblemKind
PROBLEM_KIND_STORE: ProblemKind
PROBLEM_KIND_STRAY: ProblemKind
PROBLEM_KIND_NODE: ProblemKind
PROBLEM_KIND_CONTENT: ProblemKind
PROBLEM_KIND_FOLD: ProblemKind
PROBLEM_KIND_INDEX: ProblemKind
PROBLEM_KIND_COUNTERS: ProblemKind
PROBLEM_KIND_ALIAS: ProblemKind
PROBLEM_KIND_SETTINGS: ProblemKind
PROBLEM_KIND_LAST_PUT: ProblemKind
COLLECT_PHASE_UNSPECIFIED: CollectPhase
COLLECT_PHASE_QUEUED: CollectPhase
COLLECT_PHASE_MARKING: CollectPhase
COLLECT_PHASE_HELD: CollectPhase
COLLECT_PHASE_SWEEPING: CollectPhase
COLLECT_PHASE_RECLAIMING: CollectPhase

class NamespaceStatsRequest(_message.Message):
    __slots__ = ("namespace",)
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    def __init__(self, namespace: _Optional[str] = ...) -> None: ...

class NamespaceStatsResponse(_message.Message):
    __slots__ = ("nodes", "messages", "message_bytes", "aliases", "roots", "forks", "settings", "settings_revision")
    NODES_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    ROOTS_FIELD_NUMBER: _ClassVar[int]
    FORKS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_REVISION_FIELD_NUMBER: _ClassVar[int]
    nodes: int
    messages: int
    message_bytes: int
    aliases: int
    roots: int
    forks: int
    settings: NamespaceSettings
    settings_revision: int
    def __init__(self, nodes: _Optional[int] = ..., messages: _Optional[int] = ..., message_bytes: _Optional[int] = ..., aliases: _Optional[int] = ..., roots: _Optional[int] = ..., forks: _Optional[int] = ..., settings: _Optional[_Union[NamespaceSettings, _Mapping]] = ..., settings_revision: _Optional[int] = ...) -> None: ...

class NamespaceSettings(_message.Message):
    __slots__ = ("max_nodes", "max_message_bytes", "max_aliases", "retention")
    MAX_NODES_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_ALIASES_FIELD_NUMBER: _ClassVar[int]
    RETENTION_FIELD_NUMBER: _ClassVar[int]
    max_nodes: int
    max_message_bytes: int
    max_aliases: int
    retention: _containers.RepeatedCompositeFieldContainer[RetentionRule]
    def __init__(self, max_nodes: _Optional[int] = ..., max_message_bytes: _Optional[int] = ..., max_aliases: _Optional[int] = ..., retention: _Optional[_Iterable[_Union[RetentionRule, _Mapping]]] = ...) -> None: ...

class RetentionRule(_message.Message):
    __slots__ = ("alias_prefix", "ttl", "legal_hold")
    ALIAS_PREFIX_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    LEGAL_HOLD_FIELD_NUMBER: _ClassVar[int]
    alias_prefix: str
    ttl: _duration_pb2.Duration
    legal_hold: bool
    def __init__(self, alias_prefix: _Optional[str] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., legal_hold: bool = ...) -> None: ...

class SetNamespaceRequest(_message.Message):
    __slots__ = ("namespace", "settings", "revision")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    settings: NamespaceSettings
    revision: int
    def __init__(self, namespace: _Optional[str] = ..., settings: _Optional[_Union[NamespaceSettings, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class SetNamespaceResponse(_message.Message):
    __slots__ = ("settings", "revision")
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    settings: NamespaceSettings
    revision: int
    def __init__(self, settings: _Optional[_Union[NamespaceSettings, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class VerifyRequest(_message.Message):
    __slots__ = ("namespace", "cursor", "scope", "max_bytes_per_second")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    cursor: str
    scope: Scope
    max_bytes_per_second: int
    def __init__(self, namespace: _Optional[str] = ..., cursor: _Optional[str] = ..., scope: _Optional[_Union[Scope, str]] = ..., max_bytes_per_second: _Optional[int] = ...) -> None: ...

class VerifyProblem(_message.Message):
    __slots__ = ("node_id", "problem", "namespace", "kind")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    problem: str
    namespace: str
    kind: ProblemKind
    def __init__(self, node_id: _Optional[str] = ..., problem: _Optional[str] = ..., namespace: _Optional[str] = ..., kind: _Optional[_Union[ProblemKind, str]] = ...) -> None: ...

class VerifyResponse(_message.Message):
    __slots__ = ("nodes_checked", "entries_checked", "problems", "problems_found", "done", "namespace", "namespaces_checked", "files_checked", "cursor")
    NODES_CHECKED_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_CHECKED_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FOUND_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_CHECKED_FIELD_NUMBER: _ClassVar[int]
    FILES_CHECKED_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    nodes_checked: int
    entries_checked: int
    problems: _containers.RepeatedCompositeFieldContainer[VerifyProblem]
    problems_found: int
    done: bool
    namespace: str
    namespaces_checked: int
    files_checked: int
    cursor: str
    def __init__(self, nodes_checked: _Optional[int] = ..., entries_checked: _Optional[int] = ..., problems: _Optional[_Iterable[_Union[VerifyProblem, _Mapping]]] = ..., problems_found: _Optional[int] = ..., done: bool = ..., namespace: _Optional[str] = ..., namespaces_checked: _Optional[int] = ..., files_checked: _Optional[int] = ..., cursor: _Optional[str] = ...) -> None: ...

class BackupRequest(_message.Message):
    __slots__ = ("namespace", "scope", "since_cursor", "since_digest", "max_bytes_per_second", "continue_cursor", "continue_digest", "plain")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    SINCE_CURSOR_FIELD_NUMBER: _ClassVar[int]
    SINCE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    MAX_BYTES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    CONTINUE_CURSOR_FIELD_NUMBER: _ClassVar[int]
    CONTINUE_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PLAIN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    scope: Scope
    since_cursor: bytes
    since_digest: bytes
    max_bytes_per_second: int
    continue_cursor: bytes
    continue_digest: bytes
    plain: bool
    def __init__(self, namespace: _Optional[str] = ..., scope: _Optional[_Union[Scope, str]] = ..., since_cursor: _Optional[bytes] = ..., since_digest: _Optional[bytes] = ..., max_bytes_per_second: _Optional[int] = ..., continue_cursor: _Optional[bytes] = ..., continue_digest: _Optional[bytes] = ..., plain: bool = ...) -> None: ...

class BackupResponse(_message.Message):
    __slots__ = ("data", "nodes", "aliases", "done", "digest")
    DATA_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    nodes: int
    aliases: int
    done: bool
    digest: bytes
    def __init__(self, data: _Optional[bytes] = ..., nodes: _Optional[int] = ..., aliases: _Optional[int] = ..., done: bool = ..., digest: _Optional[bytes] = ...) -> None: ...

class RestoreRequest(_message.Message):
    __slots__ = ("namespace", "archived", "aliases", "receipts")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    ALIASES_FIELD_NUMBER: _ClassVar[int]
    RECEIPTS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    archived: ArchiveNamespace
    aliases: _containers.RepeatedCompositeFieldContainer[ArchiveAlias]
    receipts: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, namespace: _Optional[str] = ..., archived: _Optional[_Union[ArchiveNamespace, _Mapping]] = ..., aliases: _Optional[_Iterable[_Union[ArchiveAlias, _Mapping]]] = ..., receipts: _Optional[_Iterable[bytes]] = ...) -> None: ...

class RestoreResponse(_message.Message):
    __slots__ = ("aliases_set",)
    ALIASES_SET_FIELD_NUMBER: _ClassVar[int]
    aliases_set: int
    def __init__(self, aliases_set: _Optional[int] = ...) -> None: ...

class ArchiveNamespace(_message.Message):
    __slots__ = ("name", "settings", "settings_revision", "revision_floor", "number")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_FIELD_NUMBER: _ClassVar[int]
    SETTINGS_REVISION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FLOOR_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    name: str
    settings: NamespaceSettings
    settings_revision: int
    revision_floor: int
    number: int
    def __init__(self, name: _Optional[str] = ..., settings: _Optional[_Union[NamespaceSettings, _Mapping]] = ..., settings_revision: _Optional[int] = ..., revision_floor: _Optional[int] = ..., number: _Optional[int] = ...) -> None: ...

class ArchiveAlias(_message.Message):
    __slots__ = ("name", "states", "labels", "revision")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    name: str
    states: _containers.RepeatedCompositeFieldContainer[ArchiveAliasState]
    labels: _containers.ScalarMap[str, str]
    revision: int
    def __init__(self, name: _Optional[str] = ..., states: _Optional[_Iterable[_Union[ArchiveAliasState, _Mapping]]] = ..., labels: _Optional[_Mapping[str, str]] = ..., revision: _Optional[int] = ...) -> None: ...

class ArchiveAliasState(_message.Message):
    __slots__ = ("node", "began_at", "revision")
    NODE_FIELD_NUMBER: _ClassVar[int]
    BEGAN_AT_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    node: bytes
    began_at: _timestamp_pb2.Timestamp
    revision: int
    def __init__(self, node: _Optional[bytes] = ..., began_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., revision: _Optional[int] = ...) -> None: ...

class CollectGarbageRequest(_message.Message):
    __slots__ = ("namespace", "scope", "dry_run", "grace", "max_nodes_per_second", "reclaim_space")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    GRACE_FIELD_NUMBER: _ClassVar[int]
    MAX_NODES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    RECLAIM_SPACE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    scope: Scope
    dry_run: bool
    grace: _duration_pb2.Duration
    max_nodes_per_second: int
    reclaim_space: bool
    def __init__(self, namespace: _Optional[str] = ..., scope: _Optional[_Union[Scope, str]] = ..., dry_run: bool = ..., grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max_nodes_per_second: _Optional[int] = ..., reclaim_space: bool = ...) -> None: ...

class CollectGarbageResponse(_message.Message):
    __slots__ = ("nodes", "messages", "message_bytes", "alias_states", "phase", "progress", "namespace", "namespaces_collected", "done", "file_bytes", "dead_bytes", "aliases_expired", "namespaces_held")
    NODES_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    ALIAS_STATES_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_COLLECTED_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    FILE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DEAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    ALIASES_EXPIRED_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_HELD_FIELD_NUMBER: _ClassVar[int]
    nodes: int
    messages: int
    message_bytes: int
    alias_states: int
    phase: CollectPhase
    progress: float
    namespace: str
    namespaces_collected: int
    done: bool
    file_bytes: int
    dead_bytes: int
    aliases_expired: int
    namespaces_held: int
    def __init__(self, nodes: _Optional[int] = ..., messages: _Optional[int] = ..., message_bytes: _Optional[int] = ..., alias_states: _Optional[int] = ..., phase: _Optional[_Union[CollectPhase, str]] = ..., progress: _Optional[float] = ..., namespace: _Optional[str] = ..., namespaces_collected: _Optional[int] = ..., done: bool = ..., file_bytes: _Optional[int] = ..., dead_bytes: _Optional[int] = ..., aliases_expired: _Optional[int] = ..., namespaces_held: _Optional[int] = ...) -> None: ...

class DeleteNamespaceRequest(_message.Message):
    __slots__ = ("namespace", "confirm")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONFIRM_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    confirm: str
    def __init__(self, namespace: _Optional[str] = ..., confirm: _Optional[str] = ...) -> None: ...

class DeleteNamespaceResponse(_message.Message):
    __slots__ = ("deleted",)
    DELETED_FIELD_NUMBER: _ClassVar[int]
    deleted: bool
    def __init__(self, deleted: bool = ...) -> None: ...
