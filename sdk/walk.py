#!/usr/bin/env python3
"""Walks through a page of the documentation as a new user does: in an empty folder, block by block.

    sdk/walk.py docs/typescript.md

Beside the folder, which is called project, lies the repository as transcriptd. A comment before each fenced block says what it is:

    <!-- run -->           commands: run in the folder; the walk fails where one does
    <!-- serve -->         a command that is left running, until the walk ends; it serves once http://127.0.0.1:7421/readyz answers
    <!-- file: NAME -->    the file NAME of the folder
    <!-- more: NAME -->    further lines of it
    <!-- prints -->        what the commands before have printed, to the letter

A block without such a comment fails the walk: every block of a page runs. KEEP=1 leaves the folder.
"""

import difflib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READY = "http://127.0.0.1:7421/readyz"
SERVES_WITHIN = 180  # seconds; the command may compile the server first
RUNS_WITHIN = 300  # seconds


class Fault(Exception):
    """Why the walk ends."""


def blocks(page):
    """Yield (line, what, name, text) of each fenced block."""
    lines = page.read_text().splitlines()
    mark = None
    i = 0
    while i < len(lines):
        line = lines[i]
        found = re.fullmatch(r"<!-- (run|serve|prints|file: (\S+)|more: (\S+)) -->", line)
        if found:
            mark = found
        elif line.startswith("```"):
            end = next((j for j in range(i + 1, len(lines)) if lines[j].startswith("```")), None)
            if end is None:
                raise Fault(f"{page}:{i + 1}: the block does not end")
            if mark is None:
                raise Fault(f"{page}:{i + 1}: no comment says what the block is")
            text = "".join(f"{each}\n" for each in lines[i + 1 : end])
            yield i + 1, mark[1].split(":")[0], mark[2] or mark[3], text
            mark = None
            i = end
        elif line.strip():
            mark = None
        i += 1


class Walk:
    """A folder and the server that was started for it."""

    def __init__(self, top):
        self.folder = top / "project"
        self.folder.mkdir()
        (top / "transcriptd").symlink_to(ROOT)
        self.environment = os.environ | {"TRANSCRIPTD_STORE": f"badger://{top}/store"}
        self.log = top / "server.log"
        self.server = None
        self.printed = None

    def step(self, what, name, text):
        """Do what a block says."""
        if what == "run":
            self.run(text)
        elif what == "serve":
            self.serve(text)
        elif what == "prints":
            self.prints(text)
        else:
            with (self.folder / name).open("w" if what == "file" else "a") as file:
                file.write(text)

    def run(self, text):
        """Run commands and keep what they print."""
        print(text, end="", flush=True)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            timeout=RUNS_WITHIN,
        )
        print(done.stdout, end="", flush=True)
        if done.returncode != 0:
            raise Fault(f"exit code {done.returncode}")
        self.printed = done.stdout

    def serve(self, text):
        """Start the server and wait until it serves."""
        with socket.socket() as port:
            if port.connect_ex(("127.0.0.1", 7420)) == 0:
                raise Fault("another server listens on 127.0.0.1:7420: stop it first")
        print(text, end="", flush=True)
        with self.log.open("w") as log:
            self.server = subprocess.Popen(
                ["bash", "-c", text],
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + SERVES_WITHIN
        while not ready():
            if self.server.poll() is not None or time.monotonic() > end:
                raise Fault("the server does not serve:\n" + self.log.read_text())
            time.sleep(0.2)

    def prints(self, text):
        """Compare what the commands before printed."""
        if self.printed != text:
            differ = difflib.unified_diff(text.splitlines(), (self.printed or "").splitlines(), "the page", "printed", lineterm="")
            raise Fault("\n".join(differ))

    def stop(self):
        """End the server, and what it started."""
        if self.server is not None and self.server.poll() is None:
            os.killpg(self.server.pid, signal.SIGINT)
            self.server.wait(timeout=60)


def ready():
    """Tell whether the server serves."""
    try:
        with urllib.request.urlopen(READY, timeout=2) as reply:
            return reply.status == 200
    except (urllib.error.URLError, OSError):
        return False


def main(page):
    """Walk through a page."""
    top = Path(tempfile.mkdtemp(prefix="walk-"))
    walk = Walk(top)
    steps = 0
    try:
        for line, what, name, text in blocks(page):
            print(f"--- {page.name}:{line}: {what} {name or ''}".rstrip(), flush=True)
            try:
                walk.step(what, name, text)
            except (Fault, subprocess.TimeoutExpired) as fault:
                raise Fault(f"{page}:{line}: {fault}") from fault
            steps += 1
        if steps == 0:
            raise Fault(f"{page} has no block")
    finally:
        walk.stop()
        if "KEEP" not in os.environ:
            shutil.rmtree(top)
    print(f"{page.name}: {steps} blocks")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        main(Path(sys.argv[1]))
    except Fault as fault:
        sys.exit(str(fault))
