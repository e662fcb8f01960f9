"""LangChain's messages and those of transcripts. Nothing of a LangChain message is lost.

Text, calls, results and names become what views and searches know; all else stands in extras, under "framework".
"""

from __future__ import annotations

import base64
import json
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.base import SerializerProtocol

from . import v1
from ._convert.content import list_form
from ._json import compact, read
from .messages import text

_OWN = "langchain"
_ROLES: dict[type[BaseMessage], v1.Role] = {
    HumanMessage: v1.ROLE_USER,
    AIMessage: v1.ROLE_ASSISTANT,
    SystemMessage: v1.ROLE_SYSTEM,
    ToolMessage: v1.ROLE_TOOL,
}
_CLASSES = {role: kind for kind, role in _ROLES.items()}


def encode(message: BaseMessage, serde: SerializerProtocol) -> v1.Message:
    """The transcript's message of one of LangChain's, of which decode makes an equal one."""
    kind, data = serde.dumps_typed(message)
    try:
        made = _encode(message)
        if serde.dumps_typed(decode(made, serde)) == (kind, data):
            return made
    except (TypeError, ValueError, RecursionError):  # what JSON has not, or a class of its own
        pass
    role = _ROLES.get(type(message), v1.ROLE_ASSISTANT if isinstance(message, AIMessage) else v1.ROLE_USER)
    shown = message.text.encode("utf-8", "replace").decode()
    made = v1.Message(role=role, parts=[v1.Part(text=shown)] if shown else [])
    _keep(made, {"serde": [kind, base64.b64encode(data).decode("ascii")]})
    return made


def decode(message: v1.Message, serde: SerializerProtocol) -> BaseMessage:
    """The LangChain message that was encoded."""
    own: dict[str, Any] = json.loads(message.extras)["framework"][_OWN] if message.extras else {}
    if "serde" in own:
        kind, data = own["serde"]
        made = serde.loads_typed((kind, base64.b64decode(data)))
        assert isinstance(made, BaseMessage)
        return made
    fields = dict(own)
    if message.HasField("name"):
        fields["name"] = message.name
    if message.role == v1.ROLE_TOOL:
        fields["tool_call_id"] = message.tool_call_id
        if message.is_error:
            fields["status"] = "error"
    calls = [part.tool_call for part in message.parts if part.WhichOneof("kind") == "tool_call"]
    if calls:
        fields["tool_calls"] = [
            {"name": call.name, "args": json.loads(call.arguments), "id": call.id if call.HasField("id") else None, "type": "tool_call"}
            for call in calls
        ]
    return _CLASSES[message.role](content=_content(message), **fields)


def _encode(message: BaseMessage) -> v1.Message:
    fields = message.model_dump(exclude_defaults=True)
    fields.pop("type", None)
    made = v1.Message(role=_ROLES.get(type(message), v1.ROLE_UNSPECIFIED), parts=_parts(fields.pop("content", "")))
    if not made.role:
        raise ValueError("a message of another class")
    if isinstance(message.content, list):
        made.content_form = list_form(made.parts)
    name = fields.pop("name", None)
    if name is not None:
        made.name = name
    if isinstance(message, ToolMessage):
        made.tool_call_id = fields.pop("tool_call_id")
        made.is_error = fields.pop("status", "success") == "error"
    if isinstance(message, AIMessage):
        for call in fields.pop("tool_calls", []):
            made.parts.append(v1.Part(tool_call=v1.ToolCall(id=call["id"], name=call["name"], arguments=_dump(call["args"]))))
    if fields:
        _keep(made, fields)
    return made


def _keep(message: v1.Message, fields: dict[str, Any]) -> None:
    message.extras = compact(read(_dump({"framework": {_OWN: fields}}), "extras", []), "extras")


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _parts(content: str | list[Any]) -> list[v1.Part]:
    if isinstance(content, str):
        return [v1.Part(text=content)]
    return [v1.Part(text=block["text"]) if _is_text(block) else v1.Part(json=_dump(block)) for block in content]


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.keys() == {"type", "text"} and block["type"] == "text" and isinstance(block["text"], str)


def _content(message: v1.Message) -> str | list[Any]:
    parts = [part for part in message.parts if part.WhichOneof("kind") != "tool_call"]
    if message.content_form == v1.CONTENT_FORM_UNSPECIFIED and len(parts) == 1 and parts[0].WhichOneof("kind") == "text":
        return text(message)
    return [{"type": "text", "text": part.text} if part.WhichOneof("kind") == "text" else json.loads(part.json) for part in parts]
