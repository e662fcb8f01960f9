"""Ids are recomputed of what was received: whatever a server changes of a reply is found out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import transcriptd
from between import Between, changed
from daemon import Daemon
from transcriptd import Client, by_alias, by_id, v1


@pytest.fixture(scope="module")
def between(daemon: Daemon) -> Iterator[Between]:
    with Between(daemon.target) as running:
        yield running


@pytest.fixture
def client(between: Between, namespace: str) -> Iterator[Client]:
    with Client(between.target, namespace=namespace, verify=True, retry=transcriptd.Retry(attempts=1)) as made:
        yield made


def conversation(client: Client) -> transcriptd.Thread:
    """A chain with a call that has no result, one that has two, a summary and something behind it."""
    thread = client.start("m1", transcriptd.user("Look."), system=[transcriptd.system("You are helpful.")], metadata={"k": "v"})
    calls = [transcriptd.call("c1", "look", "{}"), transcriptd.call("c2", "look", "{}")]
    thread.append(transcriptd.assistant("", *calls))
    thread.append_results(transcriptd.result(calls[0], "One."))
    thread.append_results(transcriptd.result(calls[0], "One again."))
    thread.append(transcriptd.user("Go on."), transcriptd.assistant("On."))
    return thread


FULL, EFFECTIVE, PARTED = v1.VIEW_FULL, v1.VIEW_EFFECTIVE, v1.VIEW_CONVERSATION


@pytest.mark.parametrize("view", [FULL, EFFECTIVE, PARTED])
@pytest.mark.parametrize("compacted", [False, True])
def test_what_the_service_sends_verifies(client: Client, view: int, compacted: bool) -> None:
    thread = conversation(client)
    if compacted:
        thread.compact(summary="They looked.")
        thread.append(transcriptd.user("And now?"))
    whole = client.assemble(by_alias("msg/m1"), view=view)
    assert whole.head_id == thread.head
    assert whole.messages()
    if view != PARTED:
        assert client.assemble(by_id(thread.head), view=view, last_messages=2).more_before
        pages = list(client.back(by_id(thread.head), view=view, last_messages=2))
        assert [m for page in reversed(pages) for m in page.messages()] == whole.messages()
        framed = [m for frame in client.frames(by_id(thread.head), view=view) for m in frame.messages()]
        assert framed == whole.messages()
        assert client.assemble(by_id(thread.head), view=view, after=thread.head).base_id == thread.head


def test_stubs_and_results_that_are_left_out_verify(client: Client) -> None:
    thread = conversation(client)
    roles = [v1.Role.Name(m.role) for m in client.assemble(by_id(thread.head)).messages()]
    assert roles == ["ROLE_SYSTEM", "ROLE_USER", "ROLE_ASSISTANT", "ROLE_TOOL", "ROLE_TOOL", "ROLE_USER", "ROLE_ASSISTANT"]


Edit = Callable[[v1.StreamAssembleResponse, int], Any]

OF_MESSAGES: dict[str, Edit] = {
    "gone": lambda t, i: t.messages.pop(i),
    "twice": lambda t, i: t.messages.insert(i, t.messages[i]),
    "of another role": lambda t, i: setattr(t.messages[i], "role", t.messages[i].role % 5 + 1),
    "says more": lambda t, i: t.messages[i].parts.append(v1.Part(text="Obey.")),
}
OF_NODES: dict[str, Edit] = {
    "of another parent": lambda t, i: setattr(t.nodes[i].envelope, "parent_id", "ab" * 32),
    "of another id": lambda t, i: setattr(t.nodes[i], "node_id", "ab" * 32),
    "with metadata": lambda t, i: setattr(t.nodes[i].envelope, "metadata_digest", "ab" * 32),
    "spawned": lambda t, i: setattr(t.nodes[i].envelope.spawned_from, "node_id", "ab" * 32),
    "spawned badly": lambda t, i: setattr(t.nodes[i].envelope.spawned_from, "node_id", "ab"),
    "without an envelope": lambda t, i: t.nodes[i].ClearField("envelope"),
    "with a message more": lambda t, i: setattr(t.nodes[i], "message_count", 99),
}
OF_VERBATIM_NODES: dict[str, Edit] = {
    "as another content": lambda t, i: setattr(t.nodes[i], "content", 9),
    "with a salt": lambda t, i: setattr(t.nodes[i].envelope, "salt", b"0123456789abcdef"),
    "with a salt that is none": lambda t, i: setattr(t.nodes[i].envelope, "salt", b"0" * 300),
}
OF_ALL: dict[str, Edit] = {
    "no nodes": lambda t, _: t.ClearField("nodes"),
    "another head": lambda t, _: setattr(t, "head_id", "ab" * 32),
    "a base": lambda t, _: setattr(t, "base_id", "ab" * 32),
    "the last node gone": lambda t, _: _without_last(t),
}


def changes(reply: bytes) -> Iterator[tuple[str, bytes]]:
    """Replies that differ from one in what ids bind."""

    def changed_by(edits: dict[str, Edit], what: str, i: int) -> Iterator[tuple[str, bytes]]:
        for name, edit in edits.items():
            told = v1.StreamAssembleResponse.FromString(reply)
            edit(told, i)
            yield f"{what} {i} {name}", told.SerializeToString()

    told = v1.StreamAssembleResponse.FromString(reply)
    for i in range(len(told.messages)):
        yield from changed_by(OF_MESSAGES, "message", i)
    for i, node in enumerate(told.nodes):
        yield from changed_by(OF_NODES, "node", i)
        if node.content == v1.NODE_CONTENT_VERBATIM:
            yield from changed_by(OF_VERBATIM_NODES, "node", i)
    yield from changed_by(OF_ALL, "reply", 0)


def _without_last(told: v1.StreamAssembleResponse) -> None:
    del told.messages[len(told.messages) - told.nodes[-1].message_count :]
    del told.nodes[-1]


def without_first(reply: bytes) -> tuple[str, bytes]:
    """A reply without its first node. Behind a compaction, that this is the beginning is the server's word."""
    told = v1.StreamAssembleResponse.FromString(reply)
    del told.messages[: told.nodes[0].message_count]
    del told.nodes[0]
    return "the first node gone", told.SerializeToString()


def first_is(reply: bytes) -> Callable[[str, bytes], bytes]:
    """Puts a reply in the place of the first one."""
    left = [reply]
    return lambda _, own: left.pop() if left else own


@pytest.mark.parametrize("view", [FULL, EFFECTIVE])
@pytest.mark.parametrize("compacted", [False, True])
def test_whatever_is_changed_is_found_out(client: Client, between: Between, view: int, compacted: bool) -> None:
    thread = conversation(client)
    if compacted:
        thread.compact(summary="They looked.")
        thread.append(transcriptd.user("And now?"))
    received: list[bytes] = []

    def kept(_: str, reply: bytes) -> bytes:
        received.append(reply)
        return reply

    with changed(between, replies=kept):
        whole = client.assemble(by_id(thread.head), view=view).messages()
    assert len(received) == 1 + (view == EFFECTIVE and not compacted) * 2  # the nodes that came repaired are read again
    tried = 0
    for name, reply in [*changes(received[0]), *([] if compacted and view == EFFECTIVE else [without_first(received[0])])]:
        with changed(between, replies=first_is(reply)):
            try:
                got = client.assemble(by_id(thread.head), view=view).messages()
            except (transcriptd.VerificationError, transcriptd.BadReplyError):
                tried += 1
            else:
                pytest.fail(f"{name} was not found out: {got != whole}")
    assert tried > 40


def test_a_byte_that_is_changed_is_found_out(client: Client, between: Between) -> None:
    """Of every byte of messages and nodes: either it is found out, or what is told of the messages is the same."""
    thread = client.start("m1", transcriptd.user("Hello?"), system=[transcriptd.system("Hi.")])
    thread.append(transcriptd.assistant("Hello."))
    whole = client.assemble(by_id(thread.head)).messages()

    def flipped(at: int) -> Callable[[str, bytes], bytes]:
        return lambda _, reply: reply[:at] + bytes(b ^ 1 for b in reply[at : at + 1]) + reply[at + 1 :]

    for at in range(400):
        with changed(between, replies=flipped(at)):
            try:
                got = client.assemble(by_id(thread.head)).messages()
            except transcriptd.TranscriptError as error:
                assert isinstance(error, (transcriptd.VerificationError, transcriptd.BadReplyError)), error
            else:
                assert got == whole, f"byte {at}"


def test_a_repaired_node_shows_no_more_than_it_may(client: Client, between: Between) -> None:
    thread = conversation(client)

    def lies(edit: Callable[[v1.StreamAssembleResponse], Any]) -> Callable[[str, bytes], bytes]:
        first = [True]

        def change(_: str, reply: bytes) -> bytes:
            told = v1.StreamAssembleResponse.FromString(reply)
            if first:
                first.clear()
                edit(told)
            return told.SerializeToString()

        return change

    def stub(told: v1.StreamAssembleResponse) -> v1.Message:
        return next(m for m in told.messages if m.origin == v1.ORIGIN_STUB)

    edits: dict[str, Callable[[v1.StreamAssembleResponse], Any]] = {
        "another text": lambda t: setattr(stub(t).parts[0], "text", "Obey."),
        "an error": lambda t: setattr(stub(t), "is_error", True),
        "no stub": lambda t: setattr(stub(t), "origin", v1.ORIGIN_UNSPECIFIED),
    }
    for edit in edits.values():
        with changed(between, replies=lies(edit)), pytest.raises(transcriptd.VerificationError):
            client.assemble(by_id(thread.head))


def test_a_node_that_is_changed_is_found_out(client: Client, between: Between) -> None:
    thread = conversation(client)
    edits: dict[str, Callable[[v1.GetNodeResponse], Any]] = {
        "a text": lambda n: setattr(n.messages[0].parts[0], "text", "Obey."),
        "a message more": lambda n: n.messages.append(transcriptd.user("more")),
        "metadata": lambda n: n.metadata.entries.append(v1.MetadataEntry(key="a", value="b")),
        "a parent": lambda n: setattr(n.info.envelope, "parent_id", "ab" * 32),
        "an id": lambda n: setattr(n.info, "node_id", "ab" * 32),
        "a salt": lambda n: setattr(n.info.envelope, "salt", b"0" * 16),
        "a salt that is none": lambda n: setattr(n.info.envelope, "salt", b"0" * 300),
        "no envelope": lambda n: n.info.ClearField("envelope"),
    }

    def one(edit: Callable[[v1.GetNodeResponse], Any]) -> Callable[[str, bytes], bytes]:
        def change(method: str, reply: bytes) -> bytes:
            if method == "GetNodes":
                several = v1.GetNodesResponse.FromString(reply)
                edit(several.nodes[0])
                return several.SerializeToString()
            node = v1.GetNodeResponse.FromString(reply)
            edit(node)
            return node.SerializeToString()

        return change

    for edit in edits.values():
        for read in (lambda: client.node(by_id(thread.head)), lambda: client.nodes(thread.head)):
            with changed(between, replies=one(edit)), pytest.raises((transcriptd.VerificationError, transcriptd.BadReplyError)):
                read()


def test_a_put_of_something_else_is_found_out(client: Client, between: Between) -> None:
    def more(_: str, request: bytes) -> bytes:
        changed_request = v1.PutNodeRequest.FromString(request)
        changed_request.messages[0].parts[0].text = "Obey."
        return changed_request.SerializeToString()

    with changed(between, requests=more), pytest.raises(transcriptd.VerificationError) as failed:
        client.put(transcriptd.user("hi"))
    assert transcriptd.may_have_happened(failed.value)


def test_another_head_than_asked_for_is_found_out(client: Client, between: Between) -> None:
    thread = conversation(client)
    first = client.assemble(by_id(thread.head), view=FULL).nodes[1].node_id

    def elsewhere(_: str, request: bytes) -> bytes:
        changed_request = v1.StreamAssembleRequest.FromString(request)
        changed_request.head.node_id = first
        return changed_request.SerializeToString()

    with changed(between, requests=elsewhere), pytest.raises(transcriptd.VerificationError):
        client.assemble(by_id(thread.head), view=FULL)
