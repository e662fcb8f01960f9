"""Writers over a network that loses requests and replies at random: what was said is there, once."""

from __future__ import annotations

import asyncio
import random
import threading
from typing import Any

import grpc
import pytest

import transcriptd
from between import Between, Refusal
from daemon import Daemon
from transcriptd import AsyncClient, Client, Retry, v1

WRITERS, APPENDS = 4, 8
RETRY = Retry(attempts=2, first=0.001, most=0.002)


def loses(between: Between, draw: random.Random) -> None:
    """Loses every fifth request and every third reply, at random."""

    def lose(share: float) -> Any:
        def change(_: str, what: bytes) -> bytes:
            if draw.random() < share:
                raise Refusal(grpc.StatusCode.UNAVAILABLE)
            return what

        return change

    between.requests, between.replies = lose(0.2), lose(0.3)


def check(client: Client) -> None:
    """Each writer's messages are there, each once and in its order, and nothing else is."""
    texts = [transcriptd.text(m) for m in client.assemble(transcriptd.by_alias("chat/1"), view=v1.VIEW_FULL).messages()]
    assert texts[0] == "s"
    assert sorted(texts[1:]) == sorted(f"{i}.{n}" for i in range(WRITERS) for n in range(APPENDS))
    for i in range(WRITERS):
        assert [text for text in texts if text.startswith(f"{i}.")] == [f"{i}.{n}" for n in range(APPENDS)]
    stats = client.stats()
    assert (stats.nodes, stats.forks) == (1 + WRITERS * APPENDS, 0)


@pytest.mark.parametrize("seed", range(3))
def test_writers_in_threads(seed: int, daemon: Daemon, namespace: str) -> None:
    def write(target: str, i: int) -> None:
        with Client(target, namespace=namespace, retry=RETRY) as client:
            thread = persist(lambda: client.chat("1", transcriptd.system("s")))
            for n in range(APPENDS):
                done = False
                while not done:
                    try:
                        thread.append(transcriptd.user(f"{i}.{n}"))
                        done = True
                    except transcriptd.AliasMovedError as error:
                        assert not transcriptd.may_have_happened(error)
                        persist(thread.refresh)
                    except transcriptd.TranscriptError as error:
                        assert error.code is grpc.StatusCode.UNAVAILABLE

    def persist(call: Any) -> Any:
        while True:
            try:
                return call()
            except transcriptd.TranscriptError as error:
                assert error.code is grpc.StatusCode.UNAVAILABLE

    with Between(daemon.target) as between:
        loses(between, random.Random(seed))
        writers = [threading.Thread(target=write, args=(between.target, i)) for i in range(WRITERS)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(60)
    with Client(daemon.target, namespace=namespace, verify=True) as client:
        check(client)


def test_asynchronous_writers(daemon: Daemon, namespace: str) -> None:
    async def write(client: AsyncClient, i: int) -> None:
        thread = await persist(lambda: client.chat("1", transcriptd.system("s")))
        for n in range(APPENDS):
            done = False
            while not done:
                try:
                    await thread.append(transcriptd.user(f"{i}.{n}"))
                    done = True
                except transcriptd.AliasMovedError:
                    await persist(thread.refresh)
                except transcriptd.TranscriptError as error:
                    assert error.code is grpc.StatusCode.UNAVAILABLE

    async def persist(call: Any) -> Any:
        while True:
            try:
                return await call()
            except transcriptd.TranscriptError as error:
                assert error.code is grpc.StatusCode.UNAVAILABLE

    async def main(target: str) -> None:
        async with AsyncClient(target, namespace=namespace, retry=RETRY) as client:
            await asyncio.gather(*(write(client, i) for i in range(WRITERS)))

    with Between(daemon.target) as between:
        loses(between, random.Random(7))
        asyncio.run(main(between.target))
    with Client(daemon.target, namespace=namespace, verify=True) as client:
        check(client)
