"""What a client keeps of views: within its bounds, and only what is new is asked for."""

from __future__ import annotations

import random

import pytest

import transcriptd
from between import Between
from daemon import Daemon
from transcriptd import Client, by_id, v1
from transcriptd.cache import Cache, View


def payload(text: str) -> bytes:
    return v1.Payload(messages=[transcriptd.user(text)]).SerializeToString()


def test_a_view_is_that_of_its_bases_and_its_own() -> None:
    cache = Cache(1 << 20)
    base = View("a", None, payload("1"))
    cache.put(base)
    cache.put(View("b", base, payload("2")))
    kept = cache.get("b")
    assert kept is not None
    assert [transcriptd.text(m) for m in kept.messages()] == ["1", "2"]
    assert kept.whole() == payload("1") + payload("2")
    cache.name("chat/1", "b")
    assert cache.head_of("chat/1") == "b"
    cache.name("chat/1", "a")
    assert cache.head_of("chat/1") == "a"
    assert cache.head_of("chat/2") == ""


@pytest.mark.parametrize("most", [0, 2_000, 20_000, 1 << 20])
def test_what_is_kept_is_within_its_bound(most: int) -> None:
    draw = random.Random(most)
    cache = Cache(most)
    made: list[View] = []
    for i in range(500):
        base = draw.choice([None, *made[-5:]])
        if base is not None:
            base = cache.get(base.head)
        view = View(str(i), base, payload("x" * draw.randrange(2000)))
        kept = cache.put(view)
        made.append(view)
        cache.name(f"chat/{draw.randrange(20)}", str(i))
        assert cache.used <= most
        assert kept == (cache.get(str(i)) is not None)
        assert cache.used == sum(v.cost() for v in cache._views.values())
        for one in cache._views.values():
            assert one.base is None or cache._views.get(one.base.head) is one.base
            assert all(cache._named[name] is one for name in one.names)
    assert (cache.used > 0) == (most > 0)


@pytest.mark.parametrize("cache_bytes", [0, 64 << 20])
def test_only_what_is_new_is_asked_for(cache_bytes: int, daemon: Daemon, namespace: str) -> None:
    after: list[str] = []

    def seen(method: str, request: bytes) -> bytes:
        if method == "StreamAssemble":
            after.append(v1.StreamAssembleRequest.FromString(request).after_id)
        return request

    with Between(daemon.target) as between, Client(between.target, namespace=namespace, cache_bytes=cache_bytes) as client:
        between.requests = seen
        thread = client.start("m1", transcriptd.user("1"), system=[transcriptd.system("s")])
        first = thread.head
        thread.messages()
        thread.reply("o1", transcriptd.assistant("2"))
        one = client.start("m2", transcriptd.user("3"), reply_to="o1")
        two = client.start("m3", transcriptd.user("4"), reply_to="o1")
        assert [transcriptd.text(m) for m in one.messages()] == ["s", "1", "2", "3"]
        assert [transcriptd.text(m) for m in two.messages()] == ["s", "1", "2", "4"]
        one.messages()
        kept = cache_bytes > 0
        assert after == (["", first, first, one.head] if kept else ["", "", "", ""])
        given = one.messages()
        given[0].parts[0].text = "the caller owns them"
        assert transcriptd.text(one.messages()[0]) == "s"
        one.append(transcriptd.assistant("on " * 100), transcriptd.user("5"))
        one.messages()
        assert one.compact(summary="They counted.", summary_only=True).written
        assert [transcriptd.text(m) for m in one.messages()][:2] == ["s", "They counted."]
        assert client.assemble(by_id(one.head)).messages() == one.messages()
