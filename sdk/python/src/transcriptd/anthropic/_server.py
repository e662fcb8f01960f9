"""Blocks of server tools: those that the API takes back without a beta header."""

from __future__ import annotations

import re

from .._convert.groups import Names
from .._json import Value

SERVER_CALL = "server_tool_use"
"""The type of a server tool's call."""

_ANSWERS = {
    **{
        tool: f"{tool}_tool_result"
        for tool in ("web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution")
    },
    "tool_search_tool_regex": "tool_search_tool_result",
    "tool_search_tool_bm25": "tool_search_tool_result",
}
"""By tool: the type of its results."""

_ID = re.compile("srvtoolu_[^-]+", re.DOTALL)
_ALWAYS = {"type", "cache_control", "caller"}


def server_block(value: Value, kind: str, ids: Names) -> tuple[str, str]:
    """Of a server tool's call its id, which is taken, and the type of its result; of such a result the id of the call that it answers.

    The id is empty where the API does not take the block, or has the id already.
    """
    if kind == SERVER_CALL:
        call_id, answer = _id(value, "id"), _ANSWERS.get(_text(value, "name"), "")
        given = value.member("input")
        if not answer or given is None or given.kind != "object" or not _has_only(value, "id", "name", "input") or not ids.take(call_id):
            return "", ""
        return call_id, answer
    if kind in _ANSWERS.values() and "content" in value.members and _has_only(value, "tool_use_id", "content"):
        return _id(value, "tool_use_id"), ""
    return "", ""


def _id(value: Value, member: str) -> str:
    """The id of a server tool's call, or nothing where the member has another form."""
    text = _text(value, member)
    return text if _ID.fullmatch(text) else ""


def _text(value: Value, member: str) -> str:
    """The text of a member that is a string, or nothing."""
    found = value.member(member)
    return (found.string or "") if found is not None else ""


def _has_only(value: Value, *names: str) -> bool:
    """Whether a block has no members but these, those of every block, and who called."""
    return _ALWAYS.union(names).issuperset(value.members)
