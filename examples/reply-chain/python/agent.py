"""An agent that answers messages. All that it has to know after a crash is in the service and in the ledger."""

from transcriptd import (
    AliasExistsError,
    AsyncClient,
    AsyncThread,
    AsyncTool,
    assistant,
    calls,
    result,
    system,
    text,
    user,
)
from transcriptd.v1 import Message, Role, ToolCall

import tools
from files import Files, Letter, Reply
from model import Model

PROMPT = "You answer messages. Use the tools when you need them. Be brief."
SUMMARIZE = (
    "Summarize this conversation for yourself: what was asked and answered, and each tool call with its name, its id and its result."
)
MAX_ROUNDS = 30  # of tools, for one message


class Agent:
    """Answers messages with a model, which is sent up to about compact_at bytes."""

    def __init__(self, client: AsyncClient, model: Model, files: Files, compact_at: int) -> None:
        self._client = client
        self._model = model
        self._files = files
        self._compact_at = compact_at

    async def answer(self, letter: Letter) -> Reply:
        """Gives the reply to a message, from wherever an earlier process left it."""
        try:
            thread = await self._client.start(letter.id, user(letter.text), reply_to=letter.reply_to, system=system(PROMPT))
        except AliasExistsError:  # it was begun before, and went on
            thread = await self._client.resume(letter.id)
        said = None
        if not thread.new:
            await self._settle(thread, letter)
            said = await _replied(thread)
        if said is None:
            said = await self._work(thread, letter)
            await thread.reply(letter.reply_id, said)
        return Reply(letter.reply_id, letter.id, thread.reply_text(said), thread.depth)

    async def _work(self, thread: AsyncThread, letter: Letter) -> Message:
        """Asks the model, and runs the tools that it asks for, until it says what to reply."""
        for _ in range(MAX_ROUNDS):
            said = await self._ask(thread)
            if not calls(said):
                return said
            await thread.append(said)  # before the tools run: after a crash the calls are open, and not forgotten
            results = [await self._run(thread, letter.call_key(thread.depth, i), call) for i, call in enumerate(calls(said))]
            await thread.append_results(*results)
        return assistant(f"I stopped after {MAX_ROUNDS} rounds of tools.")

    async def _ask(self, thread: AsyncThread) -> Message:
        """Gives what the model says next. What it is sent is made shorter first where it has grown."""
        await thread.compact_when(bytes=self._compact_at, summary_only=True, summarize=self._summarize)
        return await self._model(await thread.messages(), self._tools(thread))

    async def _summarize(self, messages: list[Message]) -> str:
        return text(await self._model([*messages, user(SUMMARIZE)], []))

    async def _run(self, thread: AsyncThread, key: str, call: ToolCall) -> Message:
        """Runs a call under its key. What the tool says goes to the model; an error is one of the service or the disk."""
        for tool in self._tools(thread, key):
            if tool.name == call.name:
                return result(call, await tool.run(call.arguments))
        return result(call, "There is no such tool.")

    async def _settle(self, thread: AsyncThread, letter: Letter) -> None:
        """Ends the calls that a crash left open. Each may have run, and none is just run again: a payment is looked up in the ledger, and
        nobody knows whether the bell rang. The other tools only read."""
        results = []
        # They are all of the round: its results are put at once, but for the bell's, which is not looked up.
        for i, call in enumerate(await thread.open_calls()):
            if call.name == "ring":
                continue
            key = letter.call_key(thread.depth, i)
            paid = self._files.paid(key)
            results.append(result(call, paid) if paid else await self._run(thread, key, call))
        if results:
            await thread.append_results(*results)
        await thread.answer_unknown()

    def _tools(self, thread: AsyncThread, key: str = "") -> list[AsyncTool]:
        return [*tools.of(self._files, key), thread.recall_tool()]


async def _replied(thread: AsyncThread) -> Message | None:
    """The reply that a thread ends in; None: it has none yet."""
    last = (await thread.messages())[-1]
    return last if last.role == Role.ROLE_ASSISTANT and not calls(last) else None
