"""Variables of a chain, which metadata of its nodes set and Client.variables tells."""

from __future__ import annotations

import json
from dataclasses import dataclass

from . import _check

_MOST_BYTES = 4096  # of the value of a metadata entry


def variable_key(name: str) -> str:
    """The metadata key of a variable whose value, as a rule JSON, is the entry's: at most 4 KiB. An empty value unsets it."""
    return "var/" + _check.text("name", name)


def variable_info_key(name: str) -> str:
    """The metadata key of a variable whose value the agent keeps; its entry is a DeclaredVariable's metadata. An empty value unsets it."""
    return "varinfo/" + _check.text("name", name)


@dataclass(frozen=True)
class DeclaredVariable:
    """What an agent tells of a variable whose value it keeps itself, a context of 200 kB say."""

    type: str
    """1 to 64 bytes, in the agent's own words."""
    size: int
    """The bytes of the value: 0 to 2^53 - 1."""
    preview: str = ""
    """The beginning of the value."""
    iteration: int = 0
    """The agent's count of what it did when it set it: 0 to 2^53 - 1."""

    def metadata(self) -> str:
        """The value of the metadata of variable_info_key. Of a preview that is too long for metadata it has what fits."""
        preview = _check.text("preview", self.preview)[:_MOST_BYTES]  # more never fits
        fits, over = 0, len(preview) + 1  # code points that surely fit, and that surely do not
        if len(self._encoded(preview)) <= _MOST_BYTES:
            fits, over = len(preview), len(preview) + 1
        while over - fits > 1:
            middle = (fits + over) // 2
            if len(self._encoded(preview[:middle])) <= _MOST_BYTES:
                fits = middle
            else:
                over = middle
        return self._encoded(preview[:fits]).decode()

    def _encoded(self, preview: str) -> bytes:
        members = {"type": self.type, "size": self.size, "preview": preview, "iteration": self.iteration}
        return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()
