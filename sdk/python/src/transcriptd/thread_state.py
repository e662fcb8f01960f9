"""What a thread knows: where it is, how its last run stands, and which aliases of messages move along. Nothing here calls the service."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from . import v1
from .errors import AliasExistsError, AliasMovedError, Conflict, TranscriptError
from .ledger import Ledger
from .messages import is_opaque
from .names import message_alias
from .refs import Condition, head_is
from .runs import OUTCOME_KEY, OUTCOMES, Run, Step, step
from .writes import AliasUpdate, Node, PutResult

# A message that is seen inside a run is the run: its alias moves along with each append, until the run ends. Which aliases do is kept where a
# crash leaves it, in labels of the thread's alias: "sent/ID" has the id of the node that msg/ID was moved to last.

_SENT_LABEL = "sent/"
_MOST_SENT = 16  # messages of a run that move along
_MOST_ALIASES = 1000  # that a call of the service sets
_MOST_LABELS, _LABEL_KEY_BYTES = 64, 256  # the service's limits


@dataclass(frozen=True)
class Sent:
    """A message whose alias moves along."""

    at: str
    """The node that its alias points to."""
    saved: bool = False
    """Whether the label says so."""


@dataclass(frozen=True)
class Standing:
    """Where the last run stands at a head."""

    head: str
    run: Run
    ends: int
    """How many runs had ended by then."""


@dataclass
class Moving:
    """What moves along with a node."""

    step: Step = field(default_factory=lambda: Step(Run(), part=False, ended=False))
    sent: dict[str, Sent] = field(default_factory=dict)
    labels: bool = False
    """Whether the node sets the labels that tell of it."""

    def full(self, node: Node, at: Run, now: Mapping[str, str], node_id: str) -> Node:
        """The node with the aliases that move along, and the labels that tell which do, where the last run stands at `at` and the thread's
        alias has the labels `now`."""
        self.step = step(at, node.messages, outcome_of(node))
        for reply_id in sorted(self.sent)[max(0, _MOST_ALIASES - len(node.aliases)) :]:  # for which the call has no room
            del self.sent[reply_id]
        aliases = list(node.aliases)
        aliases[0] = replace(aliases[0], labels=self._labelled(now, node_id))
        if self.step.part:
            aliases += [AliasUpdate(message_alias(reply_id), head_is(self.sent[reply_id].at)) for reply_id in sorted(self.sent)]
        return replace(node, aliases=aliases)

    def _labelled(self, now: Mapping[str, str], node_id: str) -> dict[str, str]:
        """The labels of the thread's alias at a node, others kept."""
        labels = {key: value for key, value in now.items() if not key.startswith(_SENT_LABEL)}
        for reply_id in sorted(self.sent) if not self.step.ended else []:
            key = _SENT_LABEL + reply_id
            if len(key.encode()) <= _LABEL_KEY_BYTES and len(labels) < _MOST_LABELS:
                labels[key] = node_id
        return labels


def outcome_of(node: Node) -> str | None:
    """The outcome that a node ends a run with; None: none."""
    outcome = node.metadata.get(OUTCOME_KEY)
    return outcome if outcome in OUTCOMES else None


class ThreadState:
    """What a thread knows. Each method is one step: many may run at once."""

    def __init__(self, alias: str, chat: str = "") -> None:
        self.alias = alias
        self.chat = chat
        """The alias that is pointed along, or empty."""
        self.is_new = False
        self.lock = threading.Lock()
        self.unsure = Ledger()
        self.head = ""
        self.depth = 0
        self.size = v1.Counters()
        """The effective view's totals at the head, as replies told them; where the thread went on past a compaction of another writer, until
        its next put: before that."""
        self.compact_at = 0
        """The bytes of the view from which on compact_when looks again whether enough would go."""
        self.at = ""
        """The head of the view that was kept last: most likely an ancestor of head, or it."""
        self.read = ""
        """The head whose messages the caller was given last; empty: none were."""
        self.moves = 0
        """How often head was set."""
        self._run = Run()
        self._run_known = False
        self._ends = 0
        self._end = ""  # the node in which the last run ended
        self._sent: dict[str, Sent] = {}
        self._labelled = False  # the alias has labels that tell of some

    def aliases(self, condition: Condition) -> list[AliasUpdate]:
        """Those that each of the thread's commits sets: its own on that condition, first."""
        along = [AliasUpdate(self.chat)] if self.chat else []
        return [AliasUpdate(self.alias, condition), *along]

    def forked(self, alias: str) -> ThreadState:
        """The same under another alias."""
        fork = ThreadState(alias)
        with self.lock:
            fork.head, fork.depth, fork.at, fork.read, fork.size = self.head, self.depth, self.at, self.read, self.size
            fork._run, fork._run_known = self._run, self._run_known
        return fork

    def started(self, result: PutResult) -> None:
        """Makes the thread that of the node that was put."""
        with self.lock:
            self._moved(result.node_id, result.counters)
            self.is_new = result.retried or (bool(result.aliases) and result.aliases[0].changed)

    def found(self, node: v1.GetNodeResponse, is_new: bool) -> None:
        """Makes the thread that of a node that is there."""
        with self.lock:
            self._moved(node.info.node_id, node.counters)
            self.is_new = is_new

    def began(self, node: Node) -> None:
        """Notes what the thread's first node did to the run."""
        with self.lock:
            self._ran(node)

    def appended(self, head: str, node: Node, result: PutResult, moving: Moving) -> None:
        """Notes that a node was put below a head."""
        with self.lock:
            if self.head != head:  # it was refreshed, which told what moves along
                return
            self._moved(result.node_id, result.counters)
            self._ran(node)
            self._moved_along(result.node_id, node, moving)

    def compacted(self, head: str, to: str) -> None:
        """Goes on from a compaction that another put below the head."""
        with self.lock:
            if self.head == head:
                self.head = to
                self.moves += 1

    def moved(self, head: str, to: str, counters: v1.ChainCounters) -> None:
        """Goes on from a head to another, unless it has gone on since."""
        with self.lock:
            if self.head == head:
                self._moved(to, counters)

    def refreshed(self, found: v1.ResolveAliasResponse, moves: int) -> bool:
        """Takes over where the alias points, unless the thread moved since, which may have been later: then False."""
        with self.lock:
            if self.moves != moves:
                return False
            self._run_known = self._run_known and self.head == found.alias.node_id
            self._moved(found.alias.node_id, found.counters)
            self._load(found.alias.labels)
            return True

    def wait(self, size: v1.Counters, more: int) -> None:
        """Makes compact_when wait until the view has grown by so many bytes from a size, unless it is another since."""
        with self.lock:
            if self.size is size:
                self.compact_at = size.bytes + more

    def standing(self) -> tuple[Standing, bool]:
        """Where the last run stands at the head, and whether that is known."""
        with self.lock:
            return Standing(self.head, self._run, self._ends), self._run_known

    def told(self, head: str, run: Run) -> None:
        """Takes over where the last run stands at a head."""
        with self.lock:
            if self.head == head and not self._run_known:
                self._run, self._run_known = run, True

    def follows(self, reply_id: str) -> bool:
        """Whether the alias of a message moves along."""
        with self.lock:
            return reply_id in self._sent

    def move_along(self, reply_id: str, since: Standing) -> str:
        """Makes the alias of a message move along from a head on. Where the run has ended since, gives the last node of it."""
        with self.lock:
            if self._ends != since.ends:
                return self._end
            self._move(reply_id, Sent(since.head))
            return ""

    def moving_with(self, node: Node) -> Moving:
        """What moves along with a node, but for messages whose aliases the node sets itself."""
        with self.lock:
            sent = {reply_id: one for reply_id, one in self._sent.items() if not _names(node, reply_id)}
            return Moving(sent=sent, labels=bool(sent) or self._labelled)

    def drop(self, error: TranscriptError, node: Node, own: int) -> bool:
        """Takes from what moves along the aliases that somebody else moved, as the refusal of a node tells whose own aliases come first, and tells
        whether it was refused for nothing else. Where it was, whoever moved the thread's alias may have moved them along, and they stay."""
        if not refused_for_an_alias(error) or not error.conflicts:
            return False
        along = {f"aliases[{i}]": node.aliases[i].name for i in range(own, len(node.aliases))}
        others = {along[conflict.field] for conflict in error.conflicts if conflict.field in along}
        error.conflicts = [conflict for conflict in error.conflicts if conflict.field not in along]
        if error.conflicts:
            return False
        with self.lock:
            self._sent = {reply_id: one for reply_id, one in self._sent.items() if message_alias(reply_id) not in others}
        return True

    def gone(self, reply_id: str, at: str) -> None:
        """Somebody else moved the alias of a message from a node: it moves along no longer, unless the thread moved it since."""
        with self.lock:
            one = self._sent.get(reply_id)
            if one is not None and one.at == at:
                del self._sent[reply_id]

    def _moved(self, head: str, counters: v1.ChainCounters) -> None:
        size = counters.effective
        if size.bytes < self.size.bytes:  # it was compacted, or is another branch: what was looked at is no more
            self.compact_at = 0
        self.head, self.depth, self.size = head, counters.full.depth, size
        self.moves += 1

    def _ran(self, node: Node) -> None:
        """Notes what a node that was put at the head did to the run."""
        if not self._run_known:  # a question tells where a run stands, whatever was before
            self._run_known = any(m.role == v1.ROLE_USER and not is_opaque(m) for m in node.messages)
            self._run = Run()
        if not self._run_known:
            return
        after = step(self._run, node.messages, outcome_of(node))
        if self._run.open and after.ended:
            self._ends += 1
            self._end = self.head if after.part else (node.parent.node_id if node.parent is not None else "")
        self._run = after.run

    def _load(self, labels: Mapping[str, str]) -> None:
        """Takes over what labels tell, beside what none tells yet."""
        self._sent = {reply_id: one for reply_id, one in self._sent.items() if not one.saved}
        self._labelled = False
        for key, value in labels.items():
            reply_id = key.removeprefix(_SENT_LABEL)
            if key.startswith(_SENT_LABEL) and reply_id and re.fullmatch("[0-9a-f]{64}", value):
                self._labelled = True
                self._move(reply_id, Sent(value, saved=True))

    def _move(self, reply_id: str, sent: Sent) -> None:
        """Makes a message move along, if there is room."""
        if reply_id in self._sent or len(self._sent) < _MOST_SENT:
            self._sent[reply_id] = sent

    def _moved_along(self, node_id: str, node: Node, moving: Moving) -> None:
        """Notes what moved along with a node."""
        self._sent = {reply_id: one for reply_id, one in self._sent.items() if not _names(node, reply_id)}
        if moving.labels:
            self._labelled = not moving.step.ended and bool(moving.sent)
        for reply_id in moving.sent:
            if reply_id in self._sent:
                self._sent[reply_id] = Sent(node_id, saved=True)
                if moving.step.ended:
                    del self._sent[reply_id]


def _names(node: Node, reply_id: str) -> bool:
    """Whether a node sets the alias of a message."""
    alias = message_alias(reply_id)
    return any(one.name == alias for one in node.aliases)


def refused_for_an_alias(error: BaseException | None) -> bool:
    """Whether nothing was put since an alias is not where it should be."""
    return isinstance(error, (AliasMovedError, AliasExistsError))


def only_compacted(error: TranscriptError) -> str:
    """Where a thread's alias points to, if all that kept a node from being put is that the chain was compacted meanwhile; else empty."""
    if isinstance(error, AliasMovedError) and len(error.conflicts) == 1:
        conflict = error.conflicts[0]
        if conflict.only_compacted and conflict.field == "aliases[0]":
            return conflict.node_id
    return ""


def overtaken(node_id: str) -> AliasMovedError:
    """The error of a writer whose very node another writer put first."""
    return AliasMovedError("another writer put the same first", conflicts=[Conflict("aliases[0]", node_id, 0, False)])
