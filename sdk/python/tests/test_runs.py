"""Where a run stands: the fold of the SDK against what the service tells of random chains; and how runs end."""

from __future__ import annotations

import datetime
import random

import pytest

import transcriptd
from daemon import Daemon
from transcriptd import Client, by_id, runs, v1

OUTCOMES = ["replied", "stopped", "failed", "cancelled"]


def drawn(draw: random.Random) -> v1.Message:
    """A message of any kind that the fold tells apart."""
    calls = [transcriptd.call(draw.choice("abc"), "tool", "{}") for _ in range(draw.choice((0, 0, 1, 2)))]
    kind = draw.choice(("system", "user", "assistant", "assistant", "tool", "tool", "opaque", "blank", "partial", "no id"))
    if kind == "assistant":
        return transcriptd.assistant(draw.choice(("", "text")), *calls)
    if kind == "tool":
        return transcriptd.result(transcriptd.call(draw.choice("abc"), "tool", "{}"), "result")
    if kind == "no id":
        return draw.choice([transcriptd.result(v1.ToolCall(), "result"), transcriptd.assistant("", v1.ToolCall(name="tool"))])
    if kind == "partial":
        return v1.Message(role=v1.ROLE_ASSISTANT, parts=[v1.Part(text="te")], state=v1.MESSAGE_STATE_PARTIAL)
    made = {
        "system": transcriptd.system("s"),
        "user": transcriptd.user("u"),
        "opaque": transcriptd.opaque("kind", b"state"),
        "blank": transcriptd.assistant(" \u00a0\n"),
    }
    return made[kind]


@pytest.mark.parametrize("seed", range(30))
def test_the_fold_is_that_of_the_service(seed: int, daemon: Daemon, namespace: str) -> None:
    draw = random.Random(seed)
    run, parent = runs.Run(), None
    with Client(daemon.target, namespace=namespace) as client:
        for _ in range(15):
            messages = [drawn(draw) for _ in range(draw.choice((1, 1, 2, 3)))]
            outcome = draw.choice(OUTCOMES) if draw.random() < 0.15 else None
            metadata = {transcriptd.OUTCOME_KEY: outcome} if outcome else {}
            parent = client.put(*messages, parent=by_id(parent) if parent else None, metadata=metadata).node_id
            run = runs.step(run, messages, outcome).run
            told = client.describe(by_id(parent)).loop
            state = v1.RUN_LOOP_STATE_UNSPECIFIED if run.phase == "none" else v1.RUN_LOOP_STATE_OPEN
            assert (told.state == v1.RUN_LOOP_STATE_CLOSED or told.state not in (0, state)) if run.closed else told.state == state
            assert run.phase == "none" or told.lead_in == run.lead_in
            waiting = [call.id if call.HasField("id") else None for call in told.pending]
            assert waiting == list(run.group)


def test_a_guard_ends_what_nobody_works_on(daemon: Daemon, namespace: str) -> None:
    with Client(daemon.target, namespace=namespace) as client:
        dead = client.start("m1", transcriptd.user("Count."), chat="1")
        dead.append(transcriptd.assistant("", transcriptd.call("c1", "count", "{}")))
        client.start("m2", transcriptd.user("Hi.")).reply("o2", transcriptd.assistant("Hello."))
        client.chat("3", transcriptd.system("s")).append(transcriptd.assistant("Anybody?"))
        every = {run.info.name: run for run in client.alias_runs()}
        assert set(every) == {"msg/m1", "chat/1", "msg/m2", "msg/o2", "chat/3"}
        assert all(datetime.timedelta(0) <= run.idle < datetime.timedelta(minutes=1) for run in every.values())
        assert {run.info.name for run in client.alias_runs(open_only=True)} == {"msg/m1", "chat/1", "chat/3"}
        assert [run.info.name for run in client.stale_runs(datetime.timedelta(hours=1))] == []
        stale = list(client.stale_runs(datetime.timedelta(microseconds=-1), prefix="msg/"))
        assert [run.info.name for run in stale] == ["msg/m1"]
        ended = client.end_run(stale[0], "cancelled")
        assert (sorted(ended.aliases), ended.more_aliases) == (["chat/1", "msg/m1"], False)
        assert client.resolve("chat/1").alias.node_id == ended.node_id
        assert client.end_run(stale[0], "cancelled").node_id == ended.node_id
        with pytest.raises(transcriptd.AliasMovedError):
            dead.append_results(transcriptd.result(transcriptd.call("c1", "count", "{}"), "1"))
        dead.refresh()
        dead.append(transcriptd.user("More."))
        with pytest.raises(transcriptd.AliasMovedError):
            client.end_run(stale[0], "failed")
