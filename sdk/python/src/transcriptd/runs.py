"""Where the last run of a chain stands, folded over its messages as the service does, and how runs end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from . import v1
from .messages import calls, is_opaque

Outcome = Literal["replied", "stopped", "failed", "cancelled"]
"""How a run ended: answered, by whatever means; ended by its agent on purpose, at a limit say; its agent could not go on; ended by somebody
else."""

OUTCOMES: tuple[Outcome, ...] = ("replied", "stopped", "failed", "cancelled")

OUTCOME_KEY = "run/end"
"""The metadata key that holds an Outcome, for a node that append puts with notes or further metadata."""

# The Unicode property White_Space, which must not change with the tables of a newer Python.
_WHITE = frozenset([*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000])


@dataclass(frozen=True)
class Run:
    """Where the last run stands at a head: none has begun, it is asked, worked on or ended."""

    phase: Literal["none", "asked", "working", "ended"] = "none"
    lead_in: bool = False
    """Whether nobody asked for it: it comes before any user message."""
    reply_last: bool = False
    """Whether a final reply is the last of it, system messages aside."""
    group: tuple[str | None, ...] = ()
    """The ids of the calls at the head that wait for a result."""
    results: bool = False
    """Whether the group has a result, so that a further assistant message begins a new one."""

    @property
    def open(self) -> bool:
        """Whether there is a run, and it is not closed."""
        return self.phase != "none" and not self.closed

    @property
    def closed(self) -> bool:
        """Whether the run is closed, as far as the chain goes."""
        return self.phase == "ended" or (not self.lead_in and self.reply_last)


@dataclass(frozen=True)
class Step:
    """What a node does to a run."""

    run: Run
    part: bool
    """Whether the run goes on in the node."""
    ended: bool
    """Whether it ends there, or has ended before."""


def described(loop: v1.LoopStatus) -> Run:
    """A run as Describe tells it. Whether an open one was answered yet is not told: it counts as answered, so that a question begins
    another."""
    if loop.state == v1.RUN_LOOP_STATE_UNSPECIFIED:
        return Run()
    if loop.state == v1.RUN_LOOP_STATE_OPEN:
        return Run("working", lead_in=loop.lead_in)
    return Run("ended")


def step(run: Run, messages: Sequence[v1.Message], outcome: str | None) -> Step:
    """Folds a node, which is valid."""
    begins, said, now = False, False, run
    for message in messages:
        if is_opaque(message):
            continue
        now, shown = _paired(now, message)
        if not begins:
            begins = shown and _begins(now, message)
            said = said or (not begins and message.role >= v1.ROLE_USER)
        if shown:
            now = _heard(now, message)
    if outcome is not None:
        ended = now.phase != "none" and not now.lead_in
        now = Run("ended" if ended else now.phase, lead_in=now.lead_in, reply_last=now.reply_last)
    return Step(run=now, part=run.open and (said or not begins), ended=not run.open or begins or now.closed)


def _begins(run: Run, message: v1.Message) -> bool:
    """Whether a message begins a run behind one that stands so."""
    if message.role in (v1.ROLE_SYSTEM, v1.ROLE_DEVELOPER):
        return False
    if message.role == v1.ROLE_USER:
        return run.phase != "asked"
    return run.phase == "none"


def _heard(run: Run, message: v1.Message) -> Run:
    """The run behind a message that a view shows."""
    if message.role in (v1.ROLE_SYSTEM, v1.ROLE_DEVELOPER):
        return run
    if message.role == v1.ROLE_USER:
        return run if run.phase == "asked" else _with(run, "asked", lead_in=False, reply_last=False)
    lead_in = run.lead_in or run.phase == "none"
    return _with(run, "working", lead_in=lead_in, reply_last=_can_reply(message))


def _with(run: Run, phase: Literal["asked", "working"], *, lead_in: bool, reply_last: bool) -> Run:
    return Run(phase, lead_in, reply_last, run.group, run.results)


def _can_reply(message: v1.Message) -> bool:
    """Whether the message is a final reply where no later one of its run is."""
    whole = message.state == v1.MESSAGE_STATE_UNSPECIFIED
    return message.role == v1.ROLE_ASSISTANT and whole and not calls(message) and not _empty(message)


def _empty(message: v1.Message) -> bool:
    """Whether there is no part other than reasoning, opaque parts and text of white space alone."""
    for part in message.parts:
        kind = part.WhichOneof("kind")
        if kind == "text" and not all(ord(c) in _WHITE for c in part.text):
            return False
        if kind not in ("text", "reasoning", "opaque"):
            return False
    return True


def _paired(run: Run, message: v1.Message) -> tuple[Run, bool]:
    """The run once the message found its place in the group of calls at the head, and whether the message is shown: a result that answers no
    call is not."""
    if message.role == v1.ROLE_TOOL:
        answers = message.tool_call_id if message.HasField("tool_call_id") else None
        if answers not in run.group:
            return run, False
        left = list(run.group)
        left.remove(answers)
        return Run(run.phase, run.lead_in, run.reply_last, tuple(left), True), True
    own = tuple(call.id if call.HasField("id") else None for call in calls(message))
    continues = bool(own) and not run.results
    group = (*run.group, *own) if continues else own
    reply_last = run.reply_last and (continues or not run.group)  # a stub for a call without result is no reply
    return Run(run.phase, run.lead_in, reply_last, group, False), True


def open_calls(messages: Sequence[v1.Message]) -> list[v1.ToolCall]:
    """The calls of the group that messages end in that have no result there, in order. `messages` are an effective view. A result answers the first
    unanswered call with its id; absent equals absent."""
    results = len(messages)
    while results > 0 and messages[results - 1].role == v1.ROLE_TOOL:
        results -= 1
    first = results
    while first > 0 and calls(messages[first - 1]):
        first -= 1
    waiting = [call for message in messages[first:results] for call in calls(message)]
    for result in messages[results:]:
        for i, call in enumerate(waiting):
            if _same_id(call, result):
                del waiting[i]
                break
    return waiting


def _same_id(call: v1.ToolCall, result: v1.Message) -> bool:
    return call.HasField("id") == result.HasField("tool_call_id") and call.id == result.tool_call_id
