"""The tools that a model is handed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest

import transcriptd
from daemon import Daemon
from transcriptd import AsyncClient, Client, Thread, v1

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def thread(daemon: Daemon, namespace: str) -> Iterator[Thread]:
    with Client(daemon.target, namespace=namespace) as client:
        made = client.start("m1", transcriptd.user("Read both, and find milk."), system=[transcriptd.system("s")])
        big = transcriptd.call("c1", "read", json.dumps({"path": "a" * 3000}))
        made.append(transcriptd.assistant("", big))
        made.append_results(transcriptd.result(big, "milk " * 5000))
        failed = transcriptd.call("c2", "read", '{"path":"b"}')
        made.append(transcriptd.assistant("", failed))
        made.append_results(transcriptd.result(failed, f"No such file, token {SECRET}.", is_error=True))
        made.append(transcriptd.assistant("", transcriptd.call("c3", "wait", "{}")))
        yield made


def test_what_the_model_is_told_of_them(thread: Thread) -> None:
    for tool, name, required in ((thread.recall_tool(), "recall_tool_call", "call_id"), (thread.search_tool(), "search_history", "query")):
        assert tool.name == name
        assert tool.parameters["required"] == [required]
        assert tool.openai() == {
            "type": "function",
            "function": {"name": name, "description": tool.description, "parameters": tool.parameters},
        }
        assert tool.openai_responses() == {
            "type": "function", "name": name, "description": tool.description, "parameters": tool.parameters, "strict": False,
        }  # fmt: skip
        assert tool.anthropic() == {"name": name, "description": tool.description, "input_schema": tool.parameters}
        json.dumps([tool.openai(), tool.openai_responses(), tool.anthropic()])


def test_recall(thread: Thread) -> None:
    run = thread.recall_tool().run
    first = run('{"call_id": "c1"}')
    assert first.startswith('call: read {"path": "aaa')
    assert "...\nresult:\nmilk milk" in first
    assert first.endswith("\n[5000 more characters: ask again with offset 20000]")
    rest = run({"call_id": "c1", "offset": 20_000})
    assert rest.endswith("milk ")
    assert run('{"call_id": "c1", "offset": 90000}').endswith("[it has 25000 characters: there is nothing at offset 90000]")
    assert run('{"call_id": "c2"}') == f'call: read {{"path":"b"}}\nresult, an error:\nNo such file, token {SECRET}.'
    assert run('{"call_id": "c3"}') == "call: wait {}\nIt has no result."
    assert run('{"call_id": "c2", "arguments": true}') == 'call: read, with the arguments:\n{"path":"b"}'
    assert run('{"call_id": "c9"}') == "There is no such tool call in this conversation."
    assert run('{"call_id": "c1", "place": "nowhere"}').startswith("That is not the id and place")
    for bad in (
        "",
        "{",
        "[]",
        "{}",
        '{"call_id": 5}',
        '{"call_id": "c1", "offset": "2"}',
        '{"call_id": "c1", "offset": true}',
        '{"call_id": "\\ud800"}',
    ):
        assert run(bad).startswith("The arguments have to be a JSON object with call_id"), bad


def test_a_place_names_exactly_a_result(thread: Thread) -> None:
    hit = thread.search_tool().run('{"query": "such file"}')
    place = hit.split("(recall c2 ")[1].split(")")[0]
    recall = thread.recall_tool().run
    assert "No such file" in recall({"call_id": "c2", "place": place})
    assert "No such file" in recall({"call_id": "", "place": place})


def test_search(thread: Thread) -> None:
    run = thread.search_tool().run
    found = run('{"query": "MILK"}').splitlines()
    assert [line.split(":")[0].split(" ")[1] for line in found] == ["tool", "user"]
    assert run({"query": "such [a-z]+,", "regexp": True}).startswith("- tool read ")
    assert run('{"query": "nowhere to be found"}') == "Nothing was found."
    assert run('{"query": "(", "regexp": true}') == "That is not an RE2 pattern, or one that is too large."
    assert run({"query": "x" * 2000}).startswith("That cannot be searched for")
    for bad in ("{", "{}", '{"query": 5}', '{"query": "a", "regexp": "yes"}'):
        assert run(bad).startswith("The arguments have to be a JSON object with query"), bad


def test_a_search_does_not_find_itself(thread: Thread) -> None:
    call = transcriptd.call("s1", "search_history", '{"query": "zebra"}')
    thread.append_results(transcriptd.result(transcriptd.call("c3", "wait", "{}"), "ok"))
    thread.append(transcriptd.assistant("", call))
    thread.append_results(transcriptd.result(call, "zebra: nothing was found."))
    run = thread.search_tool().run
    assert run('{"query": "zebra"}') == "Nothing was found."
    other = transcriptd.call("z1", "feed", '{"animal": "Zebra"}')
    thread.append(transcriptd.assistant("", transcriptd.call("s2", "search_history", '{"query": "zebra"}'), other))
    assert run('{"query": "zebra"}').startswith("- assistant feed ")
    assert run('{"query": "zebra.}$", "regexp": true}') == "Nothing was found."
    assert run('{"query": "Ze[b]ra", "regexp": true}').startswith("- assistant feed ")
    for i in range(12):
        thread.append(transcriptd.user(f"zebra {i}"))
    assert run('{"query": "zebra"}').count("- user") == 10
    assert run('{"query": "zebra"}').endswith("[there is more: use a narrower query]\n")


def test_arguments_of_lists_in_lists(thread: Thread) -> None:
    deep = "[" * 100_000
    assert thread.recall_tool().run(deep).startswith("The arguments have to be")
    assert thread.search_tool().run(deep).startswith("The arguments have to be")


def test_without_secrets(thread: Thread) -> None:
    assert SECRET in thread.recall_tool().run({"call_id": "c2"})
    redacted = thread.recall_tool(redact=True).run({"call_id": "c2"})
    assert SECRET not in redacted
    assert "No such file, token " in redacted
    assert SECRET in thread.search_tool().run({"query": "such file"})
    assert SECRET not in thread.search_tool(redact=True).run({"query": "such file"})
    assert thread.search_tool(redact=True).run({"query": SECRET[:12]}) == "Nothing was found."


def test_media_is_named(thread: Thread) -> None:
    call = transcriptd.call("p1", "paint", "{}")
    thread.append_results(transcriptd.result(transcriptd.call("c3", "wait", "{}"), "ok"))
    thread.append(transcriptd.assistant("", call))
    painted = transcriptd.result(call, "Here: ")
    painted.parts.append(v1.Part(media=v1.Media(media_type="image/png", inline=b"\x89PNG")))
    thread.append_results(painted)
    assert thread.recall_tool().run({"call_id": "p1"}).endswith("Here: [image/png]")


def test_asynchronous_tools(daemon: Daemon, namespace: str) -> None:
    async def runs() -> None:
        async with AsyncClient(daemon.target, namespace=namespace) as client:
            thread = await client.start("m1", transcriptd.user("Find milk."))
            assert (await thread.search_tool().run({"query": "milk"})).startswith("- user")
            assert await thread.recall_tool().run({"call_id": "c1"}) == "There is no such tool call in this conversation."

    asyncio.run(runs())
