"""What checkpoints of a chat cost: bytes, nodes and time of each turn, 2 KB of text a turn.

langgraph_figures.py [TURNS]    prints them, 1,000 turns without; the daemon is that of the tests
"""

from __future__ import annotations

import random
import sys
import time
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from daemon import Daemon
from transcriptd import Client, by_id
from transcriptd.langgraph import TranscriptSaver


@dataclass
class Figures:
    """What was measured."""

    messages: int = 0
    """The bytes of the messages."""
    kept: int = 0
    """The bytes of all that was put, messages among it."""
    written: list[int] = field(default_factory=list)
    """The bytes that each turn put."""
    nodes: list[int] = field(default_factory=list)
    """The nodes that each turn put."""
    seconds: list[float] = field(default_factory=list)
    """The time of each turn."""


class State(TypedDict):
    """A chat."""

    messages: Annotated[list[AnyMessage], add_messages]


def measure(target: str, namespace: str, turns: int) -> Figures:
    """Runs a chat of so many turns."""
    draw = random.Random(32)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 10))) for _ in range(4000)]

    def said() -> str:
        text = ""
        while len(text) < 1000:
            text += draw.choice(words) + " "
        return text

    def model(_: State) -> dict[str, Any]:
        time.sleep(0.02)  # models take longer
        return {"messages": [AIMessage(said(), id=f"lc_run--{uuid.UUID(int=draw.getrandbits(128))}")]}  # as LangChain's models do

    builder: Any = StateGraph(State)
    builder.add_node("model", model)
    builder.add_edge(START, "model")
    figures = Figures()
    config: RunnableConfig = {"configurable": {"thread_id": "chat"}}
    with Client(target, namespace=namespace) as client:
        graph = builder.compile(checkpointer=TranscriptSaver(client))
        nodes = 0
        for _ in range(turns):
            start = time.perf_counter()
            graph.invoke({"messages": [HumanMessage(said())]}, config)
            figures.seconds.append(time.perf_counter() - start)
            stats = client.stats()
            figures.written.append(stats.message_bytes - figures.kept)
            figures.nodes.append(stats.nodes - nodes)
            figures.kept, nodes = stats.message_bytes, stats.nodes
        last = next(iter(client.aliases(prefix="lg/c/", reverse=True)))
        whole = client.assemble(by_id(last.node_id))
        assert len(whole.messages()) == 2 * turns
        figures.messages = whole.size()
    return figures


def main() -> None:
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with Daemon() as daemon:
        figures = measure(daemon.target, "figures", turns)
    print(f"{figures.messages / 1e6:.2f} MB of messages, {figures.kept / 1e6:.2f} MB kept: {figures.kept / figures.messages:.2f} times")
    for at in sorted({1, turns // 10, turns // 4, turns // 2, turns - 1}):
        recent = sorted(figures.seconds[max(0, at - 20) : at + 1])
        ms = 1000 * recent[len(recent) // 2]
        print(f"turn {at + 1}: {figures.written[at]} bytes in {figures.nodes[at]} nodes, {ms:.1f} ms")


if __name__ == "__main__":
    main()
