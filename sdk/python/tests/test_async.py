"""The asynchronous client has all that the synchronous one has, and its calls work."""

from __future__ import annotations

import asyncio
import datetime
import inspect

import pytest

import transcriptd
from daemon import Daemon
from transcriptd import AliasMove, AsyncClient, AsyncThread, AsyncTool, Client, Node, Thread, Tool, by_alias, by_id, v1


@pytest.mark.parametrize(("one", "other"), [(Client, AsyncClient), (Thread, AsyncThread), (Tool, AsyncTool)])
def test_both_have_the_same(one: type, other: type) -> None:
    def told(kind: type) -> dict[str, str]:
        public = {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}
        return {name: str(inspect.signature(value)) if callable(value) else "" for name, value in public.items()}

    words = {"Async": "", "async ": "", "await ": ""}
    both = [str(sorted(told(kind).items())) for kind in (one, other)]
    for word, plain in words.items():
        both = [text.replace(word, plain) for text in both]
    assert both[0] == both[1]
    assert one.__doc__
    assert all(getattr(one, name).__doc__ for name in told(one) if name not in ("name", "description", "parameters", "run"))


def test_every_call(daemon: Daemon, namespace: str) -> None:
    async def calls() -> None:
        async with AsyncClient(daemon.target, namespace=namespace, verify=True) as client:
            root, child = await client.put_all(Node([transcriptd.system("s")]), Node([transcriptd.user("u")], previous=True))
            await client.set_aliases(AliasMove("a", by_id(child.node_id)), AliasMove("b", by_id(child.node_id)))
            assert [one.name async for one in client.aliases(reverse=True)] == ["b", "a"]
            assert [one.node_id async for one in client.history("a")] == [child.node_id]
            assert [one.node_id async for one in client.children(by_id(root.node_id))] == [child.node_id]
            assert (await client.nodes(root.node_id, "0" * 64)).missing == ["0" * 64]
            assert (await client.node(by_alias("a"))).messages
            assert not (await client.node_infos(root.node_id)).nodes[0].messages
            assert [len(page.messages()) async for page in client.back(by_alias("a"), last_messages=1)] == [1, 1]
            assert [len(frame.messages()) async for frame in client.frames(by_alias("a"), view=v1.VIEW_FULL)] == [2]
            assert [hit.excerpt async for hit in client.search("u", head=by_alias("a"))] == ["u"]
            assert [loop.messages async for loop in client.run_loops(by_alias("a"))] == [1]
            assert not (await client.replay(by_alias("a"))).calls
            assert not await client.variables(by_alias("a"), "x")
            assert (await client.stats()).nodes == 2
            assert (await client.set_namespace(max_nodes=10)).revision == 1
            assert namespace in [name async for name in client.namespaces()]
            assert [report async for report in client.verify()][-1].done
            assert await client.supports("get_nodes")
            stale = [run async for run in client.stale_runs(datetime.timedelta(seconds=-1))]
            assert (await client.end_run(stale[0], "stopped")).aliases == ["a", "b"]
            assert [run.info.name async for run in client.alias_runs(open_only=True)] == []
            assert await client.delete_alias("a")
            assert [one.name async for one in client.delete_aliases(all=True)] == ["b"]
            assert [report async for report in client.collect_garbage()][-1].done
            assert [report async for report in client.erase(alias_prefix="nobody/")][-1].done

    asyncio.run(calls())


def test_a_thread_with_a_summary_that_is_awaited(daemon: Daemon, namespace: str) -> None:
    async def summarize(messages: list[v1.Message]) -> str:
        await asyncio.sleep(0)
        return f"{len(messages)} messages"

    async def calls() -> None:
        async with AsyncClient(daemon.target, namespace=namespace) as client:
            thread = await client.start("m1", transcriptd.user("Hello?"), chat="1")
            await thread.append(transcriptd.assistant("", transcriptd.call("c1", "look", "{}")))
            child = await thread.spawn("c1", "agent/1", transcriptd.user("Look."))
            assert (await child.fork("branch/1")).new
            await thread.append_results(transcriptd.result(transcriptd.call("c1", "look", "{}"), "long " * 500))
            await thread.sent("o1")
            await thread.finish("replied", transcriptd.assistant("It is long."))
            assert (await client.open("chat/1")).head == thread.head
            done = await thread.compact_when(bytes=100, summarize=summarize, summary_only=True)
            assert done is not None
            assert [transcriptd.text(m) for m in await thread.messages()] == ["4 messages"]
            await thread.refresh()
            assert (await client.recall(by_id(thread.head), "c1")).parts[0].text == "long " * 500
            assert not (await thread.compact(dry_run=True)).written

    asyncio.run(calls())
