"""Answers the messages of an inbox: examples/reply-chain/README.md tells what this does, and what it reads and writes."""

import argparse
import asyncio
import os
import sys
from pathlib import Path

from transcriptd import AsyncClient, TranscriptError

import model
from agent import Agent
from files import Files, Letter


async def answer_all(agent: Agent, files: Files, at_once: int) -> bool:
    """Answers what is in the inbox and has no line in the outbox, several messages at once. A message waits for the one that it replies to,
    and is left where that failed."""
    places = asyncio.Semaphore(at_once)
    done = {reply.id for reply in files.outbox()}
    answers: dict[str, asyncio.Task[bool]] = {}  # by the ids of the messages, and of the replies

    async def answer(letter: Letter, before: asyncio.Task[bool] | None) -> bool:
        if before is not None and not await before:
            print(f"{letter.id}: what it replies to was not answered", file=sys.stderr)
            return False
        async with places:
            try:
                files.send(await agent.answer(letter))
            except Exception as error:
                print(f"{letter.id}: {error}", file=sys.stderr)
                return False
            return True

    for letter in files.inbox():
        if letter.reply_id not in done:
            task = asyncio.create_task(answer(letter, answers.get(letter.reply_to)))
            answers[letter.id] = answers[letter.reply_id] = task
    return all(await asyncio.gather(*answers.values()))


async def main() -> int:
    options = argparse.ArgumentParser(prog="reply-chain")
    options.add_argument(
        "--dir", type=Path, default=Path("sample"), help="the folder with inbox.jsonl and notes/; the others are written there"
    )
    options.add_argument("--server", default="127.0.0.1:7420", help="where transcriptd serves")
    options.add_argument("--namespace", default="reply-chain", help="the namespace of this agent")
    options.add_argument("--at-once", type=int, default=4, help="how many messages to answer at once")
    options.add_argument("--compact-at", type=int, default=4000, help="compact a conversation past so many bytes")
    given = options.parse_args()
    files = Files(given.dir)
    try:
        chosen = model.chosen(os.environ.get("MODEL", ""))
        async with AsyncClient(given.server, namespace=given.namespace, verify=True) as client:
            return 0 if await answer_all(Agent(client, chosen, files, given.compact_at), files, max(1, given.at_once)) else 1
    except (TranscriptError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


sys.exit(asyncio.run(main()))
