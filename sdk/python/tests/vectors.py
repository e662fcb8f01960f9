"""How the files of proto/testdata are read: its README.md describes them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from google.protobuf import json_format

from daemon import TESTDATA
from transcriptd import v1


def load(name: str) -> Any:
    """A file of vectors."""
    return json.loads((TESTDATA / name).read_text(encoding="utf-8"))


def messages(given: Iterable[Any]) -> list[v1.Message]:
    """Messages in the JSON form of protobuf."""
    return [json_format.ParseDict(message, v1.Message()) for message in given]


def expand(vector: dict[str, Any]) -> list[v1.Message]:
    """The messages of a vector, its recipe carried out."""
    made = messages(vector["messages"])
    for fill in vector.get("fill", []):
        part, content = made[fill["message"]].parts[fill["part"]], fill["unit"] * fill["times"]
        if fill.get("opaque"):
            part.opaque.data = content.encode()
        else:
            part.text = content
    for message in made:
        parts = list(message.parts)
        for _ in range(vector.get("part_copies", 1) - 1):
            message.parts.extend(parts)
    return made * int(vector.get("message_copies", 1))


def metadata(vector: dict[str, Any]) -> list[v1.MetadataEntry]:
    """The metadata of a vector, in the order in which it is given."""
    return [v1.MetadataEntry(key=entry["key"], value=entry["value"]) for entry in vector.get("metadata", [])]


def named(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Arguments of pytest.mark.parametrize for cases with names."""
    return {"argvalues": cases, "ids": [case.get("name", str(i)) for i, case in enumerate(cases)]}
