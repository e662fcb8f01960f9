"""What a thread and a client do beside what the scenarios try."""

from __future__ import annotations

import asyncio
import datetime
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import transcriptd
from daemon import Daemon
from transcriptd import AliasMove, AliasUpdate, AsyncClient, Client, Node, by_alias, by_id, v1


@pytest.fixture
def client(daemon: Daemon, namespace: str) -> Iterator[Client]:
    with Client(daemon.target, namespace=namespace, verify=True) as made:
        yield made


def test_an_append_has_notes_metadata_and_aliases(client: Client) -> None:
    thread = client.chat("1", transcriptd.system("s"))
    note = v1.MessageNote(model="m", input_tokens=5)
    result = thread.append(
        transcriptd.user("hi"),
        notes=[note],
        metadata={"\U0001f600": "after", "\ufb01": "before", "k": "v"},
        salt=b"0123456789abcdef",
        aliases=[AliasUpdate("also/1", transcriptd.must_not_exist(), {"a": "b"})],
    )
    assert [alias.name for alias in result.aliases] == ["chat/1", "also/1"]
    node = client.node(by_alias("also/1"))
    assert node.info.notes[0] == note
    assert [entry.key for entry in node.metadata.entries] == ["k", "\ufb01", "\U0001f600"]
    assert node.info.envelope.salt == b"0123456789abcdef"
    assert dict(client.resolve("also/1").alias.labels) == {"a": "b"}


def test_many_writers_of_one_thread(client: Client) -> None:
    thread = client.chat("1", transcriptd.system("s"))
    refused = []

    def write(i: int) -> None:
        while True:
            try:
                thread.append(transcriptd.user(str(i)))
            except transcriptd.AliasMovedError:
                refused.append(i)
                thread.refresh()
            else:
                return

    writers = [threading.Thread(target=write, args=(i,)) for i in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(30)
    assert sorted(transcriptd.text(m) for m in thread.messages()[1:]) == [str(i) for i in range(8)]


def test_many_asynchronous_writers(daemon: Daemon, namespace: str) -> None:
    async def write(client: AsyncClient, i: int) -> None:
        thread = await client.open("chat/1")
        while True:
            try:
                await thread.append(transcriptd.user(str(i)))
            except transcriptd.AliasMovedError:
                await thread.refresh()
            else:
                return

    async def main() -> None:
        async with AsyncClient(daemon.target, namespace=namespace) as client:
            thread = await client.chat("1", transcriptd.system("s"))
            await asyncio.gather(*(write(client, i) for i in range(8)))
            await thread.refresh()
            assert sorted(transcriptd.text(m) for m in (await thread.messages())[1:]) == [str(i) for i in range(8)]

    asyncio.run(main())


def test_aliases_and_their_history(client: Client) -> None:
    ids = [client.put(transcriptd.user(str(i))).node_id for i in range(3)]
    client.set_aliases(*(AliasMove(f"chat/{i}", by_id(ids[0])) for i in range(5)), AliasMove("chat/1/deep", by_id(ids[1])))
    time.sleep(0.01)
    client.set_aliases(AliasMove("chat/3", by_id(ids[2]), transcriptd.head_is(ids[0])))
    names = ["chat/0", "chat/1", "chat/1/deep", "chat/2", "chat/3", "chat/4"]
    assert [a.name for a in client.aliases()] == names
    assert [a.name for a in client.aliases(reverse=True)] == names[::-1]
    assert [a.name for a in client.aliases(prefix="chat/1")] == ["chat/1", "chat/1/deep"]
    assert [a.name for a in client.aliases(under="chat/1")] == ["chat/1/deep"]
    assert next(iter(client.aliases(under="chat"))).name == "chat/3"
    assert [a.name for a in client.aliases(under="chat", reverse=True)][-1] == "chat/3"
    assert client.delete_alias("chat/3", transcriptd.head_is(ids[2])) == ids[2]
    assert client.delete_alias("chat/3") == ""
    assert [state.node_id for state in client.history("chat/3")] == ["", ids[2], ids[0]]
    with pytest.raises(transcriptd.AliasNotFoundError) as failed:
        client.resolve("chat/3")
    assert failed.value.deleted is not None
    assert [a.name for a in client.delete_aliases(prefix="chat/1", dry_run=True)] == ["chat/1", "chat/1/deep"]
    past = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
    assert not list(client.delete_aliases(all=True, moved_before=past))
    assert [a.name for a in client.delete_aliases(prefix="chat/1")] == ["chat/1", "chat/1/deep"]
    assert [a.name for a in client.delete_aliases(all=True)] == ["chat/0", "chat/2", "chat/4"]
    assert not list(client.aliases())


def test_nodes_and_children(client: Client) -> None:
    root, left, right = client.put_all(
        Node([transcriptd.system("s")]),
        Node([transcriptd.user("left")], previous=True),
        Node([transcriptd.user("right")], previous=True, aliases=[AliasUpdate("a")]),
    )
    assert client.node(by_id(right.node_id[:10])).info.envelope.parent_id == left.node_id
    assert [child.node_id for child in client.children(by_id(root.node_id))] == [left.node_id]
    found = client.nodes(left.node_id, "0" * 64, root.node_id)
    assert [transcriptd.text(n.messages[0]) for n in found.nodes] == ["left", "s"]
    assert found.missing == ["0" * 64]
    assert not client.node_infos(left.node_id).nodes[0].messages
    assert not client.node_info(by_alias("a")).messages
    assert client.node_info(by_alias("a")).aliases == ["a"]


def test_more_nodes_than_a_call_takes(client: Client) -> None:
    ids = [r.node_id for r in client.put_all(*(Node([transcriptd.user(str(i))]) for i in range(1000)))]
    ids.append(client.put(transcriptd.user("last")).node_id)
    assert [n.info.node_id for n in client.node_infos(*ids).nodes] == ids
    client.set_aliases(*(AliasMove(f"a/{i:04}", by_id(ids[0])) for i in range(1000)))
    client.set_aliases(AliasMove("a/1000", by_id(ids[0])))
    assert sum(1 for _ in client.aliases()) == 1001


def test_variables(client: Client) -> None:
    thread = client.chat("1", transcriptd.system("s"))
    declared = transcriptd.DeclaredVariable(type="text", size=200_000, preview="é\n" * 5000, iteration=3)
    value = declared.metadata()
    assert len(value.encode()) <= 4096
    assert len(json.loads(value)["preview"]) > 1000
    metadata = {transcriptd.variable_key("x"): "[1,2]", transcriptd.variable_info_key("context"): value}
    thread.append(transcriptd.user("hi"), metadata=metadata)
    told = {v.name: v for v in client.variables(by_alias("chat/1"), "x", "context", "none")}
    assert set(told) == {"x", "context"}
    assert (told["x"].preview, told["x"].type) == ("[1,2]", "array")
    assert (told["context"].size_bytes, told["context"].iteration) == (200_000, 3)
    assert client.describe(by_id(thread.head), variable_prefix="con").variables[0].name == "context"


def test_a_summary_is_made_where_it_pays(client: Client) -> None:
    thread = client.chat("1", transcriptd.system("s"))
    asked: list[int] = []

    def summarize(messages: list[v1.Message]) -> str:
        asked.append(len(messages))
        return "They counted."

    assert thread.compact_when(bytes=10_000, summarize=summarize) is None
    for i in range(30):
        thread.append(transcriptd.user(f"{i} " * 50), transcriptd.assistant("on " * 100))
    assert thread.compact_when(tokens=10**9, summarize=summarize) is None
    assert not asked
    assert thread.compact_when(bytes=0, summarize=summarize) is None
    with pytest.raises(TypeError, match="needs bytes or tokens"):
        thread.compact_when(summarize=summarize)
    done = thread.compact_when(bytes=10_000, summarize=summarize, summary_only=True)
    assert done is not None
    assert done.written
    assert asked == [61]
    assert transcriptd.text(thread.messages()[1]) == "They counted."
    assert thread.compact_when(bytes=10_000, summarize=summarize, summary_only=True) is None
    for summary in ("  ", "x" * 20_000):
        for _ in range(30):
            thread.append(transcriptd.user("more " * 30), transcriptd.assistant("on " * 100))
        assert thread.compact_when(bytes=5_000, summarize=lambda _, summary=summary: summary) is None  # type: ignore[misc]
    thread.append(transcriptd.user("more " * 2000))
    with pytest.raises(TypeError, match="summarize gives must be a str"):
        thread.compact_when(bytes=5_000, summarize=lambda _: None)  # type: ignore[arg-type,return-value]


def test_compaction_reports_and_dry_runs(client: Client) -> None:
    thread = client.chat("1", transcriptd.system("s"))
    for i in range(20):
        thread.append(transcriptd.user(f"{i}"), transcriptd.assistant("on " * 100))
    head = thread.head
    dry = client.compact(by_alias("chat/1"), dry_run=True, policy=transcriptd.frugal())
    assert not dry.written
    assert dry.report.bytes_before > dry.report.bytes_after
    assert client.resolve("chat/1").alias.node_id == head
    with pytest.raises(transcriptd.InvalidFieldError):
        client.compact(by_alias("chat/1"), summary="Which messages is this of?")
    done = thread.compact(through=head, aliases=[AliasUpdate("kept/1")])
    assert done.written
    assert client.resolve("kept/1").alias.node_id == thread.head == done.node_id


def test_settings_and_namespaces(client: Client, namespace: str) -> None:
    client.put(transcriptd.user("hi"))
    assert not client.stats().HasField("settings")
    assert client.set_namespace(max_nodes=1, revision=0).revision == 1
    with pytest.raises(transcriptd.QuotaExceededError) as failed:
        client.put(transcriptd.user("more"))
    assert failed.value.quotas == [transcriptd.Quota("max_nodes", 1, failed.value.quotas[0].rule)]
    client.set_namespace()
    assert client.stats().settings_revision == 2
    assert namespace in list(client.namespaces())
    reports = list(client.verify())
    assert reports[-1].done
    assert reports[-1].nodes_checked == 1


def test_backup_and_restore(client: Client) -> None:
    head = client.chat("1", transcriptd.system("s")).head
    *_, last = client.backup()
    assert last.done
    assert (last.nodes, last.aliases, len(last.digest)) == (1, 1, 32)
    state = v1.ArchiveAliasState(node=bytes.fromhex(head), revision=3)
    state.began_at.FromSeconds(1)
    archived = v1.ArchiveAlias(name="chat/2", states=[state], revision=3)
    assert [client.restore(archived), client.restore(archived)] == [1, 0]
    assert client.resolve("chat/2").alias.node_id == head


def test_erasures(client: Client) -> None:
    def erases(**how: Any) -> list[str]:
        *reports, last = client.erase(**how)
        assert last.done
        return [node.node_id for report in reports for node in report.nodes if not node.already_erased]

    def put(salt: bytes, **more: Any) -> str:
        return client.put(transcriptd.user("a secret"), salt=salt, **more).node_id

    one = put(b"0123456789abcdef")
    two = put(b"0123456789abcdeg", metadata={"subject": "alice"})
    three = put(b"0123456789abcdeh", aliases=[AliasUpdate("me/1")])
    shared = client.put(transcriptd.user("a secret")).node_id
    thread = client.chat("held", transcriptd.system("s"))
    thread.messages()
    assert erases(nodes=[one], dry_run=True) == [one]
    assert client._cache.get(thread.head) is not None
    assert erases(nodes=[one], reference="T-1", wait_for_files=True) == [one]
    assert client._cache.get(thread.head) is None
    assert erases(nodes=[one]) == []
    assert erases(metadata=("subject", "alice")) == [two]
    assert erases(attribute=("subject", "alice")) == []
    assert erases(alias_prefix="me/") == [three]
    with pytest.raises(transcriptd.SharedRootError):
        erases(nodes=[shared])
    assert erases(nodes=[shared], shared_roots=v1.SHARED_ROOTS_KEEP) == []
    assert erases(nodes=[shared], shared_roots=v1.SHARED_ROOTS_ERASE) == [shared]
    receipts = client.receipts(one, two)
    says = v1.ErasureReceipt.FromString(receipts[0].receipt.receipt)
    info = client.server_info()
    assert (says.reference, says.node_id.hex(), says.store_id) == ("T-1", one, info.store_id)
    assert receipts[0].receipt.public_key == info.receipt_public_key
    lone = client.put(transcriptd.user("lone")).node_id
    with pytest.raises(transcriptd.NodeNotFoundError):
        client.receipts(lone)


def test_collections(daemon: Daemon, client: Client, namespace: str) -> None:
    def collect(grace: datetime.timedelta | None = datetime.timedelta(0), **how: bool | int) -> int:
        *_, last = client.collect_garbage(grace=grace, **how)  # type: ignore[arg-type]
        assert last.done
        return last.nodes

    head = client.chat("1", transcriptd.system("s")).head
    lone = client.put(transcriptd.user("nobody refers to it")).node_id
    assert collect(None) == 0
    assert collect(dry_run=True) == 1
    assert client.node(by_id(lone)).messages
    with Client(daemon.target, namespace=namespace + "-other") as other:
        other.put(transcriptd.user("theirs"))
        assert collect(max_nodes_per_second=1000) == 1
        assert other.stats().nodes == 1
    with pytest.raises(transcriptd.NodeNotFoundError):
        client.node(by_id(lone))

    assert client.delete_alias("chat/1") == head
    assert collect() == 0
    assert client.delete_alias("chat/1", forget_history=True) == ""
    with pytest.raises(transcriptd.AliasNotFoundError):
        list(client.history("chat/1"))
    assert collect() == 1
    client.put(transcriptd.user("hi"), aliases=[AliasUpdate("chat/2")])
    assert [a.name for a in client.delete_aliases(prefix="chat/", forget_history=True)] == ["chat/2"]
    *_, last = client.collect_garbage(whole_store=True, dry_run=True)
    assert last.namespaces_collected > 1
    assert collect(datetime.timedelta(days=3650), whole_store=True, reclaim_space=True) == 0
    with pytest.raises(transcriptd.InvalidFieldError, match="reclaim_space"):
        collect(reclaim_space=True)
    assert collect() == 1


def test_back_and_facts(client: Client) -> None:
    thread = client.chat("1", transcriptd.system("s"))
    for i in range(5):
        thread.append(transcriptd.user(str(i)), metadata={"turn": str(i)})
    pages = [[transcriptd.text(m) for m in page.messages()] for page in client.back(by_alias("chat/1"), last_messages=2)]
    assert pages == [["3", "4"], ["1", "2"], ["s", "0"]]
    whole = client.assemble(by_alias("chat/1"), facts=v1.NodeFacts(metadata_keys=["turn"]))
    assert [node.metadata[0].value for node in whole.nodes[1:]] == ["0", "1", "2", "3", "4"]
    assert whole.nodes[0].HasField("first_put_at")
    assert b"".join(whole.encoded()) == b"".join(whole.payloads)
    assert whole.size() == sum(map(len, whole.encoded()))


def test_a_deterministic_client_has_no_salts(daemon: Daemon, namespace: str) -> None:
    with Client(daemon.target, namespace=namespace, deterministic=True) as client:
        thread = client.chat("1", transcriptd.system("s"))
        first = thread.append(transcriptd.user("hi"))
        fork = client.put(transcriptd.user("hi"), parent=by_id(client.node(by_id(first.node_id)).info.envelope.parent_id))
        assert (fork.node_id, fork.created) == (first.node_id, False)


def test_prompts_are_shared_and_conversations_are_not(client: Client) -> None:
    prompt = [transcriptd.system("s")]
    one = client.start("m1", transcriptd.user("hi"), system=prompt)
    two = client.start("m2", transcriptd.user("hi"), system=prompt)
    assert one.head != two.head
    assert client.stats().roots == 1


def test_a_subagent_from_a_prefix(client: Client) -> None:
    thread = client.start("m1", transcriptd.user("Find out."))
    thread.append(transcriptd.assistant("", transcriptd.call("c1", "research", "{}")))
    child = thread.spawn("c1", "agent/1", transcriptd.user("Look."), inherit="prefix", metadata={transcriptd.variable_key("x"): "1"})
    assert child.new
    assert [transcriptd.text(m) for m in client.assemble(by_id(child.head), view=v1.VIEW_FULL).messages()] == ["Find out.", "", "Look."]
    lineage = client.describe(by_id(child.head)).lineage
    assert lineage.spawned_from.tool_call_id == "c1"
    assert lineage.inheritance == v1.INHERITANCE_PREFIX
    with pytest.raises(transcriptd.InvalidFieldError):
        thread.spawn("c1", "agent/2", transcriptd.user("Look."), inherit="all")  # type: ignore[arg-type]


def test_what_an_error_of_a_name_says(client: Client) -> None:
    thread = client.start("m1", transcriptd.user("Hello?"))
    thread.reply("o1", transcriptd.assistant("Hello."))
    other = client.chat("1", transcriptd.system("s"))
    told: list[tuple[Callable[[], object], str, str]] = [
        (lambda: client.start("m1", transcriptd.user("Hello?")), "ALIAS_EXISTS", "message_id is taken: resume gives"),
        (lambda: client.start("m1", transcriptd.user("Another.")), "ALIAS_EXISTS", "message_id is taken: resume gives"),
        (lambda: other.reply("o1", transcriptd.assistant("Yes.")), "ALIAS_EXISTS", "reply_id is taken"),
        (lambda: other.sent("o1"), "ALIAS_EXISTS", "reply_id is taken"),
        (lambda: other.fork("msg/m1"), "ALIAS_EXISTS", "alias is taken: open gives"),
        (lambda: client.resume("m2"), "ALIAS_NOT_FOUND", "message_id is of no message that was started: start"),
        (lambda: client.open("chat/2"), "ALIAS_NOT_FOUND", "alias"),
        (lambda: client.chat("2"), "ALIAS_NOT_FOUND", "name is of no chat that was begun: give system"),
    ]
    for call, reason, advice in told:
        with pytest.raises(transcriptd.TranscriptError, match=f"^{reason}: .*: {advice}") as failed:
            call()
        assert failed.value.reason == reason
        assert not transcriptd.may_have_happened(failed.value)
    for function in (transcriptd.text, transcriptd.calls, thread.reply_text):
        with pytest.raises(TypeError, match=r"must be a transcriptd\.v1\.Message, not str"):
            function("Hello.")  # type: ignore[arg-type]
