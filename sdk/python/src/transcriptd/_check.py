"""Checks of arguments: what is wrong names the argument and what to pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from google.protobuf.message import Message

from . import v1

T = TypeVar("T", bound=Message)
_DIGITS = frozenset("0123456789abcdef")


def text(name: str, value: Any, *, empty: bool = True) -> str:
    """A text, which must be one of Unicode scalar values, as UTF-8 has them."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {_kind(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} has a surrogate by itself, which UTF-8 cannot hold") from None
    if not value and not empty:
        raise ValueError(f"{name} must not be empty")
    return value


def node_id(name: str, value: Any, *, empty: bool = False) -> str:
    """The id of a node."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a node's id as a str of 64 hex digits, not {_kind(value)}")
    if value == "" and empty:
        return value
    if len(value) != 64 or not _DIGITS.issuperset(value):
        raise ValueError(f"{name} must be a node's id: 64 lower-case hex digits")
    return value


def salt(value: Any) -> bytes:
    """A salt."""
    if not isinstance(value, (bytes, bytearray)):
        raise TypeError(f"salt must be bytes, not {_kind(value)}")
    if value and not 16 <= len(value) <= 32:
        raise ValueError(f"salt must have 16 to 32 bytes, or none: it has {len(value)}")
    return bytes(value)


def binary(name: str, value: Any) -> bytes:
    """Bytes, or none."""
    if not isinstance(value, (bytes, bytearray)):
        raise TypeError(f"{name} must be bytes, not {_kind(value)}")
    return bytes(value)


def number(name: str, value: Any, *, least: int = 0, most: int = 2**63 - 1) -> int:
    """A whole number in a range."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, not {_kind(value)}")
    if not least <= value <= most:
        raise ValueError(f"{name} must be from {least} to {most}, not {value}")
    return value


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {_kind(value)}")
    return value


def message(name: str, value: Any, kind: type[T]) -> T:
    """A message of the contract."""
    if not isinstance(value, kind):
        how = "; transcriptd.user and its like make one" if kind is v1.Message else ""
        raise TypeError(f"{name} must be a transcriptd.v1.{kind.__name__}, not {_kind(value)}{how}")
    return value


def messages(name: str, values: Any, kind: type[T]) -> list[T]:
    """Several of them."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise TypeError(f"{name} must be a list of transcriptd.v1.{kind.__name__}, not {_kind(values)}")
    return [message(f"{name}[{i}]", value, kind) for i, value in enumerate(values)]


def texts(name: str, values: Any) -> dict[str, str]:
    """A mapping of texts to texts."""
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} must be a dict of str to str, not {_kind(values)}")
    return {text(f"a key of {name}", key): text(f"{name}[{key!r}]", value) for key, value in values.items()}


def instances(name: str, values: Any, kind: type[Any]) -> list[Any]:
    """A list of instances of a class of this package."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        raise TypeError(f"{name} must be a list of transcriptd.{kind.__name__}, not {_kind(values)}")
    for i, value in enumerate(values):
        if not isinstance(value, kind):
            raise TypeError(f"{name}[{i}] must be a transcriptd.{kind.__name__}, not {_kind(value)}")
    return list(values)


def _kind(value: Any) -> str:
    return type(value).__name__
