"""What calls cost in this language: `run.sh bench KIND ADDRESS NAME` prints one line of JSON for tools/limits/sdks, which
says what each figure is and has put the chains. KIND is sync or async; NAME is that of a chat that nobody has begun."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import transcriptd
from transcriptd import v1

APPENDS, ASKED, READS, EARLY = 300, 50, 21, 10_000
PAGE = os.sysconf("SC_PAGE_SIZE")


def rss() -> int:
    """The bytes of memory that the process has now."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * PAGE


class Memory:
    """What the process has while messages come: once the first have, and the most from then on."""

    def __init__(self) -> None:
        self.messages = self.early = self.most = 0

    def came(self, frame: transcriptd.Assembly) -> None:
        self.messages += len(frame.messages())
        if self.messages >= EARLY:
            self.most = max(self.most, rss())
            self.early = self.early or self.most

    def told(self, began: float) -> dict[str, Any]:
        seconds = time.perf_counter() - began
        return {"stream_ms": seconds * 1000, "messages": self.messages, "early_bytes": self.early, "most_bytes": self.most}


def median(times: list[float]) -> float:
    return statistics.median(times) * 1000


def synchronous(address: str, name: str) -> dict[str, Any]:
    def timed(times: int, call: Callable[[], object]) -> float:
        took = []
        for _ in range(times):
            began = time.perf_counter()
            call()
            took.append(time.perf_counter() - began)
        return median(took)

    with transcriptd.Client(address) as client, transcriptd.Client(address, verify=True) as strict:
        thread = client.chat(name, transcriptd.system("You are helpful."))
        said = transcriptd.user("x" * 200)
        timed(50, lambda: thread.append(said))
        session = client.open("session")
        long = transcriptd.by_alias("long")
        figures: dict[str, Any] = {
            "append_ms": timed(APPENDS, lambda: thread.append(said)),
            "ask_ms": timed(ASKED, lambda: session.messages(transcriptd.coding())),
            "read_ms": timed(READS, lambda: client.assemble(long).messages()),
            "verified_ms": timed(READS, lambda: strict.assemble(long).messages()),
        }
        memory, began = Memory(), time.perf_counter()
        for frame in client.frames(transcriptd.by_alias("deep"), view=v1.VIEW_FULL):
            memory.came(frame)
        return figures | memory.told(began)


async def asynchronous(address: str, name: str) -> dict[str, Any]:
    async def timed(times: int, call: Callable[[], Awaitable[object]]) -> float:
        took = []
        for _ in range(times):
            began = time.perf_counter()
            await call()
            took.append(time.perf_counter() - began)
        return median(took)

    async def read(client: transcriptd.AsyncClient) -> list[v1.Message]:
        return (await client.assemble(transcriptd.by_alias("long"))).messages()

    async with transcriptd.AsyncClient(address) as client, transcriptd.AsyncClient(address, verify=True) as strict:
        thread = await client.chat(name, transcriptd.system("You are helpful."))
        said = transcriptd.user("x" * 200)
        await timed(50, lambda: thread.append(said))
        session = await client.open("session")
        figures: dict[str, Any] = {
            "append_ms": await timed(APPENDS, lambda: thread.append(said)),
            "ask_ms": await timed(ASKED, lambda: session.messages(transcriptd.coding())),
            "read_ms": await timed(READS, lambda: read(client)),
            "verified_ms": await timed(READS, lambda: read(strict)),
        }
        memory, began = Memory(), time.perf_counter()
        async for frame in client.frames(transcriptd.by_alias("deep"), view=v1.VIEW_FULL):
            memory.came(frame)
        return figures | memory.told(began)


if __name__ == "__main__":
    kind, address, name = sys.argv[1:]
    print(json.dumps(synchronous(address, name) if kind == "sync" else asyncio.run(asynchronous(address, name))))
