"""What a session costs: adding an item, and reading all and the last five, as it grows.

agents_figures.py [ITEMS]    prints them, 2,500 items without; the daemon is that of the tests
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable
from typing import Any

from daemon import Daemon
from transcriptd import AsyncClient
from transcriptd.agents import TranscriptSession


async def timed(call: Awaitable[Any]) -> float:
    """The milliseconds of a call."""
    start = time.perf_counter()
    await call
    return 1000 * (time.perf_counter() - start)


async def measure(target: str, items: int) -> None:
    async with AsyncClient(target) as client:
        session = TranscriptSession("figures", client)
        for at in sorted({10, items // 4, items // 2, items}):
            have = len(await session.get_items())
            batch: list[Any] = [{"role": "user", "content": "x" * 200} for _ in range(at - have - 1)]
            await session.add_items(batch)
            adds = [await timed(session.add_items([{"role": "user", "content": "y" * 200}]))]
            every = min([await timed(session.get_items()) for _ in range(5)])
            last = min([await timed(session.get_items(5)) for _ in range(5)])
            for _ in range(20):
                adds.append(await timed(session.add_items([{"role": "user", "content": "y" * 200}])))
                await session.pop_item()
            print(f"{at} items: add one {sorted(adds)[len(adds) // 2]:.1f} ms, all {every:.1f} ms, the last five {last:.1f} ms")


if __name__ == "__main__":
    with Daemon() as daemon:
        asyncio.run(measure(daemon.target, int(sys.argv[1]) if len(sys.argv) > 1 else 2500))
