"""A server that is older: what it lacks is named, and nothing that it would refuse is sent unasked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

import transcriptd
from between import Between, Refusal, changed
from daemon import Daemon
from transcriptd import Client, v1
from transcriptd.features import needed


@pytest.fixture(scope="module")
def between(daemon: Daemon) -> Iterator[Between]:
    with Between(daemon.target) as running:
        yield running


def older(lacks: str) -> Callable[[str, bytes], bytes]:
    """Refuses as a server does that does not know a feature, and so not ServerInfo either."""

    def refuse(method: str, request: bytes) -> bytes:
        if method == "ServerInfo":
            raise Refusal(grpc.StatusCode.UNIMPLEMENTED)
        kind = getattr(v1, method + "Request")
        if lacks in needed(method, kind.FromString(request)):
            raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_REQUEST")
        return request

    return refuse


ID = "0" * 64
ASKED: dict[str, Callable[[Client], Any]] = {
    "alias_deletes": lambda c: c.set_aliases(transcriptd.AliasMove("a", delete=True)),
    "alias_order": lambda c: list(c.aliases(reverse=True)),
    "alias_revisions": lambda c: c.delete_alias("a", transcriptd.revision_is(1)),
    "archived_nodes": lambda c: c.put_archived(v1.ArchivedNode()),
    "backup": lambda c: c.restore(),
    "collection": lambda c: list(c.collect_garbage()),
    "erase": lambda c: list(c.erase(alias_prefix="a")),
    "delete_aliases": lambda c: list(c.delete_aliases(prefix="a")),
    "delete_namespace": lambda c: c.delete_namespace(c.namespace),
    "get_nodes": lambda c: c.nodes(ID),
    "last_messages": lambda c: c.assemble(transcriptd.by_id(ID), last_messages=1),
    "namespaces": lambda c: list(c.namespaces()),
    "note_costs": lambda c: c.put(transcriptd.user("hi"), notes=[v1.MessageNote(model="m")]),
    "opaque_parts": lambda c: c.put(transcriptd.opaque("kind", b"state")),
    "presets": lambda c: c.compact(transcriptd.by_alias("a"), policy=transcriptd.coding()),
    "retention": lambda c: c.set_namespace(retention=[v1.RetentionRule(legal_hold=True)]),
    "verify_cursor": lambda c: list(c.verify(max_bytes_per_second=1)),
}


@pytest.mark.parametrize("feature", ASKED)
def test_a_missing_feature_is_named(feature: str, between: Between, namespace: str) -> None:
    with changed(between, requests=older(feature)), Client(between.target, namespace=namespace) as client:
        with pytest.raises(transcriptd.UnsupportedError, match=f"lacks (namespaces, )?{feature}$") as failed:
            ASKED[feature](client)
        assert not transcriptd.may_have_happened(failed.value)
        assert not client.supports(feature)
        asked = between.calls["ServerInfo"]
        client.server_info()
        assert between.calls["ServerInfo"] == asked


def test_deletions_that_forget_are_of_a_feature() -> None:
    assert needed("DeleteAlias", v1.DeleteAliasRequest(name="a", forget_history=True)) == {"collection"}
    assert needed("DeleteAliases", v1.DeleteAliasesRequest(all=True, forget_history=True)) == {"collection", "delete_aliases"}
    assert needed("DeleteAlias", v1.DeleteAliasRequest(name="a")) == set()


def test_every_feature_of_the_server_is_known(daemon: Daemon) -> None:
    with Client(daemon.target) as client:
        assert set(client.server_info().features) == set(ASKED)
        assert client.supports("get_nodes")


def test_what_a_turn_does_needs_no_feature(between: Between, namespace: str) -> None:
    def old(method: str, request: bytes) -> bytes:
        if needed(method, getattr(v1, method + "Request").FromString(request)):
            raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_REQUEST")
        return request

    with changed(between, requests=old), Client(between.target, namespace=namespace) as client:
        thread = client.start("m1", transcriptd.user("hi"), system=[transcriptd.system("s")], chat="1")
        thread.append(transcriptd.assistant("", transcriptd.call("c1", "read", "{}")))
        client.resume("m1").answer_unknown()
        thread.refresh()
        thread.sent("o0")
        thread.reply("o1", transcriptd.assistant("bye"))
        thread.compact(summary="They met.")
        assert len(thread.messages()) == 4
        thread.messages(v1.Policy())
        list(client.aliases())
        client.delete_alias("m1")
        list(client.verify())
