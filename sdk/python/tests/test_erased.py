"""Nodes that were erased: what is shown of them is held to their ids, no copy outlives them, and roots that everybody shares begin anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2

import transcriptd
from between import Between, Refusal, changed
from daemon import Daemon
from transcriptd import Client, by_alias, by_id, raw, v1
from transcriptd.cache import Cache, View
from transcriptd.identity import encode_messages, payload_digest
from transcriptd.verify import marker
from vectors import load

FULL, EFFECTIVE, PARTED = v1.VIEW_FULL, v1.VIEW_EFFECTIVE, v1.VIEW_CONVERSATION
ONCE = transcriptd.Retry(attempts=1)


@pytest.fixture(scope="module")
def between(daemon: Daemon) -> Iterator[Between]:
    with Between(daemon.target) as running:
        yield running


@pytest.fixture
def client(between: Between, namespace: str) -> Iterator[Client]:
    with Client(between.target, namespace=namespace, verify=True, retry=ONCE) as made:
        yield made


@pytest.mark.parametrize("vector", load("erased.json"), ids=lambda vector: vector["name"])
def test_markers_are_told_from_what_was_said(vector: dict[str, str]) -> None:
    def marked(payload: bytes) -> bool:
        return all(one == encode_messages([marker(raw.messages_of(one)[0])]) for one in raw.each(payload))

    markers, payload = bytes.fromhex(vector["markers_hex"]), bytes.fromhex(vector["payload_hex"])
    assert marked(markers)
    if payload != markers:
        assert not marked(payload)


def erase(told: v1.StreamAssembleResponse, node: int) -> range:
    """Erases a node in a reply, and gives where its messages are."""
    at = sum(info.message_count for info in told.nodes[:node])
    own = range(at, at + told.nodes[node].message_count)
    _erase(told.nodes[node], [told.messages[i] for i in own])
    return own


def _erase(info: v1.NodeInfo, messages: list[v1.Message]) -> None:
    if info.content == v1.NODE_CONTENT_VERBATIM:
        info.envelope.payload_digest = payload_digest(encode_messages(messages), info.envelope.salt).hex()
    info.envelope.ClearField("salt")
    info.content = v1.NODE_CONTENT_ERASED
    for message in messages:
        message.CopyFrom(marker(message))


Edit = Callable[[v1.StreamAssembleResponse], Any]


def first(edit: Edit) -> Callable[[str, bytes], bytes]:
    """Edits the first reply of StreamAssemble."""
    left = [edit]

    def change(method: str, reply: bytes) -> bytes:
        if method != "StreamAssemble" or not left:
            return reply
        told = v1.StreamAssembleResponse.FromString(reply)
        left.pop()(told)
        return told.SerializeToString()

    return change


def conversation(client: Client) -> transcriptd.Thread:
    """A root, a question, a call with its result, and an answer."""
    thread = client.start("m1", transcriptd.user("Look."), system=[transcriptd.system("You are helpful.")], metadata={"k": "v"})
    call = transcriptd.call("c1", "look", '{"at": 1}')
    thread.append(transcriptd.assistant("", call))
    thread.append_results(transcriptd.result(call, "One."))
    thread.append(transcriptd.assistant("It is one."))
    return thread


@pytest.mark.parametrize("view", [FULL, EFFECTIVE, PARTED])
@pytest.mark.parametrize("last", [0, 100])
def test_an_erased_node_is_held_to_its_id_and_its_markers(client: Client, between: Between, view: int, last: int) -> None:
    if view == PARTED and last:
        return  # a conversation has no end of its own
    thread = conversation(client)

    def read(edit: Edit) -> list[v1.Message]:
        with changed(between, replies=first(edit)):
            return client.assemble(by_id(thread.head), view=view, last_messages=last).messages()

    for node in range(5):
        texts = [transcriptd.text(m) for m in read(lambda told, node=node: erase(told, node))]  # type: ignore[misc]
        assert [text == "[erased]" for text in texts] == [i == node for i in range(5)]

        def says(told: v1.StreamAssembleResponse, node: int = node) -> None:
            told.messages[erase(told, node)[0]].parts[0].text = "Obey."

        def hashes(told: v1.StreamAssembleResponse, node: int = node) -> None:
            erase(told, node)
            told.nodes[node].envelope.payload_digest = "ab" * 32

        for edit in [hashes] if view == PARTED else [hashes, says]:
            with pytest.raises(transcriptd.VerificationError):
                read(edit)


def test_an_erased_node_has_the_stubs_of_the_view(client: Client, between: Between) -> None:
    thread = client.start("m1", transcriptd.user("Look."))
    thread.append(transcriptd.assistant("", transcriptd.call("c1", "look", "{}")))
    thread.append(transcriptd.user("Go on."))

    def says(told: v1.StreamAssembleResponse) -> None:
        erase(told, 2)
        next(m for m in told.messages if m.origin == v1.ORIGIN_STUB).parts[0].text = "Obey."

    calls = between.calls.get("StreamAssemble", 0)
    with changed(between, replies=first(lambda told: erase(told, 2))):
        messages = client.assemble(by_id(thread.head)).messages()
    assert [transcriptd.text(m)[:4] for m in messages] == ["Look", "", "[no ", "[era"]
    assert between.calls["StreamAssemble"] == calls + 1  # it is not doubted
    with changed(between, replies=first(says)), pytest.raises(transcriptd.VerificationError):
        client.assemble(by_id(thread.head))


def test_of_a_compaction_some_messages_may_be_erased(client: Client, between: Between) -> None:
    thread = conversation(client)
    thread.compact(summary="They looked.")
    thread.append(transcriptd.user("And now?"))

    def some(told: v1.StreamAssembleResponse) -> None:
        node = next(i for i, info in enumerate(told.nodes) if info.envelope.covers_through_id)
        own = erase(told, node)
        told.messages[own[-1]].CopyFrom(transcriptd.user("This stays."))

    with changed(between, replies=first(some)):
        assert "This stays." in [transcriptd.text(m) for m in client.assemble(by_id(thread.head)).messages()]


def test_an_erased_node_is_read_without_its_metadata(client: Client, between: Between) -> None:
    thread = client.start("m1", transcriptd.user("Look."), metadata={"k": "v"})

    def read(edit: Callable[[v1.GetNodeResponse], Any]) -> v1.GetNodeResponse:
        def change(_: str, reply: bytes) -> bytes:
            node = v1.GetNodeResponse.FromString(reply)
            _erase(node.info, list(node.messages))
            edit(node)
            return node.SerializeToString()

        with changed(between, replies=change):
            return client.node(by_id(thread.head))

    def without(node: v1.GetNodeResponse) -> None:
        node.ClearField("metadata")

    def says(node: v1.GetNodeResponse) -> None:
        without(node)
        node.messages[0].parts[0].text = "Look."

    def hashes(node: v1.GetNodeResponse) -> None:
        without(node)
        node.info.envelope.payload_digest = "ab" * 32

    assert [transcriptd.text(m) for m in read(without).messages] == ["[erased]"]
    for edit in [lambda node: None, says, hashes]:
        with pytest.raises(transcriptd.VerificationError):
            read(edit)


def test_a_repaired_node_is_not_compared_across_an_erasure(client: Client, between: Between) -> None:
    thread = client.start("m1", transcriptd.user("Look."))
    thread.append(transcriptd.assistant("", transcriptd.call("c1", "look", "{}")))
    thread.append(transcriptd.user("Go on."))
    erasures = [3, 3]
    asked: list[int] = []

    def told(method: str, reply: bytes) -> bytes:
        answer = v1.StreamAssembleResponse.FromString(reply)
        answer.erasures = erasures[min(len(asked), 2) - 1]
        return answer.SerializeToString()

    def request(method: str, request: bytes) -> bytes:
        sent = v1.StreamAssembleRequest.FromString(request)
        asked.append(sent.after_erasures)
        sent.after_erasures = 0  # of which this service knows
        return sent.SerializeToString()

    with changed(between, replies=told, requests=request):
        assert client.assemble(by_id(thread.head)).erasures == 3
        assert asked == [0, 3]
        asked.clear()
        erasures[1] = 4
        with pytest.raises(transcriptd.VerificationError, match="read the view again"):
            client.assemble(by_id(thread.head))


def test_a_view_of_other_erasures_drops_those_before() -> None:
    cache = Cache(1 << 20)
    payload = v1.Payload(messages=[transcriptd.user("1")]).SerializeToString()
    base = View("a", None, payload, 1)
    assert cache.put(base)
    assert cache.put(View("b", base, payload, 1))
    cache.name("chat/1", "b")
    assert cache.put(View("c", base, payload, 2))
    assert cache.get("a") is cache.get("b") is None
    assert cache.head_of("chat/1") == ""
    kept = cache.get("c")
    assert kept is not None
    assert (kept.base, kept.erasures, len(kept.messages())) == (None, 2, 2)
    assert cache.used == kept.cost()
    assert cache.put(View("d", None, payload, 1))  # of a namespace that began anew
    assert cache.get("c") is None
    cache.clear()
    assert (cache.get("d"), cache.used) == (None, 0)


class Erasures:
    """A service that tells of so many erasures, and gives the whole view to whoever may hold what was erased."""

    def __init__(self) -> None:
        self.count = 0
        self.asked: list[tuple[str, int]] = []

    def request(self, method: str, request: bytes) -> bytes:
        if method != "StreamAssemble":
            return request
        asked = v1.StreamAssembleRequest.FromString(request)
        self.asked.append((asked.after_id, asked.after_erasures))
        if asked.after_erasures != self.count:
            asked.after_id = ""
        asked.after_erasures = 0
        return asked.SerializeToString()

    def reply(self, method: str, reply: bytes) -> bytes:
        if method != "StreamAssemble":
            return reply
        told = v1.StreamAssembleResponse.FromString(reply)
        told.erasures = self.count
        return told.SerializeToString()


def test_a_thread_holds_nothing_of_before_an_erasure(client: Client, between: Between) -> None:
    service = Erasures()
    with changed(between, replies=service.reply, requests=service.request):
        thread = client.start("m1", transcriptd.user("1"))
        one = thread.head
        thread.messages()
        thread.append(transcriptd.assistant("2"))
        two = thread.head
        thread.messages()
        service.count = 2
        thread.append(transcriptd.user("3"))
        three = thread.head
        assert [transcriptd.text(m) for m in thread.messages()] == ["1", "2", "3"]
        assert client._cache.get(one) is client._cache.get(two) is None
        thread.append(transcriptd.assistant("4"))
        thread.messages()
        assert service.asked == [("", 0), (one, 0), (two, 0), (three, 2)]


def refuses_unsalted_roots(method: str, request: bytes) -> bytes:
    """A service in which every root without a salt was erased."""
    roots: list[tuple[str, Any]] = []
    if method == "PutNode":
        roots = [("salt", v1.PutNodeRequest.FromString(request))]
    elif method == "PutNodes":
        roots = [(f"nodes[{i}].salt", node) for i, node in enumerate(v1.PutNodesRequest.FromString(request).nodes)]
    for field, node in roots:
        if not node.salt and not node.HasField("parent") and not getattr(node, "previous", False):
            details = error_details_pb2.BadRequest()
            details.field_violations.add(field=field, description="erased")
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "PAYLOAD_ERASED", details)
    return request


def salts(client: Client, alias: str) -> list[int]:
    """How many bytes the salt of each node has."""
    whole = client.assemble(by_alias(alias), view=FULL, detail=v1.NODE_DETAIL_ENVELOPES)
    return [len(node.envelope.salt) for node in whole.nodes]


def test_an_erased_root_begins_anew_with_a_salt(client: Client, between: Between) -> None:
    brief = transcriptd.system("You are helpful.")
    with changed(between, requests=refuses_unsalted_roots):
        assert client.start("m1", transcriptd.user("hi"), system=brief).new
        assert salts(client, "msg/m1") == [16, 16]
        assert client.start("m2", transcriptd.system("Be brief.")).new  # a root that is a prompt
        assert salts(client, "msg/m2") == [16]
        assert client.chat("1", brief).new
        assert salts(client, "chat/1") == [16]
        between.calls.clear()
        assert not client.start("m1", transcriptd.user("hi"), system=brief).new
        with pytest.raises(transcriptd.PayloadErasedError):
            client.put(brief)


@pytest.mark.parametrize("deterministic", [False, True])
def test_what_else_was_erased_is_not_put_again(between: Between, namespace: str, deterministic: bool) -> None:
    def refuses(method: str, request: bytes) -> bytes:
        if method in ("PutNode", "PutNodes"):
            details = error_details_pb2.BadRequest()
            details.field_violations.add(field="salt" if method == "PutNode" else f"nodes[{int(not deterministic)}].salt")
            raise Refusal(grpc.StatusCode.FAILED_PRECONDITION, "PAYLOAD_ERASED", details)
        return request

    with Client(between.target, namespace=namespace, deterministic=deterministic, retry=ONCE) as client:
        thread = client.start("m1", transcriptd.user("hi"))
        puts: list[Callable[[], Any]] = [
            lambda: client.start("m2", transcriptd.user("hi")),
            lambda: client.start("m3", transcriptd.user("hi"), system=transcriptd.system("Be brief.")),
            lambda: thread.append(transcriptd.assistant("hello")),
        ]
        if deterministic:
            puts.append(lambda: client.chat("1", transcriptd.system("Be brief.")))
        with changed(between, requests=refuses):
            for put in puts:
                before = sum(between.calls.get(method, 0) for method in ("PutNode", "PutNodes"))
                with pytest.raises(transcriptd.PayloadErasedError):
                    put()
                assert sum(between.calls.get(method, 0) for method in ("PutNode", "PutNodes")) == before + 1
