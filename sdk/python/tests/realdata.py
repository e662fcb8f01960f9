"""The real transcripts, which are not part of the repository: docs/data.md."""

from __future__ import annotations

import gzip
import os
import pathlib
from collections.abc import Iterator

import pytest

from transcriptd._json import Value, read, write

FOLDER = os.environ.get("TRANSCRIPTS_DIR", "")
"""Where they are."""

present = pytest.mark.skipif(
    not FOLDER, reason="TRANSCRIPTS_DIR is not set: the real transcripts are not part of the repository, see docs/data.md"
)
"""Skips a test of them where they are not there."""

_FILES = ("claude-code", "tau-airline", "api-wire", "oasst-paths", "swe-agent", "glaive-zh", "gemini-cli")


def lines(name: str) -> Iterator[bytes]:
    """The lines of a file, unpacked where its name ends in .gz."""
    path = pathlib.Path(FOLDER) / name
    with gzip.open(path) if name.endswith(".gz") else path.open("rb") as file:
        yield from file


def member(text: str | bytes, *path: str) -> str | None:
    """A member of a JSON object as it is spelled; None where it is not there."""
    value: Value | None = read(text, "", [])
    for name in path:
        value = value.member(name) if value is not None else None
    return None if value is None else write(value)


def conversations() -> Iterator[tuple[str, str]]:
    """The id of each conversation, and the JSON text of its messages in OpenAI's form."""
    for file in _FILES:
        for line in lines(f"{file}.jsonl.gz"):
            yield member(line, "id") or "", member(line, "messages") or ""
