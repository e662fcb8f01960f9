# Made from ../_async/appends.py by tools/unasync.py: do not edit.
"""How a thread puts nodes, also where replies are lost."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import _check, v1
from ..errors import (
    AliasExistsError,
    AliasNotFoundError,
    BadReplyError,
    InvalidFieldError,
    NoNameError,
    NotAResultError,
    TranscriptError,
    advised,
    happened,
    may_have_happened,
    undone,
)
from ..ledger import Pending
from ..names import message_alias
from ..refs import by_id, head_is, must_not_exist
from ..runs import OUTCOME_KEY, OUTCOMES, Outcome, described
from ..thread_state import Moving, Standing, ThreadState, only_compacted, overtaken, refused_for_an_alias
from ..verify import identify
from ..writes import AliasMove, AliasUpdate, Node, PutResult

if TYPE_CHECKING:
    from .client import Client


_TAKEN = "reply_id is taken by another message: give each its own"


class Appends:
    """How a thread puts nodes."""

    _c: Client
    _s: ThreadState

    def append(
        self,
        *messages: v1.Message,
        notes: Sequence[v1.MessageNote] = (),
        metadata: Mapping[str, str] | None = None,
        salt: bytes | None = None,
        spawned_from: v1.SpawnedFromRef | None = None,
        aliases: Sequence[AliasUpdate] = (),
    ) -> PutResult:
        """Puts messages below the head as one node and moves the alias to it. An assistant message with calls is put before its tools run.

        The further arguments are those of Node; `aliases` are set beside the thread's, which is the first of the result's. Errors:
        AliasMovedError where another writer was first, and those of Client.put. Where may_have_happened(error), append the same again on
        this thread.
        """
        return self._append(
            Node(messages=messages, notes=notes, metadata=metadata or {}, salt=salt, spawned_from=spawned_from, aliases=aliases)
        )

    def append_results(self, *results: v1.Message) -> PutResult:
        """Puts the results of tool calls as one node; NotAResultError for any other message."""
        if any(m.role != v1.ROLE_TOOL for m in _check.messages("results", results, v1.Message)):
            raise NotAResultError("append_results takes results of tool calls: transcriptd.result makes one")
        return self.append(*results)

    def finish(self, outcome: Outcome, *messages: v1.Message) -> PutResult:
        """Ends the run with an outcome, and puts the last messages of it in the same commit; there may be none.

        `outcome` is "replied", "stopped", "failed" or "cancelled". Calls without a result are ended with the run: views give each a stand-in,
        and a result that comes later changes nothing. Also for a run that resume found dead, whoever began it. What is appended afterwards
        goes on with the run, and takes the outcome back; a user message begins the next one. Errors: those of append; InvalidFieldError for
        another outcome.
        """
        return self._append(_ended(outcome, messages))

    def reply(self, reply_id: str, *messages: v1.Message) -> PutResult:
        """Is finish("replied", ...), and in the same commit gives the reply the alias msg/REPLY_ID, by which later messages reply to it;
        AliasExistsError where that is taken, unless by sent in this run. Where the id is known only once the reply was sent, call finish and
        then sent."""
        alias = message_alias(_named("reply_id", reply_id))
        node = _ended("replied", messages)
        if not self._s.follows(reply_id):
            node = replace(node, aliases=[AliasUpdate(alias, must_not_exist())])
        try:
            result = self._append(node)
        except AliasExistsError as error:
            raise advised(error, _TAKEN) from None
        self._remember(alias)
        return result

    def sent(self, reply_id: str) -> None:
        """Gives the head the alias msg/REPLY_ID, by which later messages reply to it; AliasExistsError where that names another node.

        While the run is open, what was sent is not all of it: the alias then moves along with each append, the last of which is the one that
        ends the run, also over a crash (the thread's alias has a label "sent/REPLY_ID" until then). So a later reply finds the run as it ended.
        At most 16 messages of a run move along; others stay where they are, and so does an alias that somebody else moves.
        """
        alias = message_alias(_named("reply_id", reply_id))
        if self._s.follows(reply_id):
            return
        at = self._standing()
        try:
            self._c.set_aliases(AliasMove(alias, by_id(at.head), must_not_exist()))
        except AliasExistsError as error:
            raise advised(error, _TAKEN) from None
        self._remember(alias)
        if alias in (self._s.alias, self._s.chat) or not at.run.open:
            return
        last = self._s.move_along(reply_id, at)
        if last:  # an append ended the run meanwhile
            self._moved_unless_others_did(alias, last, at.head)

    def _moved_unless_others_did(self, alias: str, to: str, since: str) -> bool:
        """Moves an alias, and tells whether it did: not where somebody else moved it."""
        try:
            self._c.set_aliases(AliasMove(alias, by_id(to), head_is(since)))
        except TranscriptError as error:
            if not refused_for_an_alias(error):
                raise
            return False
        return True

    def _append(self, node: Node) -> PutResult:
        head = self._s.head
        node.wire()  # a wrong argument is told before anything is asked
        node = replace(node, parent=by_id(head))
        pending = self._c._take(self._s.unsure, node)
        failed: BaseException | None = None
        try:
            return self._append_below(head, replace(node, salt=pending.salt), pending)
        except BaseException as error:
            failed = error
            raise
        finally:
            self._s.unsure.end(pending, failed)

    def _append_below(self, head: str, node: Node, pending: Pending) -> PutResult:
        """Puts a node below a head that the thread has seen, unless an earlier attempt put it below another."""
        if pending.unsure and pending.parent != head:  # the alias has left that parent, so what is not there will not be
            aliases = [*self._s.aliases(head_is(pending.parent)), *node.aliases]
            found = self._c._find(replace(node, parent=by_id(pending.parent), aliases=aliases))
            if found is not None:
                return found
            pending.unsure = False
        while True:
            pending.parent = head
            try:
                return self._append_to(head, node, pending)
            except TranscriptError as error:
                compacted = only_compacted(error)
                if not compacted:
                    raise
            pending.unsure = False
            self._s.compacted(head, compacted)
            head = compacted

    def _append_to(self, head: str, node: Node, pending: Pending) -> PutResult:
        """Puts a node below a head, and finds it where it was put before. What moves along is moved with it."""
        node = replace(node, parent=by_id(head), aliases=[*self._s.aliases(head_is(head)), *node.aliases])
        while True:
            try:
                full, moving = self._with_sent(node)
            except TranscriptError as error:  # it was only looked at what moves along
                raise pending.told(undone(happened(error, False))) from None
            try:
                result = self._put_known(full, moving, pending)
            except TranscriptError as error:
                if self._s.drop(error, full, len(node.aliases)):
                    continue  # somebody else moved a message's alias: that refuses nothing
                raise
            self._s.appended(head, node, result, moving)
            result.aliases = result.aliases[: len(node.aliases)]
            return result

    def _put_known(self, node: Node, moving: Moving, pending: Pending) -> PutResult:
        """Puts a node, or finds that it is there."""
        try:
            result = self._c._put(node)
        except TranscriptError as error:
            pending.told(error)
            if not refused_for_an_alias(error) or not may_have_happened(error):
                raise
            result = self._c._lost(node, error)
            self._settle(result.node_id, moving)
        if not result.aliases:
            raise BadReplyError("a node that was put, without its aliases")
        result.retried = result.retried or pending.unsure
        if not result.aliases[0].changed and not result.retried:
            raise overtaken(result.node_id)
        return result

    def _with_sent(self, node: Node) -> tuple[Node, Moving]:
        """A node of a thread with the aliases that move along with it, and the labels that tell which do."""
        moving = self._s.moving_with(node)
        if not moving.labels:
            return node, Moving()
        at = self._standing()
        labels: Mapping[str, str] = {}
        with contextlib.suppress(AliasNotFoundError):  # the put will say so
            labels = (self._c.resolve(self._s.alias)).alias.labels
        assert node.parent is not None
        return moving.full(node, at.run, labels, identify(node.wire(), node.parent.node_id) or ""), moving

    def _settle(self, node_id: str, moving: Moving) -> None:
        """Moves what moves along to a node of which it is not known what was moved with it."""
        for reply_id, one in moving.sent.items() if moving.step.part else ():
            try:
                moved = self._moved_unless_others_did(message_alias(reply_id), node_id, one.at)
            except TranscriptError as error:
                raise happened(error, True) from None  # the node is there: that may be asked again
            if not moved:
                self._s.gone(reply_id, one.at)

    def _standing(self) -> Standing:
        """Where the last run stands at the head, which the service is asked where the thread has not seen it."""
        while True:
            at, known = self._s.standing()
            if known:
                return at
            told = self._c.describe(by_id(at.head), max_items=1)
            self._s.told(at.head, described(told.loop))

    def _remember(self, alias: str) -> None:
        """Notes that what was assembled is the beginning of an alias's chain, for threads that go on from there."""
        self._c._cache.name(alias, self._s.at)


def _ended(outcome: str, messages: Sequence[v1.Message]) -> Node:
    """The last node of a run."""
    if outcome not in OUTCOMES:
        raise InvalidFieldError(f"outcome must be one of {', '.join(OUTCOMES)}")
    return Node(messages=messages, metadata={OUTCOME_KEY: outcome})


def _named(name: str, value: str) -> str:
    """An id or a name that is needed."""
    if not _check.text(name, value):
        raise NoNameError(f"{name} must not be empty")
    return value
