"""The session of the OpenAI Agents SDK: that SDK's own Runner works with it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, SessionSettings, SQLiteSession, function_tool, handoff
from agents.memory import Session

from daemon import Daemon
from scripted import Scripted, calls, says, thinks
from transcriptd import AsyncClient, assistant, by_alias, call, opaque, v1
from transcriptd.agents import TranscriptSession
from transcriptd.openai import ConversionError

SILENT = RunConfig(tracing_disabled=True)


@function_tool
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return str(a + b)


def run(check: Any, daemon: Daemon, namespace: str) -> None:
    """Runs a check with a client."""

    async def whole() -> None:
        async with AsyncClient(daemon.target, namespace=namespace, verify=True) as client:
            await check(client)

    asyncio.run(whole())


def said(text: str) -> Any:
    return {"role": "user", "content": text}


def test_it_is_a_session(daemon: Daemon, namespace: str) -> None:
    async def check(client: AsyncClient) -> None:
        assert isinstance(TranscriptSession("s", client), Session)
        with pytest.raises(TypeError, match=r"client must be a transcriptd.AsyncClient, not str"):
            TranscriptSession("s", "127.0.0.1:7420")  # type: ignore[arg-type]

    run(check, daemon, namespace)


def test_runs_with_tools_go_on(daemon: Daemon, namespace: str) -> None:
    model = Scripted(
        [thinks("two sums"), calls("add", '{"a": 1, "b": 2}', "c1"), calls("add", '{"a": 3, "b": 4}', "c2")],
        [says("3 and 7")],
        [says("You asked for two sums.")],
    )
    agent = Agent(name="A", model=model, tools=[add])

    async def check(client: AsyncClient) -> None:
        beside = SQLiteSession("s")  # what it has is what another session of that SDK has
        for question in ("1+2 and 3+4?", "What did I ask?"):
            kept = TranscriptSession("s", client)  # as after a new start
            result = await Runner.run(agent, question, session=kept, run_config=SILENT)
            await beside.add_items(result.to_input_list()[len(await beside.get_items()) :])
            assert await kept.get_items() == await beside.get_items()
        assert model.asked[2] == [*(await kept.get_items())[:-1]]
        whole = (await client.assemble(by_alias("chat/s"))).messages()
        assert [m.role for m in whole].count(v1.ROLE_TOOL) == 2  # no result was left out, none made

    run(check, daemon, namespace)


def test_handoffs(daemon: Daemon, namespace: str) -> None:
    second = Agent(name="Second", model=Scripted([says("from the second")]))
    first = Agent(name="First", model=Scripted([calls("transfer_to_second", "{}", "h1")]), handoffs=[handoff(second)])

    async def check(client: AsyncClient) -> None:
        session = TranscriptSession("s", client)
        result = await Runner.run(first, "hi", session=session, run_config=SILENT)
        assert result.last_agent is second
        assert result.final_output == "from the second"
        items = await session.get_items()
        assert [item.get("type", item.get("role")) for item in items] == ["user", "function_call", "function_call_output", "message"]

    run(check, daemon, namespace)


def test_a_failed_run_is_gone_on_with(daemon: Daemon, namespace: str) -> None:
    model = Scripted([calls("add", '{"a": 1, "b": 2}', "c1")], RuntimeError("the provider is away"), [says("3")])
    agent = Agent(name="A", model=model, tools=[add])

    async def check(client: AsyncClient) -> None:
        session = TranscriptSession("s", client)
        with pytest.raises(RuntimeError):
            await Runner.run(agent, "1+2?", session=session, run_config=SILENT)
        resumed = TranscriptSession("s", client)
        assert len(await resumed.get_items()) == 3
        result = await Runner.run(agent, "Go on.", session=resumed, run_config=SILENT)
        assert result.final_output == "3"
        assert [item.get("type", item.get("role")) for item in model.asked[-1]] == ["user", "function_call", "function_call_output", "user"]

    run(check, daemon, namespace)


def test_limits(daemon: Daemon, namespace: str) -> None:
    async def check(client: AsyncClient) -> None:
        session = TranscriptSession("s", client)
        call = [calls("add", "{}", f"c{i}").model_dump(exclude_unset=True) for i in range(6)]
        results = [{"type": "function_call_output", "call_id": f"c{i}", "output": "x"} for i in range(6)]
        items: list[Any] = [said("a"), *call, *results, said("b")]
        await session.add_items(items)
        for limit in range(1, 16):
            assert await session.get_items(limit) == items[-limit:]
        assert await session.get_items(0) == []
        assert await session.get_items() == items
        limited = TranscriptSession("s", client, session_settings=SessionSettings(limit=2))
        assert await limited.get_items() == items[-2:]
        assert await limited.get_items(3) == items[-3:]

    run(check, daemon, namespace)


def test_erased_items(daemon: Daemon, namespace: str) -> None:
    async def check(client: AsyncClient) -> None:
        session = TranscriptSession("s", client)
        items: list[Any] = [
            said("a"),
            {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "why"}]},
            {"type": "function_call", "call_id": "c1", "name": "add", "arguments": '{"a": 1}'},
            {"type": "function_call_output", "call_id": "c1", "output": "x"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "b", "annotations": []}], "type": "message", "id": "m1"},
        ]
        await session.add_items(items)
        async for _ in client.erase(alias_prefix="chat/s", shared_roots=v1.SHARED_ROOTS_ERASE):
            pass
        assert await session.get_items() == [
            said("[erased]"),
            {"role": "assistant", "content": ""},
            {"role": "assistant", "content": "[erased]"},
            {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "[erased]"},
            {"role": "assistant", "content": "[erased]"},
        ]
        for anyone in (session, TranscriptSession("s", client)):
            await anyone.add_items([said("more")])
            assert await anyone.pop_item() == said("more")
            await anyone.clear_session()
            await anyone.add_items([said("anew")])  # the root that all sessions of this name begin with was erased
            assert await anyone.get_items() == [said("anew")]

    run(check, daemon, namespace)


def test_pop_and_clear(daemon: Daemon, namespace: str) -> None:
    async def check(client: AsyncClient) -> None:
        session = TranscriptSession("s", client)
        assert await session.get_items() == []
        assert await session.get_items(3) == []
        assert await session.pop_item() is None
        await session.clear_session()
        await session.add_items([])
        assert await session.get_items() == []
        await session.add_items([said("a"), said("b"), said("c")])
        await session.add_items([said("d")])
        await (await client.open("chat/s")).finish("replied")  # a node without an item
        assert await session.pop_item() == said("d")
        assert await session.pop_item() == said("c")
        assert await session.get_items() == [said("a"), said("b")]
        await session.add_items([said("e")])
        for text in "eba":
            assert await session.pop_item() == said(text)
        assert await session.pop_item() is None
        await session.add_items([said("f")])
        assert await session.get_items() == [said("f")]
        await session.clear_session()
        assert await session.get_items() == []
        await session.add_items([said("g")])
        assert await session.get_items() == [said("g")]

    run(check, daemon, namespace)


def test_a_conversation_that_begins_with_a_message_is_popped_whole(daemon: Daemon, namespace: str) -> None:
    async def check(client: AsyncClient) -> None:
        first = v1.Message(role=v1.ROLE_USER, parts=[v1.Part(text="hi")])
        await client.chat("s", first)
        session = TranscriptSession("s", client)
        assert len(await session.get_items()) == 1
        assert await session.pop_item() is not None
        assert await session.get_items() == []

    run(check, daemon, namespace)


def test_writers_at_once_lose_nothing(daemon: Daemon, namespace: str) -> None:
    async def check(client: AsyncClient) -> None:
        sessions = [TranscriptSession("s", client) for _ in range(4)]
        await asyncio.gather(*(session.add_items([said("same")]) for session in sessions for _ in range(5)))
        assert await sessions[0].get_items() == [said("same")] * 20
        popped = await asyncio.gather(*(session.pop_item() for session in sessions for _ in range(4)))
        assert popped == [said("same")] * 16
        await asyncio.gather(*(session.clear_session() for session in sessions), sessions[0].add_items([said("x")]))
        assert len(await sessions[0].get_items()) <= 5

    run(check, daemon, namespace)


def test_many_items_and_large_ones(daemon: Daemon, namespace: str) -> None:
    async def check(client: AsyncClient) -> None:
        session = TranscriptSession("s", client)
        items: list[Any] = [said(f"{i}") for i in range(1500)]
        await session.add_items(items)
        large: list[Any] = [said("x" * (1 << 20)) for _ in range(5)]
        await session.add_items(large)
        assert await session.get_items() == items + large
        assert await session.get_items(7) == [*items[-2:], *large]

    run(check, daemon, namespace)


def test_what_others_said_in_the_conversation_is_there(daemon: Daemon, namespace: str) -> None:
    async def check(client: AsyncClient) -> None:
        session = TranscriptSession("s", client)
        await session.add_items([said("a")])
        thread = await client.open("chat/s")
        await thread.append(assistant("two sums", call("c1", "add", "{}"), call("c2", "add", "{}")), opaque("adk", b"state"))
        items: list[Any] = await session.get_items()
        assert [item.get("call_id", item.get("content")) for item in items] == ["a", "two sums", "c1", "c2"]
        assert await session.get_items(2) == items[-2:]
        assert await session.pop_item() == items[3]
        assert await session.get_items() == items[:3]
        for item in reversed(items[:3]):
            assert await session.pop_item() == item
        assert await session.pop_item() is None

    run(check, daemon, namespace)


def test_what_is_no_item_is_refused(daemon: Daemon, namespace: str) -> None:
    async def check(client: AsyncClient) -> None:
        session = TranscriptSession("s", client)
        critic: Any = {"role": "critic", "content": "b"}
        with pytest.raises(ConversionError, match=r"items\[0\].role is not a role of this provider"):
            await session.add_items([said("a"), critic])
        assert await session.get_items() == []

    run(check, daemon, namespace)
