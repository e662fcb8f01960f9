import re

import transcriptd
from daemon import Daemon
from transcriptd import v1


def test_the_package_has_a_version_and_the_messages_of_the_contract() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", transcriptd.__version__)
    message = v1.Message(role=v1.ROLE_USER, parts=[v1.Part(text="hi")])
    assert v1.Message.FromString(message.SerializeToString()) == message


def test_a_daemon_serves(daemon: Daemon) -> None:
    assert daemon.target.startswith("127.0.0.1:")
