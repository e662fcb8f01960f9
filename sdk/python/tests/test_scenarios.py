"""The scenarios that all SDKs carry out, proto/testdata/scenarios.json, against a real daemon behind the proxy that loses replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

import transcriptd
from daemon import TESTDATA, Daemon
from lossy import Proxy
from scenarios import Runner

SCENARIOS = json.loads((TESTDATA / "scenarios.json").read_text())


@pytest.fixture(scope="module")
def proxy(daemon: Daemon) -> Iterator[Proxy]:
    with Proxy(daemon.target) as running:
        yield running


@pytest.mark.parametrize("kind", [transcriptd.Client, transcriptd.AsyncClient], ids=["sync", "async"])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["name"])
def test_scenario(scenario: dict[str, Any], kind: type[Any], proxy: Proxy, namespace: str) -> None:
    asyncio.run(asyncio.wait_for(Runner(kind, proxy, namespace, scenario).run(), 60))
