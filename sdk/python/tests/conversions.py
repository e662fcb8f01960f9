"""What the tests of all converters do with their vectors."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

import vectors
from transcriptd import identity, v1
from transcriptd._convert.report import ConversionError, Report


@dataclass(frozen=True)
class Converter:
    """The functions of a converter."""

    parse: Callable[[object], tuple[list[v1.Message], Report]]
    format: Callable[[Sequence[v1.Message]], tuple[Any, Report]]
    format_text: Callable[[Sequence[v1.Message]], tuple[str, Report]]
    for_model: Callable[[Sequence[v1.Message]], tuple[Any, Report]]
    for_model_text: Callable[[Sequence[v1.Message]], tuple[str, Report]]

    @classmethod
    def of(cls, module: Any) -> Converter:
        """That of a module."""
        return cls(module.parse, module.format, module.format_text, module.for_model, module.for_model_text)


class Spelled(str):
    """A number by its spelling."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spelled) and str(self) == str(other)

    __hash__ = str.__hash__


def normal(text: str | bytes) -> Any:
    """JSON that compares equal where it is equal: members in any order, numbers by their spelling, lone surrogates aside."""
    return json.loads(text, parse_int=Spelled, parse_float=Spelled, parse_constant=Spelled)


def check_vector(vector: dict[str, Any], converter: Converter) -> None:
    """Checks what a provider's JSON becomes, and what is written of it."""
    messages, report = converter.parse(vector["provider"])
    assert messages == vectors.messages(vector["messages"])
    payload = identity.encode_messages(messages)
    assert payload.hex() == vector["payload_hex"]
    digest = identity.payload_digest(payload)
    assert digest.hex() == vector["payload_digest"]
    assert identity.node_id(v1.NodeEnvelope(payload_digest=digest)) == vector["node_id"]
    assert converter.parse(vector["provider"].encode()) == (messages, report)

    text, written = converter.format_text(messages)
    if all(change.kind == "left_out" for change in report):
        assert normal(text) == normal(vector.get("sent", vector["provider"]))
    if "sent" not in vector:
        assert written == []
    assert json.loads(text) == converter.format(messages)[0]
    if all(change.kind == "left_out" for change in report) and "sent" not in vector:
        assert converter.parse(text)[0] == messages


def check_refused(case: dict[str, Any], converter: Converter) -> None:
    """Checks what is refused, and how."""
    source = bytes.fromhex(case["provider_hex"]) if "provider_hex" in case else case.get("provider", "")
    with pytest.raises(ConversionError) as refused:
        converter.parse(source)
    assert str(refused.value) == case["error"]


def check_for_model(case: dict[str, Any], converter: Converter, parsers: dict[str, Converter]) -> None:
    """Checks what a model is sent."""
    messages, _ = parsers[case["from"]].parse(case["provider"])
    text, report = converter.for_model_text(messages)
    assert normal(text) == normal(case["sent"])
    assert json.loads(text) == converter.for_model(messages)[0]
    assert told(report) == expected(case["changes"])


def check_written(case: dict[str, Any], converter: Converter) -> None:
    """Checks what is written of other messages."""
    text, report = converter.format_text(vectors.messages(case["messages"]))
    assert normal(text) == normal(case["provider"])
    assert told(report) == expected(case["changes"])


def told(report: Report) -> list[tuple[str, str, str, str]]:
    """The changes of a report, in an order that means nothing."""
    return sorted((change.path, change.kind, change.from_, change.to) for change in report)


def expected(changes: list[dict[str, str]]) -> list[tuple[str, str, str, str]]:
    """The changes that a file has."""
    return sorted((change["path"], change["kind"], change.get("from", ""), change.get("to", "")) for change in changes)
