"""Carries out the scenarios of proto/testdata/scenarios.json, which its README describes, by a client of either kind."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable
from typing import Any

from google.protobuf import json_format

import transcriptd
from lossy import Proxy
from transcriptd import v1

Result = dict[str, Any]
POLICIES = {name: getattr(transcriptd, name) for name in ("chat", "coding", "long", "frugal", "unbounded")}


# From the JSON of scenarios to what the SDK takes.


def message(given: Result) -> v1.Message:
    role, text = next(iter(given.items()))
    text *= given.get("times", 1)
    if role == "tool":
        call = v1.ToolCall(id=given["of"], name=given["name"])
        return transcriptd.result(call, text, is_error=given.get("error", False))
    if role == "assistant":
        calls = [transcriptd.call(c["id"], c["name"], c["arguments"]) for c in given.get("calls", [])]
        return transcriptd.assistant(text, *calls)
    if role == "developer":
        return v1.Message(role=v1.ROLE_DEVELOPER, parts=[v1.Part(text=text)])
    made: v1.Message = {"system": transcriptd.system, "user": transcriptd.user}[role](text)
    return made


def messages(given: list[Result] | None) -> list[v1.Message]:
    return [message(m) for m in given or []]


def ref(given: Result) -> transcriptd.Ref:
    return transcriptd.by_id(given["id"]) if "id" in given else transcriptd.by_alias(given["alias"])


def condition(given: Result | None) -> transcriptd.Condition | None:
    if not given:
        return None
    if given.get("must_not_exist"):
        return transcriptd.must_not_exist()
    if given.get("must_exist"):
        return transcriptd.must_exist()
    if "head" in given and "revision" in given:
        return transcriptd.head_at(given["head"], given["revision"])
    return transcriptd.head_is(given["head"]) if "head" in given else transcriptd.revision_is(given["revision"])


def policy(given: str | Result | None) -> v1.Policy | None:
    if given is None:
        return None
    if isinstance(given, str):
        made: v1.Policy = POLICIES[given]()
        return made
    return json_format.ParseDict(given, v1.Policy())


def node(given: Result) -> dict[str, Any]:
    parent = given.get("parent")
    return {
        "messages": messages(given.get("messages")),
        "parent": None if parent in (None, "previous") else ref(parent),
        "previous": parent == "previous",
        "metadata": given.get("metadata", {}),
        "salt": bytes.fromhex(given.get("salt", "")),
        "aliases": [
            transcriptd.AliasUpdate(a["name"], condition(a.get("if")), a.get("labels"), a.get("delete", False))
            for a in given.get("aliases", [])
        ],
    }


# From what the SDK gives to the JSON of scenarios.


def shown(given: v1.Message) -> Result:
    told: Result = {v1.Role.Name(given.role).removeprefix("ROLE_").lower(): transcriptd.text(given)}
    if given.origin:
        told["origin"] = v1.Origin.Name(given.origin).removeprefix("ORIGIN_")
    if transcriptd.calls(given):
        told["calls"] = [called(c) for c in transcriptd.calls(given)]
    if given.HasField("tool_call_id"):
        told["of"] = given.tool_call_id
    if given.HasField("name"):
        told["name"] = given.name
    if given.is_error:
        told["error"] = True
    return told


def called(given: v1.ToolCall) -> Result:
    return {"id": given.id, "name": given.name, "arguments": given.arguments}


def put(given: transcriptd.PutResult) -> Result:
    aliases = [{"name": a.name, "changed": a.changed} for a in given.aliases]
    return {"id": given.node_id, "created": given.created, "retried": given.retried, "aliases": aliases}


def failure(error: transcriptd.TranscriptError) -> Result:
    told = {
        "code": error.code.name,
        "reason": error.reason,
        "head": error.head,
        "may_have_happened": transcriptd.may_have_happened(error),
        "retried": error.retried,
        "deleted": error.deleted is not None,
        "fields": [v.field for v in error.violations],
        "receipt": error.receipt.hex(),
    }
    return {"error": told}


def expanded(given: Any) -> Any:
    """An expectation in which the texts of messages are repeated as often as they say."""
    if isinstance(given, list):
        return [expanded(one) for one in given]
    if not isinstance(given, dict):
        return given
    if "times" in given:
        role, text = next(iter(given.items()))
        return {role: text * given["times"], **{k: v for k, v in given.items() if k not in (role, "times")}}
    return {key: expanded(value) for key, value in given.items()}


ROLES = {"system", "developer", "user", "assistant", "tool"}


def difference(want: Any, got: Any, at: str = "result") -> str:
    """What of a result is not as expected; empty: nothing."""
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return f"{at} is {got!r}, and no object"
        if want and next(iter(want)) in ROLES and want != got:
            return f"{at} is {got!r}, want {want!r}"
        for key, value in want.items():
            if key not in got:
                return f"{at} has no {key}: {got!r}"
            if found := difference(value, got[key], f"{at}.{key}"):
                return found
        return ""
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return f"{at} is {got!r}, want {want!r}"
        return next(filter(None, (difference(w, g, f"{at}[{i}]") for i, (w, g) in enumerate(zip(want, got, strict=True)))), "")
    return "" if type(want) is type(got) and want == got else f"{at} is {got!r}, want {want!r}"


class Runner:
    """Carries out one scenario. `kind` is transcriptd.Client or AsyncClient."""

    def __init__(self, kind: type[Any], proxy: Proxy, namespace: str, scenario: Result) -> None:
        self._kind = kind
        self._proxy = proxy
        self._namespace = namespace
        self._scenario = scenario
        self._clients: dict[str, Any] = {}
        self._threads: dict[str, Any] = {}
        self._bound: dict[str, Any] = {}

    async def run(self) -> None:
        try:
            for number, step in enumerate(self._scenario["steps"], 1):
                try:
                    await self._step(step)
                except AssertionError as error:
                    raise AssertionError(f"step {number}, {step['do']}: {error}") from error
        finally:
            for client in self._clients.values():
                await self._call(client.close)

    async def _step(self, step: Result) -> None:
        if not {"lose", "sent", "during"} & step.keys():
            self._compare(step, await self._do(step))
            return
        await asyncio.to_thread(self._proxy.reset)
        for rule in step.get("lose", []):
            await asyncio.to_thread(self._proxy.add, rule)
        call = asyncio.create_task(self._do(step))
        if "during" in step:
            await asyncio.to_thread(self._proxy.await_held)
            for inner in step["during"]:
                self._compare(inner, await self._do(inner))
            await asyncio.to_thread(self._proxy.release)
        self._compare(step, await call)
        state = await asyncio.to_thread(self._proxy.state)
        await asyncio.to_thread(self._proxy.reset)
        assert not state.get("rules"), f"rules that have calls to take still: {state['rules']}"
        for method, times in step.get("sent", {}).items():
            got = state.get("calls", {}).get(method, 0)
            assert got == times, f"{method} was sent {got} times, want {times}"

    def _compare(self, step: Result, result: Result) -> None:
        want = expanded(self._filled(step.get("expect", {})))
        assert "error" in want or "error" not in result, f"failed: {result}"
        found = difference(want, result)
        assert not found, found
        for key, value in step.get("differs", {}).items():
            assert result[key] != self._filled(value), f"{key} is {result[key]!r}"
        for name, key in step.get("bind", {}).items():
            self._bound[name] = result[key]

    def _filled(self, given: Any) -> Any:
        """Arguments or expectations with what names were bound to."""
        if isinstance(given, str) and given.startswith("$"):
            return self._bound[given[1:]]
        if isinstance(given, list):
            return [self._filled(one) for one in given]
        if isinstance(given, dict):
            return {key: self._filled(value) for key, value in given.items()}
        return given

    async def _do(self, step: Result) -> Result:
        arguments = self._filled({k: v for k, v in step.items() if k not in ("expect", "differs", "bind", "during", "lose", "sent")})
        by = step.get("by", "a")
        if by not in self._clients:
            self._clients[by] = self._kind(
                self._proxy.target,
                namespace=self._namespace,
                deadline=self._scenario.get("deadlines", {}).get(by, 20.0),
                retry=transcriptd.Retry(attempts=4, first=0.001, most=0.01),
                verify=self._scenario.get("verify", False),
                deterministic=self._scenario.get("deterministic", False),
            )
        verb: Callable[[Any, Result], Awaitable[Result]] = getattr(self, "do_" + step["do"])
        try:
            return await verb(self._clients[by], arguments)
        except transcriptd.TranscriptError as error:
            return failure(error)

    async def _call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Calls a method of a client of either kind; a synchronous one in a thread, beside what else is going on."""
        if inspect.iscoroutinefunction(function):
            return await function(*arguments, **options)
        return await asyncio.to_thread(function, *arguments, **options)

    async def _all(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> list[Any]:
        """All that an iterator of a client of either kind yields."""
        if inspect.isasyncgenfunction(function):
            return [one async for one in function(*arguments, **options)]
        return await asyncio.to_thread(lambda: list(function(*arguments, **options)))

    def _thread(self, a: Result, name: str = "thread") -> Any:
        return self._threads[a[name]]

    def _kept(self, a: Result, thread: Any) -> Result:
        self._threads[a["thread"]] = thread
        return self._told(thread)

    def _told(self, thread: Any, **more: Any) -> Result:
        return {"head": thread.head, "depth": thread.depth, "alias": thread.alias, "new": thread.new, **more}

    # The verbs.

    async def do_start(self, client: Any, a: Result) -> Result:
        options = {"reply_to": a.get("reply_to", ""), "chat": a.get("chat", ""), "system": messages(a.get("system"))}
        return self._kept(a, await self._call(client.start, a["message_id"], *messages(a.get("messages")), **options))

    async def do_chat(self, client: Any, a: Result) -> Result:
        return self._kept(a, await self._call(client.chat, a["name"], *messages(a.get("system"))))

    async def do_resume(self, client: Any, a: Result) -> Result:
        return self._kept(a, await self._call(client.resume, a["message_id"]))

    async def do_open(self, client: Any, a: Result) -> Result:
        return self._kept(a, await self._call(client.open, a["alias"]))

    async def do_fork(self, _: Any, a: Result) -> Result:
        return self._kept(a, await self._call(self._thread(a, "from").fork, a["alias"]))

    async def do_spawn(self, _: Any, a: Result) -> Result:
        spawn = self._thread(a, "from").spawn
        made = await self._call(spawn, a["call_id"], a["alias"], *messages(a.get("messages")), inherit=a.get("inherit"))
        return self._kept(a, made)

    async def do_append(self, _: Any, a: Result) -> Result:
        thread = self._thread(a)
        await self._call(thread.append, *messages(a["messages"]), metadata=a.get("metadata"))
        return self._told(thread)

    async def do_append_results(self, _: Any, a: Result) -> Result:
        thread = self._thread(a)
        await self._call(thread.append_results, *messages(a["messages"]))
        return self._told(thread)

    async def do_reply(self, _: Any, a: Result) -> Result:
        thread = self._thread(a)
        await self._call(thread.reply, a["reply_id"], *messages(a.get("messages")))
        return self._told(thread)

    async def do_finish(self, _: Any, a: Result) -> Result:
        thread = self._thread(a)
        await self._call(thread.finish, a["outcome"], *messages(a.get("messages")))
        return self._told(thread)

    async def do_sent(self, _: Any, a: Result) -> Result:
        thread = self._thread(a)
        await self._call(thread.sent, a["message_id"])
        return self._told(thread)

    async def do_answer_unknown(self, _: Any, a: Result) -> Result:
        thread = self._thread(a)
        await self._call(thread.answer_unknown)
        return self._told(thread)

    async def do_refresh(self, _: Any, a: Result) -> Result:
        thread = self._thread(a)
        await self._call(thread.refresh)
        return self._told(thread)

    async def do_compact(self, _: Any, a: Result) -> Result:
        thread = self._thread(a)
        options = {name: a[name] for name in ("summary", "summary_only", "through", "dry_run") if name in a}
        done = await self._call(thread.compact, policy=policy(a.get("policy")), **options)
        return self._told(thread, written=done.written)

    async def do_compact_when(self, _: Any, a: Result) -> Result:
        thread = self._thread(a)
        summarize = (lambda _: a["summary"]) if "summary" in a else None
        done = await self._call(thread.compact_when, bytes=a["bytes"], summarize=summarize, summary_only=a.get("summary_only", False))
        return self._told(thread, written=done is not None and done.written)

    async def do_messages(self, _: Any, a: Result) -> Result:
        return {"messages": [shown(m) for m in await self._call(self._thread(a).messages, policy(a.get("policy")))]}

    async def do_open_calls(self, _: Any, a: Result) -> Result:
        return {"calls": [called(c) for c in await self._call(self._thread(a).open_calls)]}

    async def do_reply_text(self, _: Any, a: Result) -> Result:
        return {"text": self._thread(a).reply_text(message(a["message"]))}

    async def do_assemble(self, client: Any, a: Result) -> Result:
        options = {name: a[name] for name in ("condense_last", "after", "if_none_match", "last_messages") if name in a}
        view = v1.View.Value("VIEW_" + a["view"].upper()) if "view" in a else v1.VIEW_UNSPECIFIED
        got = await self._call(client.assemble, ref(a["of"]), view=view, policy=policy(a.get("policy")), **options)
        return {
            "head": got.head_id,
            "base": got.base_id,
            "etag": got.etag,
            "not_modified": got.not_modified,
            "more_before": got.more_before,
            "messages": [shown(m) for m in got.messages()],
        }

    async def do_frames(self, client: Any, a: Result) -> Result:
        view = v1.View.Value("VIEW_" + a["view"].upper()) if "view" in a else v1.VIEW_UNSPECIFIED
        frames = await self._all(client.frames, ref(a["of"]), view=view)
        return {"messages": [shown(m) for frame in frames for m in frame.messages()]}

    async def do_put(self, client: Any, a: Result) -> Result:
        options = node(a["node"])
        del options["previous"]
        return put(await self._call(client.put, *options.pop("messages"), **options))

    async def do_put_all(self, client: Any, a: Result) -> Result:
        done = await self._call(client.put_all, *(transcriptd.Node(**node(one)) for one in a["nodes"]))
        return {"nodes": [put(one) for one in done]}

    async def do_put_erased(self, client: Any, a: Result) -> Result:
        erasure = v1.ArchivedErasure(message_bytes=[a["message_bytes"]], receipt=bytes.fromhex(a["receipt"]))
        archived = v1.ArchivedNode(envelope=bytes.fromhex(a["envelope"]), payload=bytes.fromhex(a["payload"]), erasure=erasure)
        return {"id": (await self._call(client.put_archived, archived))[0].node_id}

    async def do_resolve(self, client: Any, a: Result) -> Result:
        got = await self._call(client.resolve, a["alias"])
        return {
            "head": got.alias.node_id,
            "depth": got.counters.full.depth,
            "revision": got.alias.revision,
            "labels": dict(got.alias.labels),
        }

    async def do_set_aliases(self, client: Any, a: Result) -> Result:
        moves = [
            transcriptd.AliasMove(
                m["name"], ref(m["target"]) if "target" in m else None, condition(m.get("if")), m.get("labels"), m.get("delete", False)
            )
            for m in a["moves"]
        ]
        done = await self._call(client.set_aliases, *moves)
        members = ("name", "changed", "revised", "revision")
        return {"aliases": [{member: getattr(one, member) for member in members} for one in done]}

    async def do_delete_alias(self, client: Any, a: Result) -> Result:
        forget = a.get("forget", False)
        return {"previous": await self._call(client.delete_alias, a["alias"], condition(a.get("if")), forget_history=forget)}

    async def do_aliases(self, client: Any, a: Result) -> Result:
        return {"names": [one.name for one in await self._all(client.aliases, prefix=a["prefix"])]}

    async def do_recall(self, client: Any, a: Result) -> Result:
        options = {"place": a.get("place", ""), "occurrence": a.get("occurrence", 0)}
        got = await self._call(client.recall, ref(a["of"]), a.get("call_id"), **options)
        return {
            "name": got.call.name,
            "arguments": got.call.arguments,
            "state": v1.ToolCallState.Name(got.state).removeprefix("TOOL_CALL_STATE_"),
            "text": "".join(part.text for part in got.parts),
            "earlier": got.earlier_occurrences,
        }

    async def do_tool(self, _: Any, a: Result) -> Result:
        thread = self._thread(a)
        tool = {"recall_tool_call": thread.recall_tool, "search_history": thread.search_tool}[a["name"]]()
        if "arguments" not in a:
            return {"openai": tool.openai(), "anthropic": tool.anthropic()}
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", await self._call(tool.run, a["arguments"]))
        return {"text": re.sub(r"[0-9a-f]{12}\.\d+", "PLACE", text)}

    async def do_search(self, client: Any, a: Result) -> Result:
        options = {"head": ref(a["of"])} if "of" in a else {"alias_prefix": a["prefix"]}
        hits = await self._all(client.search, a.get("text", ""), regexp=a.get("regexp", ""), **options)
        return {"hits": [{"role": v1.Role.Name(h.role).removeprefix("ROLE_"), "tool": h.tool_name} for h in hits]}

    async def do_run_loops(self, client: Any, a: Result) -> Result:
        return {
            "loops": [
                {
                    "state": v1.RunLoopState.Name(loop.state).removeprefix("RUN_LOOP_STATE_"),
                    "outcome": v1.RunOutcome.Name(loop.outcome).removeprefix("RUN_OUTCOME_"),
                    "messages": loop.messages,
                    "unanswered": loop.unanswered_calls,
                }
                for loop in await self._all(client.run_loops, ref(a["of"]))
            ]
        }

    async def do_replay(self, client: Any, a: Result) -> Result:
        got = await self._call(client.replay, ref(a["of"]))
        return {
            "calls": [
                {
                    "id": one.id,
                    "name": one.name,
                    "state": v1.ToolCallState.Name(one.state).removeprefix("TOOL_CALL_STATE_"),
                    "result": one.result,
                }
                for one in got.calls
            ]
        }

    async def do_describe(self, client: Any, a: Result) -> Result:
        got = await self._call(client.describe, ref(a["of"]))
        return {
            "head": got.head_id,
            "aliases": list(got.aliases),
            "tools": [tool.name for tool in got.tools],
            "state": v1.RunLoopState.Name(got.loop.state).removeprefix("RUN_LOOP_STATE_"),
            "outcome": v1.RunOutcome.Name(got.loop.outcome).removeprefix("RUN_OUTCOME_"),
            "pending": [call.id for call in got.loop.pending],
        }

    async def do_stats(self, client: Any, _: Result) -> Result:
        got = await self._call(client.stats)
        return {name: getattr(got, name) for name in ("nodes", "messages", "aliases", "forks")}
