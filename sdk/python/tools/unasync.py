"""Writes src/transcriptd/_sync from src/transcriptd/_async: the same without asyncio.

unasync.py OUT: writes the modules into the folder OUT. Modules that differ in more than words (SEPARATE) are written by hand in both.
"""

import pathlib
import re
import sys

ASYNC = pathlib.Path(__file__).resolve().parents[1] / "src" / "transcriptd" / "_async"
SEPARATE = {"runtime.py"}
HEAD = "# Made from ../_async/{name} by tools/unasync.py: do not edit.\n"

# In this order; what stands in docstrings and comments is replaced, too.
WORDS = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync(Client|Thread|Tool|Iterator|Iterable)\b", r"\1"),
    (r"\b__aenter__\b", "__enter__"),
    (r"\b__aexit__\b", "__exit__"),
    (r"\b__aiter__\b", "__iter__"),
    (r"\b__anext__\b", "__next__"),
    (r"\baclose\b", "close"),
    (r"\banext\b", "next"),
    (r"\bAsyncGenerator\[([^,]*), None\]", r"Generator[\1, None, None]"),
    (r"\bAsyncGenerator\b", "Generator"),
    (r"\baclosing\b", "closing"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
]


def plain(text: str) -> str:
    for pattern, word in WORDS:
        text = re.sub(pattern, word, text)
    return without_awaitables(text)


def without_awaitables(text: str) -> str:
    """Puts T in place of Awaitable[T], and drops the name's import."""
    text = text.replace(" Awaitable,", "")
    while (start := text.find("Awaitable[")) >= 0:
        first = start + len("Awaitable[")
        depth, end = 1, first
        while depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        text = text[:start] + text[first : end - 1] + text[end:]
    return text


def main(out: pathlib.Path) -> None:
    for path in sorted(ASYNC.glob("*.py")):
        if path.name not in SEPARATE:
            (out / path.name).write_text(HEAD.format(name=path.name) + plain(path.read_text()))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve())
