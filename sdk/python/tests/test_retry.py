"""Which calls may be repeated, proto/testdata/repeats.json, and the pauses between attempts."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from google.protobuf import json_format

import transcriptd
from daemon import TESTDATA
from transcriptd import retry, v1

CASES = json.loads((TESTDATA / "repeats.json").read_text())

RULES = {
    "PutNode": lambda request: retry.repeatable_put([request]),
    "PutNodes": lambda request: retry.repeatable_put(request.nodes),
    "Alias": lambda request: retry.repeatable_moves(request.aliases),
    "DeleteAlias": lambda request: retry.repeatable_delete(request.precondition),
    "DeleteAliases": retry.repeatable_deletion,
    "SetNamespace": retry.repeatable_settings,
    "Compact": retry.repeatable_compaction,
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_may_be_repeated(case: dict[str, Any]) -> None:
    request = json_format.ParseDict(case["request"], getattr(v1, case["method"] + "Request")())
    assert RULES[case["method"]](request) == case["repeat"]


def test_pauses_grow_and_end() -> None:
    pauses = retry.Pauses(retry.Retry(first=1.0, most=4.0), None)
    for limit in (1.0, 2.0, 4.0, 4.0):
        pause = pauses.next(None)
        assert pause is not None
        assert limit / 2 <= pause <= limit
    assert pauses.next(7.0) == 7.0
    assert pauses.next(70.0) is None
    for _ in range(100):
        last = pauses.next(None)
    assert last is None


def test_no_pause_ends_behind_the_deadline() -> None:
    pauses = retry.Pauses(retry.Retry(first=0.1), time.monotonic() + 1.0)
    assert pauses.next(2.0) is None
    assert retry.Pauses(retry.Retry(first=0.1), time.monotonic() + 0.01).next(None) is None
    pause = retry.Pauses(retry.Retry(first=1.0), time.monotonic() + 1.5).next(None)
    assert pause is not None
    assert pause <= 0.75


def test_deadlines_nest() -> None:
    assert retry.callers_deadline() is None
    with transcriptd.deadline(10):
        outer = retry.callers_deadline()
        with transcriptd.deadline(20):
            assert retry.callers_deadline() == outer
        with transcriptd.deadline(5):
            inner = retry.callers_deadline()
            assert outer is not None
            assert inner is not None
            assert inner < outer
    assert retry.callers_deadline() is None
    with pytest.raises(ValueError, match="seconds"), transcriptd.deadline(-1):
        pass


@pytest.mark.parametrize("bad", [{"attempts": -1}, {"first": 0}, {"first": 3.0, "most": 2.0}])
def test_a_retry_that_cannot_be(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        transcriptd.Retry(**bad)


def test_what_is_not_a_number_is_no_time() -> None:
    nan = float("nan")
    for times in ({"first": nan}, {"most": nan}):
        with pytest.raises(ValueError, match="first must be"):
            transcriptd.Retry(**times)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seconds must be"), transcriptd.deadline(nan):
        pass
