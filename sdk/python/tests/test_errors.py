"""The table of errors, proto/testdata/retries.json: what a write has done, and whether to repeat it."""

from __future__ import annotations

import json
import pickle
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2 as details
from google.rpc import status_pb2

import transcriptd
from daemon import TESTDATA
from transcriptd import errors, retry, v1

TABLE = json.loads((TESTDATA / "retries.json").read_text())


def status(code: grpc.StatusCode, *messages: Message) -> bytes:
    packed = []
    for message in messages:
        any_message = any_pb2.Any()
        any_message.Pack(message)
        packed.append(any_message)
    encoded: bytes = status_pb2.Status(code=code.value[0], details=packed).SerializeToString()
    return encoded


def error_of(case: dict[str, Any], reason: str = "") -> errors.TranscriptError:
    code = grpc.StatusCode[case["code"]]
    info = [details.ErrorInfo(reason=reason, domain="transcript.v1")] if reason else []
    return errors.from_status(code, "said", status(code, *info))


def check(case: dict[str, Any], error: errors.TranscriptError) -> None:
    assert error.code.name == case["code"]
    assert transcriptd.may_have_happened(error) == (case["write"] == "unknown")
    assert retry.transient(error) == (case["repeat"] == "later")


@pytest.mark.parametrize("case", TABLE["reasons"], ids=lambda case: case["reason"])
def test_each_reason_has_a_class(case: dict[str, Any]) -> None:
    error = error_of(case, case["reason"])
    check(case, error)
    words = [word.capitalize() for word in case["reason"].split("_")]
    assert type(error) is getattr(errors, "".join(words) + "Error")
    assert error.reason == case["reason"]
    assert error.default_code is error.code
    assert str(error) == f"{case['reason']}: said"


def test_every_reason_of_the_contract_is_in_the_table() -> None:
    reasons = {name.removeprefix("ERROR_REASON_") for name in v1.ErrorReason.DESCRIPTOR.values_by_name} - {"UNSPECIFIED"}
    assert {case["reason"] for case in TABLE["reasons"]} == reasons


@pytest.mark.parametrize("case", TABLE["unknown_reason"], ids=lambda case: case["code"])
def test_an_unknown_reason_counts_by_its_code(case: dict[str, Any]) -> None:
    error = error_of(case, "OF_A_NEWER_SERVER")
    assert (type(error), error.reason, error.unknown_reason) == (errors.TranscriptError, "", "OF_A_NEWER_SERVER")
    check(case, error)


@pytest.mark.parametrize("case", TABLE["no_reason"], ids=lambda case: case["code"])
def test_without_a_reason_the_outcome_is_unknown(case: dict[str, Any]) -> None:
    error = error_of(case)
    check(case, error)
    expected = {"CANCELLED": errors.CancelledError, "DEADLINE_EXCEEDED": errors.DeadlineExceededError}
    expected |= {"UNAUTHENTICATED": errors.UnauthenticatedError, "PERMISSION_DENIED": errors.PermissionDeniedError}
    assert type(error) is expected.get(case["code"], errors.TranscriptError)


@pytest.mark.parametrize(
    ("reason", "domain", "metadata", "alias", "prefix"),
    [
        ("LEGAL_HOLD", "transcript.v1", {"alias": "case/1", "alias_prefix": "case/"}, "case/1", "case/"),
        ("LEGAL_HOLD", "transcript.v1", {"alias_prefix": ""}, "", ""),
        ("LEGAL_HOLD", "transcript.v1", {}, "", None),
        ("LEGAL_HOLD", "elsewhere", {"alias": "case/1", "alias_prefix": "case/"}, "", None),
        ("ALIAS_MOVED", "transcript.v1", {"alias": "case/1", "alias_prefix": "case/"}, "", None),
    ],
)
def test_an_error_tells_what_is_held(reason: str, domain: str, metadata: dict[str, str], alias: str, prefix: str | None) -> None:
    info = details.ErrorInfo(reason=reason, domain=domain, metadata=metadata)
    error = errors.from_status(grpc.StatusCode.FAILED_PRECONDITION, "said", status(grpc.StatusCode.FAILED_PRECONDITION, info))
    assert (error.held_alias, error.hold_prefix) == (alias, prefix)


def test_an_error_tells_all_details() -> None:
    messages: list[Message] = [
        details.ErrorInfo(reason="ALIAS_MOVED", domain="transcript.v1"),
        details.RequestInfo(request_id="r1"),
        details.BadRequest(field_violations=[details.BadRequest.FieldViolation(field="aliases[0]", description="a rule")]),
        details.RetryInfo(retry_delay=duration_pb2.Duration(seconds=1, nanos=500_000_000)),
        details.QuotaFailure(
            violations=[details.QuotaFailure.Violation(quota_id="max_nodes", quota_value=3, description="at most 3 nodes")]
        ),
        v1.AliasConflicts(conflicts=[v1.AliasConflict(field="aliases[0]", node_id="ab", revision=7, only_compacted=True)]),
        v1.AmbiguousPrefix(node_ids=["aa", "ab"]),
        v1.DeletedAlias(revision=4),
    ]
    error = errors.from_status(grpc.StatusCode.ABORTED, "said", status(grpc.StatusCode.ABORTED, *messages))
    assert isinstance(error, transcriptd.AliasMovedError)
    assert error.request_id == "r1"
    assert error.violations == [transcriptd.Violation("aliases[0]", "a rule")]
    assert error.retry_after == 1.5
    assert error.quotas == [transcriptd.Quota("max_nodes", 3, "at most 3 nodes")]
    assert error.conflicts == [transcriptd.Conflict("aliases[0]", "ab", 7, True)]
    assert error.head == "ab"
    assert error.candidates == ["aa", "ab"]
    assert error.deleted == v1.DeletedAlias(revision=4)
    assert str(error) == "ALIAS_MOVED: said: aliases[0]: a rule"
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error)
    assert (str(copied), copied.conflicts, copied.head) == (str(error), error.conflicts, "ab")


def test_details_of_another_domain_or_of_no_status_are_no_reason() -> None:
    foreign = details.ErrorInfo(reason="ALIAS_MOVED", domain="elsewhere")
    error = errors.from_status(grpc.StatusCode.ABORTED, "said", status(grpc.StatusCode.ABORTED, foreign))
    assert (error.reason, error.unknown_reason, str(error)) == ("", "", "ABORTED: said")
    error = errors.from_status(grpc.StatusCode.ABORTED, "said", b"\xff")
    assert str(error) == "ABORTED: said"


def test_a_detail_that_does_not_parse_tells_nothing() -> None:
    told = status_pb2.Status.FromString(status(grpc.StatusCode.ABORTED, details.ErrorInfo(reason="ALIAS_MOVED", domain="transcript.v1")))
    for kind in ("google.rpc.RetryInfo", "google.rpc.ErrorInfo", "transcript.v1.AliasConflicts"):
        told.details.add(type_url=f"type.googleapis.com/{kind}", value=b"\x0a\x7f")
    error = errors.from_status(grpc.StatusCode.ABORTED, "said", told.SerializeToString())
    assert isinstance(error, transcriptd.AliasMovedError)
    assert (error.retry_after, error.conflicts) == (None, [])


def test_a_pause_of_less_than_nothing_is_none() -> None:
    pause = details.RetryInfo(retry_delay=duration_pb2.Duration(seconds=-5))
    assert errors.from_status(grpc.StatusCode.ABORTED, "said", status(grpc.StatusCode.ABORTED, pause)).retry_after is None


def test_a_field_that_the_message_tells_is_told_once() -> None:
    violation = transcriptd.Violation("regexp", "must be an RE2 pattern")
    error = transcriptd.InvalidPatternError("regexp: must be an RE2 pattern", violations=[violation])
    assert str(error) == "INVALID_PATTERN: regexp: must be an RE2 pattern"


def test_what_may_have_happened() -> None:
    assert not transcriptd.may_have_happened(None)
    assert not transcriptd.may_have_happened(ValueError())
    assert transcriptd.may_have_happened(KeyboardInterrupt())
    assert transcriptd.may_have_happened(errors.ClosedError())
    assert not transcriptd.may_have_happened(errors.undone(errors.ClosedError()))
    assert not transcriptd.may_have_happened(errors.AliasMovedError())
    assert transcriptd.may_have_happened(errors.happened(errors.AliasMovedError(), True))
