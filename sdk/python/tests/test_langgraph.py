"""The checkpointers of LangGraph: its own conformance suite, and graphs that run with them."""

from __future__ import annotations

import asyncio
import datetime
import itertools
import os
from collections.abc import AsyncGenerator, Iterator
from statistics import median
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, interrupt

import langgraph_figures
from between import Between
from daemon import Daemon
from transcriptd import AsyncClient, Client, PayloadErasedError, _langchain, by_id, call, calls, text, v1
from transcriptd.checkpoint_state import Chain, Chains, Place
from transcriptd.langgraph import AsyncTranscriptSaver, CheckpointErasedError, TranscriptSaver
from transcriptd.rules import check_messages


@pytest.mark.parametrize("kind", [AsyncTranscriptSaver, TranscriptSaver])
def test_the_conformance_suite(daemon: Daemon, namespace: str, kind: Any) -> None:
    @checkpointer_test(name="transcriptd")
    async def saver() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        if kind is AsyncTranscriptSaver:
            async with AsyncClient(daemon.target, namespace=namespace, verify=True) as client:
                yield AsyncTranscriptSaver(client)
        else:
            with Client(daemon.target, namespace=namespace, verify=True) as plain:
                yield TranscriptSaver(plain)

    report = asyncio.run(validate(saver))
    results = report.results.values()
    told = [failure for result in results for failure in result.failures or []]
    assert told == []
    assert sum(result.tests_passed for result in results if result.detected) == 58


class State(TypedDict):
    """Messages, a large value that seldom changes, and a small one that does."""

    messages: Annotated[list[AnyMessage], add_messages]
    notes: str | bytes
    count: int


@tool
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return str(a + b)


def builder(*answers: BaseMessage) -> StateGraph[Any, Any, Any, Any]:
    """An agent whose model answers by a script, which begins again."""
    script = itertools.cycle(answers)

    def model(state: State) -> dict[str, Any]:
        return {"messages": [next(script).model_copy()], "count": state.get("count", 0) + 1}

    def tools(state: State) -> dict[str, Any]:
        last = state["messages"][-1]
        assert isinstance(last, AIMessage)
        results = [ToolMessage(add.invoke(call["args"]), tool_call_id=call["id"] or "", name="add") for call in last.tool_calls]
        return {"messages": results}

    def after(state: State) -> str:
        last = state["messages"][-1] if state["messages"] else None
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tools", tools)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", after, ["tools", END])
    graph.add_edge("tools", "model")
    return graph


CALL = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1, "b": 2}, "id": "c1", "type": "tool_call"}])


def thread(name: str, **more: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name, **more}}


def states(graph: Any, config: RunnableConfig) -> list[tuple[Any, ...]]:
    """What a graph tells of its history, without what differs from run to run."""
    return [
        (
            [(type(m), m.content, getattr(m, "tool_calls", None)) for m in snapshot.values.get("messages", [])],
            {k: v for k, v in snapshot.values.items() if k != "messages"},
            snapshot.next,
            snapshot.metadata["step"],
            snapshot.metadata["source"],
        )
        for snapshot in graph.get_state_history(config)
    ]


@pytest.fixture
def client(daemon: Daemon, namespace: str) -> Iterator[Client]:
    with Client(daemon.target, namespace=namespace, verify=True) as made:
        yield made


def test_a_graph_has_the_history_that_it_has_in_memory(client: Client) -> None:
    kept: list[list[tuple[Any, ...]]] = []
    for saver in (InMemorySaver(), TranscriptSaver(client)):
        graph = builder(CALL, AIMessage("3")).compile(checkpointer=saver)
        for turn in ("1+2?", "And again?"):
            graph.invoke({"messages": [("user", turn)], "notes": "n" * 5000}, thread("t"))
        if isinstance(saver, TranscriptSaver):
            graph = builder(AIMessage("new")).compile(checkpointer=TranscriptSaver(client))  # as after a new start
        kept.append(states(graph, thread("t")))
    assert kept[0] == kept[1]
    assert len(kept[1]) == 10


def test_graphs_run_with_asyncio(daemon: Daemon, namespace: str) -> None:
    def node(number: int) -> Any:
        async def answer(_: State) -> dict[str, Any]:
            await asyncio.sleep(0)
            return {"messages": [AIMessage(f"{number}", id=f"m{number}")]}

        return answer

    graph = StateGraph(State)
    for number in range(3):
        graph.add_node(f"n{number}", node(number))
        graph.add_edge(START, f"n{number}")

    async def whole() -> None:
        async with AsyncClient(daemon.target, namespace=namespace, verify=True) as client:
            made: Any = graph.compile(checkpointer=AsyncTranscriptSaver(client))
            await asyncio.gather(*(made.ainvoke({"messages": [HumanMessage("go")]}, thread(f"t{i}")) for i in range(5)))
            for i in range(5):
                again: Any = graph.compile(checkpointer=AsyncTranscriptSaver(client))
                await again.ainvoke({"messages": [HumanMessage("more")]}, thread(f"t{i}"))
                kept = (await again.aget_state(thread(f"t{i}"))).values["messages"]
                assert [m.content for m in kept] == ["go", "0", "1", "2", "more"]  # answers with an id that is there replace it
                assert len([s async for s in again.aget_state_history(thread(f"t{i}"), limit=3)]) == 3

    asyncio.run(whole())


def test_writes_that_were_put_stay(client: Client) -> None:
    saver = TranscriptSaver(client)
    graph = builder(AIMessage("ho", id="a")).compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("hi", id="h")]}, thread("t"))
    config = graph.get_state(thread("t")).config
    saver.put_writes(config, [("count", 1), ("messages", [AIMessage("x", id="x")]), ("messages", AIMessage("y", id="y"))], "task", "path")
    saver.put_writes(config, [("count", 2), ("count", 3), ("count", 4), ("count", 5)], "task", "path")
    saver.put_writes(config, [("__error__", "first")], "task")
    saver.put_writes(config, [("__error__", "second")], "task")
    again = TranscriptSaver(client).get_tuple(config)
    assert again is not None
    assert again.pending_writes == [
        ("task", "__error__", "second"),
        ("task", "count", 1),
        ("task", "messages", [AIMessage("x", id="x")]),
        ("task", "messages", AIMessage("y", id="y")),
        ("task", "count", 5),
    ]


def test_a_checkpoint_that_is_put_again_replaces_the_one_before(client: Client) -> None:
    saver = TranscriptSaver(client)
    graph = builder(AIMessage("ho")).compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("hi")]}, thread("t"))
    found = saver.get_tuple(thread("t"))
    assert found is not None
    saver.put_writes(found.config, [("count", "before")], "task")
    config: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    for _ in range(2):
        checkpoint: Any = {**found.checkpoint, "channel_values": {"count": "x" * 3000}, "channel_versions": {"count": 9}}
        saver.put(config, checkpoint, found.metadata, {"count": 9})
    again = TranscriptSaver(client).get_tuple(found.config)
    assert again is not None
    assert again.checkpoint["channel_values"] == {"count": "x" * 3000}
    assert again.pending_writes == [("task", "count", "before")]


def test_messages_are_those_of_a_conversation(client: Client) -> None:
    graph = builder(CALL, AIMessage("3")).compile(checkpointer=TranscriptSaver(client))
    graph.invoke({"messages": [("user", "1+2?")]}, thread("a/b", checkpoint_ns=""))
    last = next(iter(client.aliases(prefix="lg/c/=a%2Fb/=/", reverse=True)))
    view = client.assemble(by_id(last.node_id)).messages()
    assert [(m.role, text(m)) for m in view] == [
        (v1.ROLE_USER, "1+2?"),
        (v1.ROLE_ASSISTANT, ""),
        (v1.ROLE_TOOL, "3"),
        (v1.ROLE_ASSISTANT, "3"),
    ]
    assert calls(view[1]) == [call("c1", "add", '{"a": 1, "b": 2}')]
    assert len(list(client.search("1+2", head=by_id(last.node_id)))) == 1


def test_an_interrupt_is_gone_on_with_by_another_process(client: Client) -> None:
    def ask(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage(f"You said {interrupt('What?')}.")]}

    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    first: Any = graph.compile(checkpointer=TranscriptSaver(client))
    assert first.invoke({"messages": [("user", "hi")]}, thread("t"))["__interrupt__"][0].value == "What?"
    second = graph.compile(checkpointer=TranscriptSaver(client))
    assert second.get_state(thread("t")).next == ("ask",)
    assert second.invoke(Command(resume="yes"), thread("t"))["messages"][-1].content == "You said yes."


def test_time_travel_and_removed_messages(client: Client) -> None:
    saver = TranscriptSaver(client)
    graph = builder(AIMessage("one"), AIMessage("two"), AIMessage("other two")).compile(checkpointer=saver)
    for turn in ("first", "second"):
        graph.invoke({"messages": [("user", turn)]}, thread("t"))
    after_first = next(s for s in graph.get_state_history(thread("t")) if not s.next and len(s.values["messages"]) == 2)
    graph.invoke({"messages": [("user", "another second")]}, after_first.config)
    now = graph.get_state(thread("t")).values["messages"]
    assert [m.content for m in now] == ["first", "one", "another second", "other two"]
    graph.update_state(thread("t"), {"messages": [RemoveMessage(now[0].id), AIMessage("mended", id=now[1].id)]})
    again = builder().compile(checkpointer=TranscriptSaver(client)).get_state(thread("t")).values["messages"]
    assert [m.content for m in again] == ["mended", "another second", "other two"]
    graph.update_state(thread("t"), {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]})
    assert graph.get_state(thread("t")).values["messages"] == []
    everything = [[m.content for m in s.values.get("messages", [])] for s in graph.get_state_history(thread("t"))]
    assert ["first", "one", "second", "two"] in everything


def test_a_thread_is_deleted_by_itself(client: Client) -> None:
    graph = builder(AIMessage("ho")).compile(checkpointer=TranscriptSaver(client))
    for name in ("t", "t2"):
        graph.invoke({"messages": [HumanMessage("hi")], "notes": "n" * 5000}, thread(name))
    deleted = graph.get_state(thread("t")).config
    saver = TranscriptSaver(client)
    assert saver.get_tuple(deleted) is not None
    saver.delete_thread("t")
    assert saver.get_tuple(thread("t")) is None
    assert saver.get_tuple(deleted) is None
    assert list(saver.list(thread("t"))) == []
    assert saver.get_tuple(thread("t2")) is not None
    assert {info.name.split("/")[2] for info in client.aliases()} == {"=t2"}
    graph.invoke({"messages": [("user", "again")]}, thread("t"))
    assert len(graph.get_state(thread("t")).values["messages"]) == 2


def test_large_values_and_long_names(client: Client) -> None:
    saver = TranscriptSaver(client)
    graph = builder(AIMessage("ho")).compile(checkpointer=saver)
    large = os.urandom(4 << 20)  # over 3 MiB: two nodes
    config = thread("t" * 300, checkpoint_ns="")
    graph.invoke({"messages": [("user", "x" * (2 << 20))] * 3, "notes": large}, config)
    values = builder().compile(checkpointer=TranscriptSaver(client)).get_state(config).values
    assert values["notes"] == large
    assert [len(m.content) for m in values["messages"]] == [2 << 20] * 3 + [2]
    saver.put_writes(graph.get_state(config).config, [("notes", large)], "task")
    found = saver.get_tuple(config)
    assert found is not None
    assert found.pending_writes == [("task", "notes", large)]


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage("hi"),
        HumanMessage("", id="1", name="ann"),
        HumanMessage([{"type": "text", "text": "hi"}]),
        HumanMessage(["a", {"type": "text", "text": "b", "cache_control": {}}, {"type": "image_url", "image_url": {"url": "https://x"}}]),
        HumanMessage([]),
        SystemMessage("S", additional_kwargs={"a": [1.5, None, "ü\u2028"]}),
        AIMessage(
            "x", response_metadata={"model": "m", "n": 1e300}, usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
        ),
        AIMessage("", tool_calls=[{"name": "f", "args": {"a": {"b": [1, 2.0]}}, "id": None, "type": "tool_call"}]),
        AIMessage([{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "x"}]),
        AIMessage("x", invalid_tool_calls=[{"name": "f", "args": "{", "id": "c", "error": "e", "type": "invalid_tool_call"}]),
        AIMessage("x", additional_kwargs={"when": datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc), "t": (1, 2)}),
        AIMessageChunk(content="chunk"),
        ToolMessage("4", tool_call_id="c", name="f", status="error", artifact={"raw": b"\0"}),
        ToolMessage([{"type": "text", "text": "4"}], tool_call_id=""),
        ChatMessage(content="hm", role="critic"),
        AIMessage("x", example=True),
        HumanMessage("a\ud800b"),
    ],
    ids=lambda message: repr(message)[:60],
)
def test_no_message_is_changed(message: BaseMessage) -> None:
    serde = JsonPlusSerializer()
    made = _langchain.encode(message, serde)
    check_messages([made])
    again = _langchain.decode(v1.Message.FromString(made.SerializeToString()), serde)
    assert type(again) is type(message)
    assert serde.dumps_typed(again) == serde.dumps_typed(message)
    if isinstance(message.content, str) and message.content.isascii():
        assert text(made) == message.content


def test_no_write_grows_with_the_length_of_a_thread(daemon: Daemon, namespace: str) -> None:
    figures = langgraph_figures.measure(daemon.target, namespace, turns=60)
    assert figures.kept <= 2 * figures.messages
    # Of ten turns each: now and then a turn takes a quarter more, whatever the length of the thread.
    assert median(figures.written[-10:]) <= 1.2 * median(figures.written[11:21])
    assert median(figures.nodes[-10:]) == median(figures.nodes[11:21])


def test_chains_of_before_an_erasure_are_not_kept() -> None:
    chains = Chains(1 << 20)
    for name, erasures in [("a", 0), ("b", 2), ("c", 2), ("d", 1)]:
        chains.put(name, Chain([v1.Message()], [b""], [(name, 1)], erasures))
    assert [chain.head for chain in chains.newest()] == ["d"]  # a namespace that begins anew counts from the beginning
    assert next(chains.newest()).copy().erasures == next(chains.newest()).through(0).erasures == chains.erasures == 1


def test_a_list_is_read_anew_once_something_was_erased(client: Client, daemon: Daemon, namespace: str) -> None:
    erasures = 0
    asked: list[tuple[bool, int]] = []

    def request(method: str, request: bytes) -> bytes:
        if method != "StreamAssemble":
            return request
        sent = v1.StreamAssembleRequest.FromString(request)
        asked.append((bool(sent.after_id), sent.after_erasures))
        if sent.after_erasures != erasures:
            sent.after_id = ""
        sent.after_erasures = 0  # the service knows of none
        return sent.SerializeToString()

    def reply(method: str, reply: bytes) -> bytes:
        if method != "StreamAssemble":
            return reply
        told = v1.StreamAssembleResponse.FromString(reply)
        told.erasures = erasures
        for message in told.messages if erasures else []:
            if text(message) == "secret":
                message.CopyFrom(v1.Message(role=message.role, parts=[v1.Part(text="[erased]")]))
        return told.SerializeToString()

    def says(graph: Any, name: str, what: str) -> None:
        graph.invoke({"messages": [HumanMessage(what)]}, thread(name))

    def told(graph: Any, name: str) -> list[Any]:
        return [m.content for m in graph.get_state(thread(name)).values["messages"]]

    elsewhere: Any = builder(AIMessage("ho")).compile(checkpointer=TranscriptSaver(client))
    with Between(daemon.target) as between, Client(between.target, namespace=namespace) as through:
        between.requests, between.replies = request, reply
        graph: Any = builder(AIMessage("ho")).compile(checkpointer=TranscriptSaver(through))
        says(graph, "t", "secret")
        says(elsewhere, "t", "and")
        assert told(graph, "t") == ["secret", "ho", "and", "ho"]
        erasures = 2
        says(elsewhere, "t", "more")
        assert told(graph, "t") == ["[erased]", "ho", "and", "ho", "more", "ho"]
        says(graph, "new", "hello")  # a list that is begun counts them
        says(elsewhere, "new", "again")
        assert told(graph, "new") == ["hello", "ho", "again", "ho"]
        erasures = 3
        assert told(graph, "new") == ["hello", "ho", "again", "ho"]
    assert asked == [(True, 0), (True, 0), (True, 2), (True, 2)]


def erase(client: Client, **what: Any) -> None:
    *_, last = client.erase(**what)
    assert last.done


def test_erased_messages_of_a_list_are_markers(client: Client) -> None:
    graph: Any = builder(AIMessage("ho")).compile(checkpointer=TranscriptSaver(client))
    for what in ("secret", "and"):
        graph.invoke({"messages": [HumanMessage(what)]}, thread("t"))
    erase(client, nodes=[hit.place.node_id for hit in client.search("secret")])
    again: Any = builder(AIMessage("ho")).compile(checkpointer=TranscriptSaver(client))
    for goes_on in (graph, again):
        assert [m.content for m in goes_on.get_state(thread("t")).values["messages"]][:3] == ["[erased]", "ho", "and"]
        goes_on.invoke({"messages": [HumanMessage("more")]}, thread("t"))
    told = [m.content for m in again.get_state(thread("t")).values["messages"]]
    assert told == ["[erased]", "ho", "and", "ho", "more", "ho", "more", "ho"]


def test_a_checkpoint_of_which_something_was_erased_is_told(client: Client) -> None:
    saver = TranscriptSaver(client)
    graph: Any = builder(AIMessage("ho")).compile(checkpointer=saver)
    for what in ("one", "two"):
        graph.invoke({"messages": [HumanMessage(what)], "count": 0}, thread("t"))
    last, *others = [one.config["configurable"]["checkpoint_id"] for one in saver.list(thread("t"))]
    alias = Place("t", "").checkpoint(last)
    node = client.resolve(alias).alias.node_id
    erase(client, nodes=[node])
    for anyone in (saver, TranscriptSaver(client)):
        for config in (thread("t"), thread("t", checkpoint_id=last)):
            with pytest.raises(CheckpointErasedError, match=f"{alias} of thread 't' was erased") as told:
                anyone.get_tuple(config)
            assert (told.value.thread_id, told.value.alias, told.value.node_id) == ("t", alias, node)
        assert [one.config["configurable"]["checkpoint_id"] for one in anyone.list(thread("t"))] == others
    with pytest.raises(CheckpointErasedError):
        graph.invoke({"messages": [HumanMessage("three")]}, thread("t"))
    client.delete_alias(alias)
    graph.invoke({"messages": [HumanMessage("three")]}, thread("t"))
    assert [m.content for m in graph.get_state(thread("t")).values["messages"]][-2:] == ["three", "ho"]
    erase(client, alias_prefix="lg/")
    assert list(saver.list(thread("t"))) == []
    graph.checkpointer.delete_thread("t")
    assert graph.invoke({"messages": [HumanMessage("one")]}, thread("t"))["messages"][-1].content == "ho"


def test_a_checkpoint_whose_value_or_write_was_erased_is_told(client: Client) -> None:
    saver = TranscriptSaver(client)

    def puts(name: str, checkpoint: Any) -> RunnableConfig:
        config = saver.put(thread(name, checkpoint_ns=""), checkpoint, {}, {"blob": 1})
        saver.put_writes(config, [("out", 1)], "task")
        return config

    for name in ("value", "pieces", "write"):
        values = {"blob": os.urandom((5 << 20) if name == "pieces" else 5000)}
        checkpoint: Any = {**empty_checkpoint(), "channel_values": values, "channel_versions": {"blob": 1}}
        config = puts(name, checkpoint)
        assert saver.get_tuple(config) is not None
        place = Place(name, "")
        alias = place.write(checkpoint["id"], "task", 0) if name == "write" else place.value("blob", 1)
        node = client.resolve(alias).alias.node_id
        if name == "pieces":
            node = client.node(by_id(node)).info.envelope.parent_id
        erase(client, nodes=[node], shared_roots=v1.SHARED_ROOTS_ERASE)
        with pytest.raises(CheckpointErasedError) as told:
            saver.get_tuple(config)
        assert (told.value.alias, told.value.node_id) == (place.checkpoint(checkpoint["id"]), node)
        assert list(saver.list(config)) == []
        with pytest.raises(PayloadErasedError, match="begin the thread anew"):
            puts(name, checkpoint)


def test_a_client_of_the_other_kind_is_refused(client: Client) -> None:
    with pytest.raises(TypeError, match=r"client must be a transcriptd.AsyncClient, not Client: TranscriptSaver takes a Client"):
        AsyncTranscriptSaver(client)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"client must be a transcriptd.Client, not str"):
        TranscriptSaver("t")  # type: ignore[arg-type]

    async def invoked() -> None:
        async with AsyncClient("127.0.0.1:1") as other:
            builder().compile(checkpointer=AsyncTranscriptSaver(other)).invoke({"messages": []}, thread("t"))

    with pytest.raises(NotImplementedError, match="call ainvoke, or take TranscriptSaver"):
        asyncio.run(invoked())
