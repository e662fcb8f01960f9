"""Adapters of frameworks over a network that loses requests and replies at random: what was put is there, once."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import grpc
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from between import Between
from daemon import Daemon
from test_langgraph import CALL, builder, states, thread
from test_lossy import RETRY, loses
from transcriptd import AsyncClient, Client, Retry, TranscriptError
from transcriptd.agents import TranscriptSession
from transcriptd.langgraph import TranscriptSaver

WRITERS, BATCHES = 3, 5


@pytest.mark.parametrize("seed", range(3))
def test_sessions(seed: int, daemon: Daemon, namespace: str) -> None:
    async def write(target: str, i: int) -> None:
        async with AsyncClient(target, namespace=namespace, retry=RETRY) as client:
            session = TranscriptSession("s", client)
            for n in range(BATCHES):
                batch: list[Any] = [{"role": "user", "content": f"{i}.{n}.{k}"} for k in range(3)]
                done = False
                while not done:
                    try:
                        await session.add_items(batch)
                        done = True
                    except TranscriptError as error:
                        assert error.code is grpc.StatusCode.UNAVAILABLE  # what was asked is asked again

    async def whole() -> None:
        with Between(daemon.target) as between:
            loses(between, random.Random(seed))
            await asyncio.gather(*(write(between.target, i) for i in range(WRITERS)))
        async with AsyncClient(daemon.target, namespace=namespace, verify=True) as client:
            items: list[Any] = await TranscriptSession("s", client).get_items()
            batches = [tuple(item["content"] for item in items[at : at + 3]) for at in range(0, len(items), 3)]
            assert sorted(batches) == sorted(tuple(f"{i}.{n}.{k}" for k in range(3)) for i in range(WRITERS) for n in range(BATCHES))
            for i in range(WRITERS):
                assert [b for b in batches if b[0].startswith(f"{i}.")] == [tuple(f"{i}.{n}.{k}" for k in range(3)) for n in range(BATCHES)]

    asyncio.run(whole())


@pytest.mark.parametrize("seed", range(3))
def test_checkpoints(seed: int, daemon: Daemon, namespace: str) -> None:
    with Between(daemon.target) as between, Client(between.target, namespace=namespace, retry=Retry(first=0.001, most=0.002)) as client:
        loses(between, random.Random(seed))
        kept = []
        for saver in (InMemorySaver(), TranscriptSaver(client)):
            graph = builder(CALL, AIMessage("3")).compile(checkpointer=saver)
            for turn in ("1+2?", "And again?"):
                graph.invoke({"messages": [HumanMessage(turn)], "notes": "n" * 5000}, thread("t"))
            kept.append(states(graph, thread("t")))
        assert kept[0] == kept[1]
