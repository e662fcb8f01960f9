"""Adapters of frameworks over a network that loses requests and replies at random: what was put is there, once."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import grpc
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

import transcriptd
from between import Between, Refusal
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


def failing(between: Between, method: str, numbers: set[int], *, replied: bool = True) -> None:
    """Loses the replies of some calls of an rpc, by their number from 1 on; or refuses the requests."""
    seen = [0]

    def lose(name: str, content: bytes) -> bytes:
        if name == method:
            seen[0] += 1
            if seen[0] in numbers:
                raise Refusal(grpc.StatusCode.UNAVAILABLE) if replied else Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED")
        return content

    between.replies = between.requests = lambda _, content: content
    if replied:
        between.replies = lose
    else:
        between.requests = lose


@pytest.mark.parametrize("replied", [True, False])
def test_items_of_several_steps_are_added_once_though_a_step_fails(replied: bool, daemon: Daemon, namespace: str) -> None:
    async def whole() -> None:
        with Between(daemon.target) as between:
            async with AsyncClient(between.target, namespace=namespace, retry=Retry(attempts=1)) as client:
                session = TranscriptSession("s", client)
                await session.add_items([{"role": "user", "content": "first"}])
                items: list[Any] = [{"role": "user", "content": str(n)} for n in range(2500)]
                failing(between, "PutNode", {2}, replied=replied)
                with pytest.raises(TranscriptError) as failed:
                    await session.add_items(items)
                assert transcriptd.may_have_happened(failed.value)  # the first 1,000 are there
                await session.add_items(items)
                await session.add_items([{"role": "user", "content": "last"}])
                kept: list[Any] = await session.get_items()
                assert [item["content"] for item in kept] == ["first", *map(str, range(2500)), "last"]
                await session.add_items(items)  # what was added whole is added again
                assert len(await session.get_items()) == 5002

    asyncio.run(whole())


def test_items_of_which_one_was_popped_are_added_again_though_their_reply_was_lost(daemon: Daemon, namespace: str) -> None:
    async def whole() -> None:
        with Between(daemon.target) as between:
            async with AsyncClient(between.target, namespace=namespace, retry=Retry(attempts=1)) as client:
                session = TranscriptSession("s", client)
                items: list[Any] = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
                await session.add_items([{"role": "user", "content": "first"}])
                failing(between, "PutNode", {1})
                with pytest.raises(TranscriptError):
                    await session.add_items(items)
                popped: Any = await session.pop_item()
                assert popped["content"] == "b"
                await session.add_items(items)
                kept: list[Any] = await session.get_items()
                assert [one["content"] for one in kept] == ["first", "a", "a", "b"]

    asyncio.run(whole())
