"""The aliases that SDKs give to messages and conversations."""

from __future__ import annotations

import hashlib
import unicodedata

MAX_ALIAS_BYTES = 512
_MESSAGE, _HASHED, _CHAT = "msg/", "sha256:", "chat/"


def message_alias(message_id: str) -> str:
    """The alias of the message that a platform gave an id.

    It is `msg/` and the id; of an id that has a control character, is over 508 bytes or begins with `sha256:`, it is `msg/sha256:` and
    the SHA-256 of the id in hex.
    """
    raw = message_id.encode()
    plain = len(_MESSAGE) + len(raw) <= MAX_ALIAS_BYTES and not message_id.startswith(_HASHED)
    if plain and not any(unicodedata.category(c) == "Cc" for c in message_id):
        return _MESSAGE + message_id
    return _MESSAGE + _HASHED + hashlib.sha256(raw).hexdigest()


def chat_alias(name: str) -> str:
    """The alias of the conversation of a name: `chat/` and the name, which has to be such that this is an alias."""
    return _CHAT + name
