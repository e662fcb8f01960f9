"""The world: a folder with inbox.jsonl, outbox.jsonl, ledger.jsonl, bell.jsonl and notes/."""

import errno
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Letter:
    """A line of inbox.jsonl."""

    id: str
    text: str
    reply_to: str = ""

    @property
    def reply_id(self) -> str:
        return f"re-{self.id}"

    def call_key(self, depth: int, i: int) -> str:
        """Names the i-th call of the message at a depth in the world: no other call has such a name. The call's own id would not do: models give
        the same one in several rounds, or none."""
        return f"{self.id}/{depth}.{i}"


@dataclass(frozen=True)
class Reply:
    """A line of outbox.jsonl."""

    id: str
    in_reply_to: str
    text: str
    depth: int


@dataclass(frozen=True)
class Payment:
    """A line of ledger.jsonl."""

    key: str
    to: str
    amount: int

    def __str__(self) -> str:
        return f"paid {self.amount} to {self.to}"


class Files:
    """The files of a folder. Lines are on the disk when a method returns."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def inbox(self) -> list[Letter]:
        if not (self._folder / "inbox.jsonl").exists():
            raise FileNotFoundError(f"there is no inbox to read in {self._folder} (--dir names its folder)")
        return [Letter(**line) for line in self._lines("inbox.jsonl")]

    def outbox(self) -> list[Reply]:
        return [Reply(**line) for line in self._lines("outbox.jsonl")]

    def send(self, reply: Reply) -> None:
        self._add("outbox.jsonl", asdict(reply))

    def pay(self, payment: Payment) -> str:
        self._add("ledger.jsonl", asdict(payment))
        return str(payment)

    def paid(self, key: str) -> str | None:
        """Looks a payment up, and tells of it as pay does."""
        return next((str(p) for p in (Payment(**line) for line in self._lines("ledger.jsonl")) if p.key == key), None)

    def ring(self, key: str) -> str:
        """Rings the bell. bell.jsonl is the bell's own: the agent cannot ask it."""
        self._add("bell.jsonl", {"key": key})
        return "rang"

    def note(self, name: str) -> str:
        try:
            return (self._folder / "notes" / f"{Path(name).name}.txt").read_text(encoding="utf-8")
        except (OSError, ValueError):  # also a name that no file can have
            return "There is no such note."

    def _lines(self, name: str) -> list[dict[str, Any]]:
        try:
            data = (self._folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in data.split("\n") if line]

    def _add(self, name: str, line: dict[str, Any]) -> None:
        data = (json.dumps(line, ensure_ascii=False) + "\n").encode()
        file = os.open(self._folder / name, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            written = os.write(file, data)
            if written < len(data):  # a line that is not whole, as on a full disk, would spoil the next one
                os.ftruncate(file, os.fstat(file).st_size - written)
                raise OSError(errno.ENOSPC, f"no room for a line of {name}")
            os.fsync(file)
        finally:
            os.close(file)
