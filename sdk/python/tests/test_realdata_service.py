"""Real conversations through a service: parsed, put as a chain, assembled whole and verified, they come back as they were.

One in twenty; with TRANSCRIPTS_ALL set, all 970.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import realdata
from conversions import normal
from daemon import Daemon
from transcriptd import Client, Node, by_id, openai, v1

STEP = 1 if os.environ.get("TRANSCRIPTS_ALL") else 20


def pieces(messages: list[v1.Message]) -> Iterator[list[v1.Message]]:
    """The messages cut into nodes: a root of the system's, then one for each user's message and what answers it, of 100 at most."""
    piece: list[v1.Message] = []
    for message in messages:
        if piece and (message.role == v1.ROLE_USER or len(piece) == 100):
            yield piece
            piece = []
        piece.append(message)
    yield piece


@realdata.present
def test_conversations_come_back_from_a_service(daemon: Daemon, namespace: str) -> None:
    count = messages = 0
    with Client(daemon.target, namespace=namespace, verify=True) as client:
        for number, (name, text) in enumerate(realdata.conversations()):
            if number % STEP:
                continue
            parsed, _ = openai.parse(text)
            nodes = [Node(piece, previous=i > 0) for i, piece in enumerate(pieces(parsed))]
            head = client.put_all(*nodes)[-1].node_id
            whole = client.assemble(by_id(head), view=v1.VIEW_FULL).messages()
            assert whole == parsed, name
            assert normal(openai.format_text(whole)[0]) == normal(text), name
            count += 1
            messages += len(whole)
    assert count == -(-970 // STEP)
    assert messages > 10 * count
