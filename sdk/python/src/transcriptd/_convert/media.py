"""Media types, base64 and data: URLs, in the one spelling in which they are taken apart."""

from __future__ import annotations

import base64
import binascii
import re

_MEDIA_TYPE = re.compile(r"[a-z0-9.+_-]+/[a-z0-9.+_-]+")
_KIND = re.compile(r"[a-z0-9.+_/-]{1,64}")


def decode_base64(text: str) -> bytes | None:
    """The bytes of standard base64 with padding; None where encoding them does not give the same text again."""
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return None
    return data if encode_base64(data) == text else None


def encode_base64(data: bytes) -> str:
    """Standard base64 with padding."""
    return base64.b64encode(data).decode("ascii")


def parse_data_url(url: str) -> tuple[str, bytes] | None:
    """Takes apart data:TYPE;base64,DATA; None where TYPE is no plain lower-case media type, or data_url would give another URL."""
    media_type, found, text = url.removeprefix("data:").partition(";base64,")
    if not url.startswith("data:") or not found or not is_media_type(media_type):
        return None
    data = decode_base64(text)
    return None if data is None else (media_type, data)


def data_url(media_type: str, data: bytes) -> str:
    """The data: URL of some content."""
    return f"data:{media_type};base64,{encode_base64(data)}"


def is_media_type(text: str) -> bool:
    """Whether it is type/subtype of lower-case letters, digits and ".+-_", without parameters."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def placeholder(kind: str) -> str:
    """The text that stands for a piece of content that could not be written."""
    return f"[left out: {kind if _KIND.fullmatch(kind) else 'a part'}]"
