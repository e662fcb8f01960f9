"""A turn of an agent, as a program: run.sh wheel runs it in an environment that has nothing but the package."""

import asyncio
import pathlib
import sys

import transcriptd
from daemon import Daemon


def turn(target: str) -> None:
    call = transcriptd.call("c1", "read", '{"path":"notes.txt"}')
    with transcriptd.Client(target, verify=True) as client:
        thread = client.start("m1", transcriptd.user("What is in notes.txt?"), system=transcriptd.system("You are helpful."))
        thread.append(transcriptd.assistant("", call))
        thread.append_results(transcriptd.result(call, "Buy milk."))
        reply = transcriptd.assistant("It says: buy milk.")
        thread.reply("o1", reply)
        assert thread.reply_text(reply) == "[depth:3] It says: buy milk."


async def asynchronous_turn(target: str) -> None:
    async with transcriptd.AsyncClient(target, verify=True) as client:
        thread = await client.start("m2", transcriptd.user("Thanks."), reply_to="o1")
        assert [transcriptd.text(m) for m in await thread.messages()][-2:] == ["It says: buy milk.", "Thanks."]


def main() -> None:
    assert pathlib.Path(sys.prefix) in pathlib.Path(transcriptd.__file__).parents, "not the package that was installed"
    with Daemon() as daemon:
        turn(daemon.target)
        asyncio.run(asynchronous_turn(daemon.target))
    print("transcriptd", transcriptd.__version__)


if __name__ == "__main__":
    main()
