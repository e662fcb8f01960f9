"""Servers that go away, are slow, or refuse, and clients that are closed: typed errors, and nothing done twice."""

from __future__ import annotations

import asyncio
import datetime
import pathlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest

import transcriptd
from between import Between, Refusal, changed
from daemon import Daemon
from transcriptd import AsyncClient, Client, Retry, by_alias, by_id, v1

QUICK = Retry(attempts=3, first=0.001, most=0.01)
ID = "0" * 64


@pytest.fixture
def between(daemon: Daemon) -> Iterator[Between]:
    with Between(daemon.target) as running:
        yield running


@pytest.fixture
def client(between: Between, namespace: str) -> Iterator[Client]:
    with Client(between.target, namespace=namespace, retry=QUICK) as made:
        yield made


def long_chain(client: Client) -> str:
    """A chain of several frames."""
    thread = client.chat("long", transcriptd.system("s"))
    for i in range(8):
        thread.append(transcriptd.user(str(i) * 40_000))
    return thread.head


class CutStream:
    """Refuses a stream behind so many frames, so many times."""

    def __init__(self, frames: int, times: int, code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE) -> None:
        self._frames, self._times, self._code = frames, times, code
        self._seen = 0

    def __call__(self, method: str, reply: bytes) -> bytes:
        if method == "StreamAssemble" and self._times:
            self._seen += 1
            if self._seen > self._frames:
                self._seen, self._times = 0, self._times - 1
                raise Refusal(self._code)
        return reply


def test_assemble_begins_again_where_the_server_went_away(client: Client, between: Between) -> None:
    head = long_chain(client)
    whole = client.assemble(by_id(head)).encoded()
    with changed(between, replies=CutStream(frames=2, times=2)):
        assert client.assemble(by_id(head)).encoded() == whole
    with changed(between, replies=CutStream(frames=2, times=3)), pytest.raises(transcriptd.TranscriptError) as failed:
        client.assemble(by_id(head))
    assert failed.value.code is grpc.StatusCode.UNAVAILABLE


def test_frames_begin_again_only_before_the_first(client: Client, between: Between) -> None:
    head = long_chain(client)
    with changed(between, replies=CutStream(frames=0, times=2)):
        frames = list(client.frames(by_id(head)))
    assert len(frames) > 3
    assert frames[-1].report is not None
    seen: list[transcriptd.Assembly] = []
    with changed(between, replies=CutStream(frames=2, times=1)), pytest.raises(transcriptd.TranscriptError) as failed:
        seen.extend(client.frames(by_id(head)))
    assert failed.value.code is grpc.StatusCode.UNAVAILABLE


def test_a_caller_may_stop_midway(client: Client) -> None:
    head = long_chain(client)
    for frame in client.frames(by_id(head)):
        assert frame.messages()
        break
    frames = client.frames(by_id(head))
    assert next(iter(frames)).head_id == head
    frames.close()  # type: ignore[attr-defined]
    assert client.assemble(by_id(head)).messages()


def test_an_asynchronous_caller_may_stop_midway(between: Between, namespace: str, client: Client) -> None:
    head = long_chain(client)

    async def stops() -> None:
        async with AsyncClient(between.target, namespace=namespace) as own:
            async for frame in own.frames(by_id(head)):
                assert frame.messages()
                break
            task = asyncio.create_task(own.assemble(by_id(head)))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await own.assemble(by_id(head))).messages()

    asyncio.run(stops())


def test_a_stream_that_ends_early_is_no_reply(client: Client, between: Between) -> None:
    head = long_chain(client)

    def without_report(_: str, reply: bytes) -> bytes:
        told = v1.StreamAssembleResponse.FromString(reply)
        told.ClearField("report")
        return told.SerializeToString()

    with changed(between, replies=without_report):
        with pytest.raises(transcriptd.BadReplyError, match="ended early"):
            client.assemble(by_id(head))
        with pytest.raises(transcriptd.BadReplyError, match="ended early"):
            list(client.frames(by_id(head)))


def test_garbage_is_no_reply(client: Client, between: Between) -> None:
    thread = client.chat("1", transcriptd.system("s"))
    reads: list[Callable[[], Any]] = [
        lambda: client.resolve("chat/1"),
        lambda: client.assemble(by_alias("chat/1")),
        lambda: client.node(by_id(thread.head)),
        lambda: client.nodes(thread.head),
        lambda: client.put(transcriptd.user("hi")),
        lambda: list(client.aliases()),
        lambda: client.compact(by_alias("chat/1")),
    ]
    for garbage in (b"\xff\xff\xff", b"\x0a\x05ab", b"\x07", b"", b"\x00\x01"):
        with changed(between, replies=lambda _, __, garbage=garbage: garbage):  # type: ignore[misc]
            for read in reads:
                try:
                    read()
                except transcriptd.TranscriptError as error:
                    assert isinstance(error, transcriptd.BadReplyError), error


class Silent(grpc.GenericRpcHandler):
    """Says of each call that it succeeded, and sends no reply."""

    def service(self, _: Any) -> Any:
        return grpc.unary_stream_rpc_method_handler(lambda *_: iter(()))


def test_a_call_that_succeeds_without_a_reply() -> None:
    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[Silent()])
    target = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    with Client(target) as own:
        for call in (lambda: own.put(transcriptd.user("hi")), lambda: own.resolve("a")):
            with pytest.raises(transcriptd.BadReplyError, match="has no reply") as failed:
                call()
            assert transcriptd.may_have_happened(failed.value)

    async def asynchronous() -> None:
        async with AsyncClient(target) as own:
            with pytest.raises(transcriptd.BadReplyError, match="has no reply"):
                await own.resolve("a")

    asyncio.run(asynchronous())
    server.stop(None).wait(10)


def test_a_stream_without_frames_ends_after_its_idle_time(between: Between, namespace: str, client: Client) -> None:
    head = long_chain(client)
    held = threading.Event()

    def hold(_: str, reply: bytes) -> bytes:
        held.wait(5)
        return reply

    with Client(between.target, namespace=namespace, idle=0.2, retry=Retry(attempts=1)) as own:
        frames = 0
        for _ in own.frames(by_id(head)):
            time.sleep(0.3 if frames < 2 else 0)  # what the caller spends does not count
            frames += 1
        assert frames > 4
        with changed(between, replies=hold):
            began = time.monotonic()
            with pytest.raises(transcriptd.DeadlineExceededError, match="no frame"):
                own.assemble(by_id(head))
            assert time.monotonic() - began < 3

    async def asynchronous() -> None:
        async with AsyncClient(between.target, namespace=namespace, idle=0.2, retry=Retry(attempts=1)) as own:
            with changed(between, replies=hold), pytest.raises(transcriptd.DeadlineExceededError, match="no frame"):
                await own.assemble(by_id(head))

    asyncio.run(asynchronous())
    held.set()


def test_deadlines(between: Between, namespace: str, client: Client) -> None:
    client.chat("1", transcriptd.system("s"))
    held = threading.Event()

    def hold(_: str, request: bytes) -> bytes:
        held.wait(5)
        return request

    with changed(between, requests=hold):
        began = time.monotonic()
        with transcriptd.deadline(0.2), pytest.raises(transcriptd.DeadlineExceededError) as failed:
            client.put(transcriptd.user("hi"))
        assert transcriptd.may_have_happened(failed.value)
        with Client(between.target, namespace=namespace, deadline=0.2) as own, pytest.raises(transcriptd.DeadlineExceededError):
            own.resolve("chat/1")
        with transcriptd.deadline(0.2), pytest.raises(transcriptd.DeadlineExceededError):
            client.assemble(by_alias("chat/1"))
        assert time.monotonic() - began < 4
    held.set()
    with transcriptd.deadline(0), pytest.raises(transcriptd.DeadlineExceededError) as failed:
        client.put(transcriptd.user("hi"))
    assert not transcriptd.may_have_happened(failed.value)


def test_a_closed_client(between: Between, namespace: str) -> None:
    client = Client(between.target, namespace=namespace)
    thread = client.chat("1", transcriptd.system("s"))
    released = threading.Event()

    def hold(_: str, request: bytes) -> bytes:
        released.wait(5)
        return request

    failures: list[BaseException] = []

    def append() -> None:
        try:
            thread.append(transcriptd.user("hi"))
        except transcriptd.TranscriptError as error:
            failures.append(error)

    with changed(between, requests=hold):
        calling = threading.Thread(target=append)
        calling.start()
        while between.calls.get("PutNode", 0) < 2:
            time.sleep(0.01)
        client.close()
        calling.join(5)
        released.set()
    assert isinstance(failures[0], transcriptd.ClosedError)
    assert transcriptd.may_have_happened(failures[0])
    client.close()
    calls: list[Callable[[], Any]] = [
        lambda: client.resolve("a"),
        lambda: client.assemble(by_alias("a")),
        lambda: list(client.frames(by_alias("a"))),
        lambda: list(client.aliases()),
        thread.messages,
        lambda: thread.append(transcriptd.user("more")),
    ]
    for call in calls:
        with pytest.raises(transcriptd.ClosedError) as failed:
            call()
        assert not transcriptd.may_have_happened(failed.value)


def test_a_closed_asynchronous_client(between: Between, namespace: str) -> None:
    released = threading.Event()

    def hold(method: str, request: bytes) -> bytes:
        if method == "PutNode":
            released.wait(5)
        return request

    async def closes() -> None:
        client = AsyncClient(between.target, namespace=namespace)
        await client.server_info()
        with changed(between, requests=hold):
            calling = asyncio.create_task(client.put(transcriptd.user("hi")))
            while not between.calls.get("PutNode"):
                await asyncio.sleep(0.01)
            await client.close()
            with pytest.raises(transcriptd.ClosedError) as failed:
                await calling
            released.set()
        assert transcriptd.may_have_happened(failed.value)
        with pytest.raises(transcriptd.ClosedError) as failed:
            await client.resolve("a")
        assert not transcriptd.may_have_happened(failed.value)
        await client.close()
        unused = AsyncClient(between.target)
        await unused.close()

    asyncio.run(closes())


def test_a_channel_stays_while_a_call_is_about_to_be_sent(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    with Client(daemon.target) as client:
        runtime = client._runtime
        monkeypatch.setattr(runtime._files, "changed", lambda: True)  # as where certificates are renewed
        about = runtime._open()
        for _ in range(3):  # calls of other threads, each on a channel of its own
            with runtime._open():
                pass
        with about as channel:
            send: Any = channel.unary_unary("/transcript.v1.TranscriptService/ServerInfo")
            assert send(b"", timeout=10)
        assert len(runtime._retired) <= 2


def test_a_client_of_another_event_loop(daemon: Daemon) -> None:
    client = AsyncClient(daemon.target)
    asyncio.run(client.stats())
    with pytest.raises(RuntimeError, match="event loop"):
        asyncio.run(client.stats())


def test_an_append_that_was_cancelled_is_made_again_once(between: Between, namespace: str) -> None:
    release = threading.Event()

    def hold(method: str, reply: bytes) -> bytes:
        if method == "PutNode":
            release.wait(5)
        return reply

    async def appends() -> None:
        async with AsyncClient(between.target, namespace=namespace) as client:
            thread = await client.chat("1", transcriptd.system("s"))
            with changed(between, replies=hold):
                calling = asyncio.create_task(thread.append(transcriptd.user("hi")))
                while between.calls.get("PutNode", 0) < 2:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.05)
                calling.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await calling
                release.set()
            await thread.append(transcriptd.user("hi"))
            assert len(await thread.messages()) == 2
            assert (await client.stats()).nodes == 2

    asyncio.run(appends())


def test_what_surely_was_not_done_is_repeated(client: Client, between: Between) -> None:
    client.chat("1", transcriptd.system("s"))
    left = [Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED"), Refusal(grpc.StatusCode.UNAVAILABLE, "DRAINING")]

    def refuse(_: str, request: bytes) -> bytes:
        if left:
            raise left.pop()
        return request

    with changed(between, requests=refuse):
        result = client.put(transcriptd.user("hi"), parent=by_alias("chat/1"), aliases=[transcriptd.AliasUpdate("chat/1")])
    assert result.created
    assert not result.retried
    left.append(Refusal(grpc.StatusCode.UNAVAILABLE))
    with changed(between, requests=refuse), pytest.raises(transcriptd.TranscriptError) as failed:
        client.put(transcriptd.user("hi"), parent=by_alias("chat/1"), aliases=[transcriptd.AliasUpdate("chat/1")])
    assert transcriptd.may_have_happened(failed.value)


def test_a_server_that_is_away_for_a_while(tmp_path: pathlib.Path) -> None:
    """It is killed and started anew: calls under way wait for it, and nothing that was acknowledged is lost."""
    with Daemon(data=tmp_path / "store") as first:
        target = first.target
        client = Client(target)
        thread = client.chat("1", transcriptd.system("s"))
        thread.append(transcriptd.user("hi"))
    done: list[Any] = []
    appending = threading.Thread(target=lambda: done.append(thread.append(transcriptd.assistant("hello"))))
    appending.start()
    time.sleep(0.3)
    with Daemon(data=tmp_path / "store", listen=target):
        appending.join(10)
        assert done
        assert [transcriptd.text(m) for m in thread.messages()] == ["s", "hi", "hello"]
        client.close()


@pytest.mark.parametrize("target", ["127.0.0.1:1", "nowhere.invalid:1", "unix:///nowhere/grpc.sock"])
def test_a_server_that_is_not_there(target: str) -> None:
    with Client(target, insecure=True, retry=Retry(attempts=2, first=0.001, most=0.001)) as client:
        with pytest.raises(transcriptd.TranscriptError) as failed:
            client.put(transcriptd.user("hi"), parent=by_alias("a"))
        assert failed.value.code is grpc.StatusCode.UNAVAILABLE
        assert not transcriptd.may_have_happened(failed.value)  # it never was sent
        assert not failed.value.retried


BAD: list[tuple[type[Exception], str, Callable[[Client, transcriptd.Thread], Any]]] = [
    (TypeError, r"messages\[0\] must be a transcriptd.v1.Message, not dict", lambda c, _: c.put({"role": "user"})),  # type: ignore[arg-type]
    (TypeError, r"messages\[1\] must be .*, not str", lambda _, t: t.append(transcriptd.user("a"), "b")),  # type: ignore[arg-type]
    (TypeError, r"results\[0\] must be", lambda _, t: t.append_results("done")),  # type: ignore[arg-type]
    (transcriptd.NotAResultError, "result", lambda _, t: t.append_results(transcriptd.user("a"))),
    (TypeError, "parent must be transcriptd.by_id", lambda c, _: c.put(transcriptd.user("a"), parent=ID)),  # type: ignore[arg-type]
    (TypeError, "salt must be bytes", lambda c, _: c.put(transcriptd.user("a"), salt="0" * 16)),  # type: ignore[arg-type]
    (ValueError, "salt must have 16 to 32 bytes", lambda c, _: c.put(transcriptd.user("a"), salt=b"short")),
    (TypeError, "metadata must be a dict", lambda _, t: t.append(transcriptd.user("a"), metadata="a")),  # type: ignore[arg-type]
    (TypeError, r"metadata\['a'\] must be a str", lambda _, t: t.append(transcriptd.user("a"), metadata={"a": 1})),  # type: ignore[dict-item]
    (TypeError, r"aliases\[0\] must be", lambda _, t: t.append(transcriptd.user("a"), aliases=["b"])),  # type: ignore[list-item]
    (TypeError, r"notes\[0\] must be", lambda _, t: t.append(transcriptd.user("a"), notes=[{}])),  # type: ignore[list-item]
    (TypeError, "notes must be a list", lambda _, t: t.append(transcriptd.user("a"), notes=iter(()))),  # type: ignore[arg-type]
    (TypeError, r"nodes\[0\] must be", lambda c, _: c.put_all({"messages": []})),  # type: ignore[arg-type]
    (TypeError, "head must be transcriptd.by_id", lambda c, _: c.assemble("chat/1")),  # type: ignore[arg-type]
    (TypeError, "unexpected keyword", lambda c, _: c.assemble(by_id(ID), last=5)),  # type: ignore[call-arg]
    (ValueError, "after must be a node's id", lambda c, _: c.assemble(by_id(ID), after="abc")),
    (TypeError, "view must be an int", lambda c, _: c.assemble(by_id(ID), view="full")),  # type: ignore[arg-type]
    (ValueError, "last_messages must be from 0", lambda c, _: c.assemble(by_id(ID), last_messages=-1)),
    (TypeError, "policy must be a transcriptd.v1.Policy", lambda _, t: t.messages("coding")),  # type: ignore[arg-type]
    (ValueError, "64 lower-case hex digits", lambda _, __: by_id("XYZ")),
    (TypeError, "node_id must be a str", lambda _, __: by_id(5)),  # type: ignore[arg-type]
    (ValueError, "node_id must be a node's id", lambda _, __: transcriptd.head_is("abc")),
    (ValueError, "revision must be from 1", lambda _, __: transcriptd.revision_is(0)),
    (TypeError, r"ids\[0\] must be a node's id", lambda c, _: c.nodes(b"0" * 32)),  # type: ignore[arg-type]
    (ValueError, "surrogate", lambda c, _: c.resolve("\ud800")),
    (TypeError, "name must be a str", lambda c, _: c.resolve(None)),  # type: ignore[arg-type]
    (transcriptd.NoNameError, "name", lambda c, _: c.chat("")),
    (transcriptd.NoNameError, "message_id", lambda c, _: c.start("", transcriptd.user("a"))),
    (transcriptd.NoNameError, "reply_id", lambda _, t: t.reply("", transcriptd.assistant("a"))),
    (transcriptd.NoNameError, "alias", lambda _, t: t.fork("")),
    (TypeError, "condition must be", lambda c, _: c.delete_alias("a", "must_exist")),  # type: ignore[arg-type]
    (transcriptd.InvalidFieldError, "prefix, or all", lambda c, _: list(c.delete_aliases())),
    (ValueError, "time zone", lambda c, _: list(c.delete_aliases(all=True, moved_before=datetime.datetime(2026, 1, 1)))),
    (ValueError, "prefix or under", lambda c, _: list(c.aliases(prefix="a", under="b"))),
    (ValueError, "text to search for, or regexp", lambda c, _: list(c.search())),
    (TypeError, "tool_names must be a list", lambda c, _: c.replay(by_id(ID), tool_names="read")),
    (transcriptd.InvalidFieldError, "replied, stopped", lambda _, t: t.finish("bored")),  # type: ignore[arg-type]
    (TypeError, "stale must be a datetime.timedelta", lambda c, _: list(c.stale_runs(60))),  # type: ignore[arg-type]
    (TypeError, "grace must be a datetime.timedelta", lambda c, _: list(c.collect_garbage(grace=60))),  # type: ignore[arg-type]
    (ValueError, "exactly one of nodes, alias_prefix", lambda c, _: list(c.erase())),
    (ValueError, "exactly one of nodes, alias_prefix", lambda c, _: list(c.erase(alias_prefix="a", metadata=("a", "b")))),
    (ValueError, "metadata must", lambda c, _: list(c.erase(metadata=("", "b")))),
    (ValueError, "max_nodes_per_second must be from 0", lambda c, _: list(c.collect_garbage(max_nodes_per_second=-1))),
    (TypeError, "forget_history must be True or False", lambda c, _: c.delete_alias("a", forget_history=1)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("error", "match", "call"), BAD, ids=[match for _, match, _ in BAD])
def test_wrong_arguments_are_named(
    error: type[Exception], match: str, call: Callable[[Client, transcriptd.Thread], Any], between: Between, client: Client
) -> None:
    thread = client.chat("1", transcriptd.system("s"))
    before = dict(between.calls)
    with pytest.raises(error, match=match):
        call(client, thread)
    assert between.calls == before  # nothing was sent


NOT_THERE: list[tuple[type[transcriptd.TranscriptError], Callable[[Client, transcriptd.Thread], Any]]] = [
    (transcriptd.AliasNotFoundError, lambda c, _: c.resolve("a")),
    (transcriptd.AliasNotFoundError, lambda c, _: c.open("a")),
    (transcriptd.AliasNotFoundError, lambda c, _: c.resume("a")),
    (transcriptd.AliasNotFoundError, lambda c, _: c.chat("a")),
    (transcriptd.AliasNotFoundError, lambda c, _: c.assemble(by_alias("a"))),
    (transcriptd.AliasNotFoundError, lambda c, _: list(c.history("a"))),
    (transcriptd.AliasNotFoundError, lambda c, _: c.describe(by_alias("a"))),
    (transcriptd.NodeNotFoundError, lambda c, _: c.node(by_id(ID))),
    (transcriptd.NodeNotFoundError, lambda c, _: list(c.children(by_id(ID)))),
    (transcriptd.NodeNotFoundError, lambda c, _: list(c.run_loops(by_id(ID)))),
    (transcriptd.ParentNotFoundError, lambda c, _: c.put(transcriptd.user("a"), parent=by_id(ID))),
    (transcriptd.ToolCallNotFoundError, lambda c, t: c.recall(by_id(t.head), "c1")),
    (transcriptd.ToolCallNotFoundError, lambda _, t: t.spawn("c1", "agent/1", transcriptd.user("a"))),
    (transcriptd.InvalidPatternError, lambda c, t: list(c.search(regexp="(", head=by_id(t.head)))),
    (transcriptd.InvalidFieldError, lambda _, t: t.append()),
    (transcriptd.SettingsChangedError, lambda c, _: c.set_namespace(max_nodes=5, revision=7)),
]


@pytest.mark.parametrize(("error", "call"), NOT_THERE)
def test_what_is_not_there_is_told(
    error: type[transcriptd.TranscriptError], call: Callable[[Client, transcriptd.Thread], Any], client: Client
) -> None:
    thread = client.chat("1", transcriptd.system("s"))
    with pytest.raises(error) as failed:
        call(client, thread)
    assert not transcriptd.may_have_happened(failed.value)
    assert failed.value.message


def test_a_server_that_is_killed_mid_stream(tmp_path: pathlib.Path) -> None:
    """Behind what was under way comes a typed error; who assembles waits for the server to be back."""
    with Daemon(data=tmp_path / "store") as first:
        target = first.target
        client = Client(target)
        thread = client.chat("1", transcriptd.system("s"))
        for i in range(8):
            thread.append(transcriptd.user(str(i) * 3_000_000))
        frames = iter(client.frames(by_id(thread.head)))
        assert next(frames).head_id == thread.head
    with pytest.raises(transcriptd.TranscriptError) as failed:
        list(frames)
    assert failed.value.code is grpc.StatusCode.UNAVAILABLE
    with Daemon(data=tmp_path / "store", listen=target):
        assert len(client.assemble(by_id(thread.head)).messages()) == 9
        client.close()


@pytest.mark.parametrize("kind", ["Client", "AsyncClient"])
def test_a_client_that_is_not_closed_keeps_no_process(kind: str, daemon: Daemon) -> None:
    program = f"""
import asyncio, sys, transcriptd
client = transcriptd.{kind}(sys.argv[1], namespace="t-unclosed")
async def main():
    thread = await client.chat("1", transcriptd.system("s"))
    await thread.messages()
if "{kind}" == "Client":
    client.chat("1", transcriptd.system("s")).messages()
else:
    asyncio.run(main())
print("done")
"""
    done = subprocess.run([sys.executable, "-c", program, daemon.target], capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)
