"""Replies that are lost while others write: what moves along with a run, compactions, and starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

import transcriptd
from between import Between, Refusal
from daemon import Daemon
from transcriptd import AliasMove, Client, Retry, Thread, by_alias, by_id, v1

CALL = transcriptd.call("c1", "say", "{}")


@pytest.fixture
def between(daemon: Daemon) -> Iterator[Between]:
    with Between(daemon.target) as running:
        yield running


@pytest.fixture
def client(between: Between, namespace: str) -> Iterator[Client]:
    with Client(between.target, namespace=namespace, verify=True, retry=Retry(attempts=3, first=0.001, most=0.002)) as made:
        yield made


@pytest.fixture
def other(daemon: Daemon, namespace: str) -> Iterator[Client]:
    """Another process, whose calls nothing loses."""
    with Client(daemon.target, namespace=namespace) as made:
        yield made


def loses(between: Between, method: str, times: int, meanwhile: Callable[[], Any] | None = None) -> None:
    """Loses the replies of so many calls of an rpc; before the first loss is told, something happens."""
    left, todo = [times], [meanwhile] if meanwhile else []

    def lose(name: str, reply: bytes) -> bytes:
        if name == method and left[0] > 0:
            left[0] -= 1
            if todo:
                todo.pop()()
            raise Refusal(grpc.StatusCode.UNAVAILABLE)
        return reply

    between.replies = lose


def sends(between: Between, method: str, meanwhile: Callable[[], Any]) -> None:
    """Does something once, before a call of an rpc is sent."""
    todo = [meanwhile]

    def before(name: str, request: bytes) -> bytes:
        if name == method and todo:
            todo.pop()()
        return request

    between.requests = before


def working(client: Client) -> Thread:
    """A thread that has sent a message, o1, and goes on."""
    thread = client.start("m1", transcriptd.user("Hello?"))
    thread.append(transcriptd.assistant("", CALL))
    thread.sent("o1")
    return thread


def head_of(client: Client, alias: str) -> str:
    return client.resolve(alias).alias.node_id


def test_what_was_sent_moves_along_though_replies_are_lost(client: Client, other: Client, between: Between) -> None:
    thread = working(client)
    loses(between, "PutNode", 1, lambda: other.resume("m1").append(transcriptd.system("aside")))
    assert thread.append_results(transcriptd.result(CALL, "said")).retried
    own = other.node(by_id(head_of(other, "msg/m1"))).info.envelope.parent_id
    assert own == thread.head
    assert head_of(other, "msg/o1") == head_of(other, "msg/m1")  # the other went on with the run, and moved it along
    with pytest.raises(transcriptd.AliasMovedError):
        thread.append(transcriptd.assistant("more"))
    thread.refresh()
    thread.finish("replied")
    assert head_of(other, "msg/o1") == thread.head
    thread.append(transcriptd.user("And?"))
    assert head_of(other, "msg/o1") != thread.head


def test_an_alias_that_somebody_else_moved_stays_there(client: Client, other: Client) -> None:
    thread = working(client)
    elsewhere = other.put(transcriptd.user("elsewhere")).node_id
    other.set_aliases(AliasMove("msg/o1", by_id(elsewhere)))
    thread.append_results(transcriptd.result(CALL, "said"))
    assert head_of(other, "msg/o1") == elsewhere
    thread.append(transcriptd.assistant("On."))
    assert head_of(other, "msg/o1") == elsewhere
    assert not dict(other.resolve("msg/m1").alias.labels)


def test_a_refusal_for_both_aliases_is_one_for_the_threads(client: Client, other: Client) -> None:
    thread = working(client)
    another = other.resume("m1")
    another.append_results(transcriptd.result(CALL, "said"))
    with pytest.raises(transcriptd.AliasMovedError) as failed:
        thread.append(transcriptd.assistant("On."))
    assert failed.value.head == another.head
    assert [conflict.field for conflict in failed.value.conflicts] == ["aliases[0]"]


def test_a_run_that_ends_while_a_message_is_sent(client: Client, other: Client, between: Between) -> None:
    thread = client.start("m1", transcriptd.user("Hello?"))
    thread.append(transcriptd.assistant("", CALL))
    loses(between, "Alias", 1, lambda: thread.finish("replied", transcriptd.assistant("Done.")))
    thread.sent("o1")
    assert head_of(other, "msg/o1") == thread.head
    thread.append(transcriptd.user("And?"))
    assert head_of(other, "msg/o1") != thread.head


def test_at_most_sixteen_messages_move_along(client: Client, other: Client) -> None:
    thread = client.start("m1", transcriptd.user("Hello?"))
    for i in range(20):
        thread.sent(f"o{i:02}")
    thread.append(transcriptd.assistant("", CALL))
    moved = [i for i in range(20) if head_of(other, f"msg/o{i:02}") == thread.head]
    assert moved == list(range(16))
    assert len(other.resolve("msg/m1").alias.labels) == 16
    thread.sent("o03")  # again, which does nothing
    again = other.resume("m1")
    again.reply("o05", transcriptd.assistant("Bye."))
    assert head_of(other, "msg/o05") == again.head
    assert head_of(other, "msg/o15") == again.head
    assert not other.resolve("msg/m1").alias.labels
    with pytest.raises(transcriptd.AliasExistsError):
        again.reply("o06", transcriptd.assistant("Bye."))


def test_what_others_put_under_the_labels_of_a_thread_is_left_alone(client: Client, other: Client) -> None:
    thread = working(client)
    labels = dict(other.resolve("msg/m1").alias.labels)
    other.set_aliases(AliasMove("msg/m1", by_id(thread.head), labels={**labels, "color": "red", "sent/junk": "no node"}))
    thread.append_results(transcriptd.result(CALL, "said"))
    now = dict(other.resolve("msg/m1").alias.labels)
    assert now.pop("color") == "red"
    assert now == {"sent/o1": thread.head}
    thread.refresh()
    assert head_of(other, "msg/o1") == thread.head


def test_a_node_that_is_found_has_the_aliases_of_one_that_is_put(between: Between, namespace: str) -> None:
    with Client(between.target, namespace=namespace, retry=Retry(attempts=1)) as client:
        thread = client.start("m1", transcriptd.user("Hello?"))
        loses(between, "PutNode", 1)
        with pytest.raises(transcriptd.TranscriptError) as failed:
            thread.append(transcriptd.assistant("Hi."), aliases=[transcriptd.AliasUpdate("seen")])
        assert transcriptd.may_have_happened(failed.value)
        thread.refresh()
        found = thread.append(transcriptd.assistant("Hi."), aliases=[transcriptd.AliasUpdate("seen")])
        assert found.retried
        assert [alias.name for alias in found.aliases] == [thread.alias, "seen"]


def talked(client: Client) -> Thread:
    """A thread with a closed loop of some length, all of which was read."""
    thread = client.start("m1", transcriptd.user("Hello?"), system=[transcriptd.system("s")])
    thread.append(transcriptd.assistant("An answer. " + "long " * 500))
    thread.messages()
    return thread


def texts(client: Client) -> list[str]:
    return [transcriptd.text(m) for m in client.assemble(by_alias("msg/m1")).messages()]


def test_a_summary_covers_what_was_read(client: Client, other: Client) -> None:
    thread = talked(client)
    other.resume("m1").append(transcriptd.user("The code is 4711."))
    assert thread.compact(summary="They said hello.", summary_only=True).written
    assert texts(other) == ["s", "They said hello.", "The code is 4711."]
    with pytest.raises(transcriptd.AliasMovedError):
        thread.append(transcriptd.user("And?"))


def test_a_compaction_whose_replies_were_lost_is_found(client: Client, other: Client, between: Between) -> None:
    thread = talked(client)
    loses(between, "Compact", 1, lambda: other.resume("m1").append(transcriptd.user("Meanwhile.")))
    done = thread.compact(summary="They said hello.", summary_only=True)
    assert done.written
    assert between.calls["Compact"] == 2  # the second is a dry run: what the reply was
    assert texts(other) == ["s", "They said hello.", "Meanwhile."]
    assert other.stats().nodes == 5


def test_a_compaction_of_which_every_trace_was_lost_is_made_again_once(client: Client, other: Client, between: Between) -> None:
    thread = talked(client)

    def lose(name: str, reply: bytes) -> bytes:
        if name in ("Compact", "Describe"):
            raise Refusal(grpc.StatusCode.UNAVAILABLE)
        return reply

    between.replies = lose
    with pytest.raises(transcriptd.TranscriptError) as failed:
        thread.compact(summary="They said hello.", summary_only=True)
    assert transcriptd.may_have_happened(failed.value)
    between.replies = lambda _, reply: reply
    assert thread.compact(summary="They said hello.", summary_only=True).written
    assert texts(other) == ["s", "They said hello."]
    assert other.stats().nodes == 4
    thread.append(transcriptd.user("And?"))


def test_a_compaction_waits_for_results(client: Client) -> None:
    thread = talked(client)
    thread.append(transcriptd.user("Look."), transcriptd.assistant("", CALL))
    assert thread.compact(summary="They said hello.", summary_only=True).written  # up to what was answered
    assert thread.compact_when(bytes=1, summary_only=True) is None


def test_a_thread_follows_a_compaction_of_another(client: Client, other: Client, between: Between) -> None:
    thread = talked(client)
    another = other.resume("m1")
    assert another.compact(summary="They said hello.", summary_only=True).written
    done = thread.compact()
    assert (done.written, thread.head) == (False, another.head)
    thread.append(transcriptd.user("Hello again? " * 200), transcriptd.assistant("Yes. " * 400))
    sends(between, "StreamAssemble", lambda: other.resume("m1").compact(summary="Quicker.", summary_only=True))
    assert thread.compact_when(bytes=1000, summary_only=True, summarize=lambda _: "Too late.") is None
    assert texts(other)[1] == "Quicker."
    thread.append(transcriptd.user("And now?"))
    assert texts(other)[-1] == "And now?"


def test_a_start_is_found_where_another_went_on(client: Client, other: Client, between: Between) -> None:
    loses(between, "PutNode", 1, lambda: other.resume("m1").append(transcriptd.assistant("Hi.")))
    thread = client.start("m1", transcriptd.user("Hello?"))
    assert thread.new
    with pytest.raises(transcriptd.AliasMovedError):
        thread.append(transcriptd.assistant("Hello."))


def test_a_start_that_somebody_else_made_meanwhile(client: Client, other: Client, between: Between) -> None:
    sends(between, "PutNode", lambda: other.start("m1", transcriptd.user("Something else.")))
    with pytest.raises(transcriptd.AliasExistsError) as failed:
        client.start("m1", transcriptd.user("Hello?"))
    assert not transcriptd.may_have_happened(failed.value)
    sends(between, "PutNode", lambda: other.chat("1", transcriptd.system("s")))
    assert not client.chat("1", transcriptd.system("s")).new


def test_equal_appends_without_salts(between: Between, other: Client, namespace: str) -> None:
    with Client(between.target, namespace=namespace, deterministic=True) as client:
        thread = client.chat("1", transcriptd.system("s"))
        another = other.open("chat/1")
        another.append(transcriptd.user("hi"), salt=b"")
        with pytest.raises(transcriptd.AliasMovedError, match="the same first") as failed:
            thread.append(transcriptd.user("hi"))
        assert failed.value.head == another.head


def test_a_result_of_several_pages(client: Client) -> None:
    thread = client.start("m1", transcriptd.user("Hello?"))
    thread.append(transcriptd.assistant("", CALL))
    big = transcriptd.result(CALL, "é" * 700_000)
    big.parts.extend([v1.Part(json='{"a":1}'), v1.Part(text="z" * 600_000)])
    thread.append_results(big)
    got = client.recall(by_id(thread.head), "c1")
    assert [part.text or part.json for part in got.parts] == ["é" * 700_000, '{"a":1}', "z" * 600_000]
    assert not got.next_page_token


def test_a_run_with_more_aliases_than_a_call_tells(client: Client) -> None:
    thread = client.start("m1", transcriptd.user("Hello?"))
    client.set_aliases(*(AliasMove(f"more/{i:03}", by_id(thread.head)) for i in range(250)))
    run = next(run for run in client.alias_runs(prefix="msg/"))
    ended = client.end_run(run, "failed")
    assert len(ended.aliases) == len(set(ended.aliases)) == 251
    assert not ended.more_aliases
    assert all(head_of(client, name) == ended.node_id for name in ("msg/m1", "more/000", "more/249"))
