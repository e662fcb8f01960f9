# Made from ../_async/begin.py by tools/unasync.py: do not edit.
"""How threads begin, and are found again, also where replies are lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .. import _check, v1
from ..connection import Settings
from ..errors import (
    AliasExistsError,
    AliasNotFoundError,
    NodeNotFoundError,
    NoNameError,
    ParentNotFoundError,
    PayloadErasedError,
    TranscriptError,
    advised,
    happened,
    may_have_happened,
)
from ..ledger import Ledger, Pending
from ..names import chat_alias, message_alias
from ..refs import by_alias, by_id, must_not_exist
from ..thread_state import ThreadState
from ..verify import identify
from ..writes import Node, PutResult, fingerprint, new_salt
from .aliases import Aliases
from .compaction_calls import CompactionCalls
from .thread import Thread

if TYPE_CHECKING:
    from .client import Client

Put = Callable[[Node, Pending], PutResult]


class Begin(CompactionCalls, Aliases):
    """How threads begin, and are found again."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._unsure = Ledger()

    def start(
        self,
        message_id: str,
        *messages: v1.Message,
        reply_to: str = "",
        chat: str = "",
        system: v1.Message | Sequence[v1.Message] = (),
        notes: Sequence[v1.MessageNote] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> Thread:
        """Puts a message that arrived, and is to be answered, and gives the thread that ends in it.

        `message_id` is the message's id where it came from: the alias msg/MESSAGE_ID is the thread's. `messages` is what was said, as a rule one
        user message; `notes` and `metadata` as in Node. `reply_to` is the id of the message that it replies to: the chain of msg/REPLY_TO goes on.
        Where that is empty or not known, a conversation begins, with `system`, a message or a list of them, in a root of its own, so that equal
        prompts share it; where that root was erased, this one gets a salt.
        `chat`, if not empty, is the conversation that the message is part of: each commit of the thread also points the alias chat/CHAT to what it
        wrote, whichever branch that is in.

        It may be called again with the same, by any worker: until the thread went on, that gives the same thread, of which `new` tells that it was
        there; afterwards it is AliasExistsError: use resume. Of all callers one is told `new`, also one whose reply was lost, if it calls again on
        the same client. Two replies to the same message are two branches.
        """
        if not _check.text("message_id", message_id):
            raise NoNameError("message_id must not be empty")
        prompt = _check.messages("system", [system] if isinstance(system, v1.Message) else system, v1.Message)
        parent = message_alias(reply_to) if _check.text("reply_to", reply_to) else ""
        state = ThreadState(message_alias(message_id), chat_alias(chat) if _check.text("chat", chat) else "")
        node = Node(
            messages=messages,
            notes=notes,
            metadata=metadata or {},
            aliases=state.aliases(must_not_exist()),
            previous=bool(prompt or parent),  # no root, at first
        )
        state.at = self._cache.head_of(parent) if parent else ""

        def put(node: Node, pending: Pending) -> PutResult:
            if parent:
                try:
                    # It may be repeated, wherever the parent points to by then: the message's alias must not exist.
                    return self._put(replace(node, parent=by_alias(parent), previous=False), repeatable=True)
                except ParentNotFoundError as error:
                    pending.unsure = pending.unsure or may_have_happened(error)
            return self._put_first(prompt, node)

        return self._begin(state, node, put, "message_id is taken: resume gives the thread it has; another message needs an id of its own")

    def _put_first(self, system: Sequence[v1.Message], node: Node) -> PutResult:
        """Puts the first messages of a conversation, behind a root of system messages where there are some."""
        if not system:
            return self._put_root(replace(node, previous=False))
        root, below = Node(messages=system), replace(node, previous=True)
        try:
            return (self.put_all(root, below))[1]
        except PayloadErasedError as error:
            if not any(violation.field.startswith("nodes[0].") for violation in error.violations):
                raise
            return (self.put_all(self._salted(root, error), below))[1]

    def _put_root(self, root: Node) -> PutResult:
        """Puts a root."""
        try:
            return self._put(root)
        except PayloadErasedError as error:
            return self._put(self._salted(root, error))

    def _salted(self, root: Node, refused: PayloadErasedError) -> Node:
        """A root without a salt with one, where the equal one that everybody shares was erased. Of any other, refused stays the error."""
        if root.salt or self._settings.deterministic:
            raise refused
        return replace(root, salt=new_salt())

    def resume(self, message_id: str) -> Thread:
        """Gives the thread of a message that was started before, at the head it has come to, for example after a crash.

        Tool calls that are open there (open_calls) may have run: it is the caller's to check each and append its result, or to answer it as
        unknown; nothing is ever run again by itself. Error: AliasNotFoundError.
        """
        if not _check.text("message_id", message_id):
            raise NoNameError("message_id must not be empty")
        return self._open(message_alias(message_id), "message_id is of no message that was started: start puts one")

    def open(self, alias: str) -> Thread:
        """Gives a thread that goes on from an alias and moves it. Error: AliasNotFoundError."""
        if not _check.text("alias", alias):
            raise NoNameError("alias must not be empty")
        return self._open(alias, "alias")

    def _open(self, alias: str, absent: str) -> Thread:
        """Gives the thread of an alias; absent is what an error says where there is none."""
        thread = self._thread(ThreadState(alias))
        thread._s.at = self._cache.head_of(alias)
        try:
            thread.refresh()
        except AliasNotFoundError as error:
            raise advised(error, absent) from None
        return thread

    def chat(self, name: str, *system: v1.Message) -> Thread:
        """Gives the thread of the conversation chat/NAME, which it begins with a root of system messages where it is not there; then at least one is
        needed, else AliasNotFoundError."""
        if not _check.text("name", name):
            raise NoNameError("name must not be empty")
        _check.messages("system", system, v1.Message)
        alias = chat_alias(name)
        try:
            return self._open(alias, "name is of no chat that was begun: give system messages to begin it")
        except AliasNotFoundError:
            if not system:
                raise
        state = ThreadState(alias)
        try:
            state.started(self._put_root(Node(messages=system, aliases=state.aliases(must_not_exist()))))
        except AliasExistsError:  # somebody else began it meanwhile
            return self.open(alias)
        return self._thread(state)

    def _thread(self, state: ThreadState) -> Thread:
        client: Client = self  # type: ignore[assignment]  # it has no other subclass
        return Thread(client, state)

    def _take(self, ledger: Ledger, node: Node) -> Pending:
        """Begins an append of a node, with its salt, which the caller's goes before."""

        def salt() -> bytes:
            made = node.salt is None and not self._settings.deterministic and not node.is_prompt()
            return new_salt() if made else bytes(node.salt or b"")

        return ledger.take(fingerprint(node), salt)

    def _begin(self, state: ThreadState, node: Node, put: Put, taken: str) -> Thread:
        """Puts the first node of a thread, whose alias must not exist, or finds it; taken is what an error says where the alias is another's."""
        pending = self._take(self._unsure, node)
        node = replace(node, salt=pending.salt)
        failed: BaseException | None = None
        try:
            try:
                result = put(node, pending)
                result.retried = result.retried or pending.unsure
                state.started(result)
            except AliasExistsError as error:
                pending.told(error)
                try:
                    self._taken(state, node, error)
                except AliasExistsError as refused:
                    raise advised(refused, taken) from None
            except TranscriptError as error:
                pending.told(error)
                raise
            state.began(node)
            return self._thread(state)
        except BaseException as error:
            failed = error
            raise
        finally:
            self._unsure.end(pending, failed)

    def _taken(self, state: ThreadState, node: Node, refused: AliasExistsError) -> None:
        """Begins the thread whose first node was refused because its alias exists: with its own node, which its salt tells, or with the same as
        another put it. Where the alias names something else, refused stays the error."""
        unsure = refused.retried
        if not refused.head:
            raise refused
        try:
            found = self.node_info(by_id(refused.head))
            own = _put_by(node, found)
            if not own and unsure:
                first = self._first_of(state.alias)
                if _put_by(node, first):
                    own, found = True, first
        except TranscriptError as error:
            raise happened(error, unsure) from None
        if not own and not _equals(node, found):
            raise happened(refused, False)
        state.found(found, is_new=own or (unsure and not node.salt))

    def _first_of(self, alias: str) -> v1.GetNodeResponse:
        """The node with which an alias was created, as far as its history tells."""
        first = ""
        for state in self.history(alias):
            if not state.node_id:  # it was deleted before
                break
            first = state.node_id
        return self.node_info(by_id(first))

    def _find(self, node: Node) -> PutResult | None:
        """Finds a node of which it is not known whether it was put, below a node that is named by its id; None: it was not. A node and its aliases
        are put together, so that where the node is the aliases were set, whoever moved them since."""
        node_id = identify(node.wire(), node.parent.node_id if node.parent is not None else "")
        if node_id is None:
            return None
        try:
            found = self.node_info(by_id(node_id))
        except NodeNotFoundError:
            return None
        except TranscriptError as error:
            raise happened(error, True) from None
        aliases = [v1.AliasResult(name=alias.name) for alias in node.aliases]
        return PutResult(node_id, created=False, aliases=aliases, counters=found.counters, retried=True)

    def _lost(self, node: Node, refused: TranscriptError) -> PutResult:
        """The result of a put that was refused for an alias although an earlier attempt took place. If none did, refused stays the error."""
        found = self._find(node)
        if found is None:
            raise happened(refused, False)
        return found


def _put_by(node: Node, found: v1.GetNodeResponse) -> bool:
    """Whether a node is that of the append, which its salt tells."""
    return bool(node.salt) and node.salt == found.info.envelope.salt


def _equals(node: Node, found: v1.GetNodeResponse) -> bool:
    """Whether a node says the same, in any place and with any salt."""
    envelope = found.info.envelope
    return identify(replace(node, salt=envelope.salt).wire(), envelope.parent_id) == found.info.node_id
