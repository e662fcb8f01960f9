"""The proxy that loses requests and replies: a process of internal/lossy/proxy."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from typing import Any

from daemon import build


class Proxy:
    """A running proxy before a server; as a context manager it ends behind the block. `target` is where clients call."""

    def __init__(self, to: str) -> None:
        words = [build("./internal/lossy/proxy"), "-to", to]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        where = json.loads(self._process.stdout.readline())
        self.target: str = where["address"]
        self._control: str = where["control"]

    def _ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._control + path, method=method, data=data)
        with urllib.request.urlopen(request, timeout=30) as answer:
            told: dict[str, Any] = json.load(answer)
        return told

    def add(self, rule: dict[str, Any]) -> None:
        """Adds a rule."""
        self._ask("POST", "/rules", rule)

    def await_held(self) -> None:
        """Waits until a call is held."""
        self._ask("GET", "/held")

    def release(self) -> None:
        """Lets held calls go on."""
        self._ask("POST", "/release")

    def state(self) -> dict[str, Any]:
        """What it has seen, and the rules that have calls to take still."""
        return self._ask("GET", "/state")

    def reset(self) -> None:
        """Forgets rules and counts."""
        self._ask("POST", "/reset")

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=30)
