"""A transcriptd of its own for tests: a process that serves from memory or from a folder."""

from __future__ import annotations

import functools
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
TESTDATA = ROOT / "proto" / "testdata"
ANNOUNCEMENT = re.compile(r"serves gRPC(?: over TLS)? on (\S+?)(?:, metrics and health on \S+)?; data in")


@functools.cache
def binary() -> str:
    """The daemon: the file that TRANSCRIPTD names, or one that is built here."""
    given = os.environ.get("TRANSCRIPTD")
    if given:
        return given
    return build("./cmd/transcriptd")


@functools.cache
def build(package: str) -> str:
    """Builds a command of the repository, once a run, and gives its path."""
    path = str(pathlib.Path(_folder()) / package.rsplit("/", 1)[-1])
    subprocess.run(["go", "build", "-o", path, package], cwd=ROOT, check=True)
    return path


@functools.cache
def _folder() -> str:
    _folders.append(tempfile.TemporaryDirectory(prefix="transcriptd-"))
    return _folders[-1].name


_folders: list[tempfile.TemporaryDirectory[str]] = []


class Daemon:
    """A running daemon; as a context manager it ends behind the block.

    `target` is where it serves. It keeps what it has in the folder `data`, or in memory. `listen` is where it is to serve,
    a free port without; further flags are those of the command.
    """

    def __init__(self, *flags: str, data: str | os.PathLike[str] | None = None, listen: str = "127.0.0.1:0") -> None:
        store = f"badger://{os.fspath(data)}" if data is not None else "memory:"
        words = [binary(), f"--listen={listen}", "--admin-listen=off", f"--store={store}", *flags]
        self._process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        self._log: list[str] = []
        self._announced = threading.Event()
        self.target = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._announced.wait(30) or not self.target:
            self.kill()
            raise RuntimeError("the daemon does not serve:\n" + "".join(self._log))

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._log.append(line)
            found = ANNOUNCEMENT.search(line)
            if found and not self.target:
                self.target = found[1]
                self._announced.set()
        self._announced.set()

    def stop(self) -> None:
        """Drains it and waits for its end."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it at once, as a crash does."""
        self._end(signal.SIGKILL)

    def _end(self, sign: signal.Signals) -> None:
        if self._process.poll() is None:
            self._process.send_signal(sign)
        self._process.wait(30)
        self._reader.join(30)
        assert self._process.stderr is not None
        self._process.stderr.close()

    def log(self) -> str:
        """What it has logged so far."""
        return "".join(self._log)

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
