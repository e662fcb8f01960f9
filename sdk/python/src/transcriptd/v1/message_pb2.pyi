from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_SYSTEM: _ClassVar[Role]
    ROLE_DEVELOPER: _ClassVar[Role]
    ROLE_USER: _ClassVar[Role]
    ROLE_ASSISTANT: _ClassVar[Role]
    ROLE_TOOL: _ClassVar[Role]

class MessageState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MESSAGE_STATE_UNSPECIFIED: _ClassVar[MessageState]
    MESSAGE_STATE_PARTIAL: _ClassVar[MessageState]
    MESSAGE_STATE_ABORTED: _ClassVar[MessageState]

class ContentForm(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONTENT_FORM_UNSPECIFIED: _ClassVar[ContentForm]
    CONTENT_FORM_PARTS: _ClassVar[ContentForm]
    CONTENT_FORM_ABSENT: _ClassVar[ContentForm]

class Origin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ORIGIN_UNSPECIFIED: _ClassVar[Origin]
    ORIGIN_SUMMARY: _ClassVar[Origin]
    ORIGIN_STUB: _ClassVar[Origin]
    ORIGIN_SHORTENED: _ClassVar[Origin]
    ORIGIN_LEFT_OUT: _ClassVar[Origin]
ROLE_UNSPECIFIED: Role
ROLE_SYSTEM: Role
ROLE_DEVELOPER: Role
ROLE_USER: Role
ROLE_ASSISTANT: Role
ROLE_TOOL: Role
MESSAGE_STATE_UNSPECIFIED: MessageState
MESSAGE_STATE_PARTIAL: MessageState
MESSAGE_STATE_ABORTED: MessageState
CONTENT_FORM_UNSPECIFIED: ContentForm
CONTENT_FORM_PARTS: ContentForm
CONTENT_FORM_ABSENT: ContentForm
ORIGIN_UNSPECIFIED: Origin
ORIGIN_SUMMARY: Origin
ORIGIN_STUB: Origin
ORIGIN_SHORTENED: Origin
ORIGIN_LEFT_OUT: Origin

class Message(_message.Message):
    __slots__ = ("role", "parts", "tool_call_id", "is_error", "name", "state", "content_form", "joined", "origin", "extras")
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_ID_FIELD_NUMBER: _ClassVar[int]
    IS_ERROR_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FORM_FIELD_NUMBER: _ClassVar[int]
    JOINED_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    EXTRAS_FIELD_NUMBER: _ClassVar[int]
    role: Role
    parts: _containers.RepeatedCompositeFieldContainer[Part]
    tool_call_id: str
    is_error: bool
    name: str
    state: MessageState
    content_form: ContentForm
    joined: bool
    origin: Origin
    extras: str
    def __init__(self, role: _Optional[_Union[Role, str]] = ..., parts: _Optional[_Iterable[_Union[Part, _Mapping]]] = ..., tool_call_id: _Optional[str] = ..., is_error: bool = ..., name: _Optional[str] = ..., state: _Optional[_Union[MessageState, str]] = ..., content_form: _Optional[_Union[ContentForm, str]] = ..., joined: bool = ..., origin: _Optional[_Union[Origin, str]] = ..., extras: _Optional[str] = ...) -> None: ...

class Part(_message.Message):
    __slots__ = ("extras", "text", "reasoning", "media", "json", "tool_call", "opaque")
    EXTRAS_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    REASONING_FIELD_NUMBER: _ClassVar[int]
    MEDIA_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    TOOL_CALL_FIELD_NUMBER: _ClassVar[int]
    OPAQUE_FIELD_NUMBER: _ClassVar[int]
    extras: str
    text: str
    reasoning: Reasoning
    media: Media
    json: str
    tool_call: ToolCall
    opaque: Opaque
    def __init__(self, extras: _Optional[str] = ..., text: _Optional[str] = ..., reasoning: _Optional[_Union[Reasoning, _Mapping]] = ..., media: _Optional[_Union[Media, _Mapping]] = ..., json: _Optional[str] = ..., tool_call: _Optional[_Union[ToolCall, _Mapping]] = ..., opaque: _Optional[_Union[Opaque, _Mapping]] = ...) -> None: ...

class Reasoning(_message.Message):
    __slots__ = ("text", "signature", "redacted_data")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    REDACTED_DATA_FIELD_NUMBER: _ClassVar[int]
    text: str
    signature: str
    redacted_data: bytes
    def __init__(self, text: _Optional[str] = ..., signature: _Optional[str] = ..., redacted_data: _Optional[bytes] = ...) -> None: ...

class Media(_message.Message):
    __slots__ = ("media_type", "inline", "uri", "blob_digest")
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    INLINE_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    BLOB_DIGEST_FIELD_NUMBER: _ClassVar[int]
    media_type: str
    inline: bytes
    uri: str
    blob_digest: bytes
    def __init__(self, media_type: _Optional[str] = ..., inline: _Optional[bytes] = ..., uri: _Optional[str] = ..., blob_digest: _Optional[bytes] = ...) -> None: ...

class ToolCall(_message.Message):
    __slots__ = ("id", "name", "arguments")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    id: str
    name: str
    arguments: str
    def __init__(self, id: _Optional[str] = ..., name: _Optional[str] = ..., arguments: _Optional[str] = ...) -> None: ...

class Opaque(_message.Message):
    __slots__ = ("type", "data")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    type: str
    data: bytes
    def __init__(self, type: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...
