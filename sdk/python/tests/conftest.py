"""What tests share: one daemon for those that need no other, and a namespace for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from daemon import Daemon


@pytest.fixture(scope="session")
def daemon() -> Iterator[Daemon]:
    """A daemon in memory that stays for the whole run."""
    with Daemon() as running:
        yield running


@pytest.fixture
def namespace() -> str:
    """A namespace that no other test has."""
    return "t-" + uuid.uuid4().hex
