from typing import Any

import pytest

import vectors
from conversions import Converter, check_for_model, check_refused, check_vector, check_written
from transcriptd import anthropic, openai, v1
from transcriptd.openai import responses

CONVERTERS = {"openai": Converter.of(openai), "responses": Converter.of(responses), "anthropic": Converter.of(anthropic)}
NAMES = list(CONVERTERS)


def cases(file: str, part: str | None = None) -> dict[str, Any]:
    """Arguments of parametrize: each case of each converter's file, with the converter's name."""
    loaded = {name: vectors.load(file.format(name)) for name in NAMES}
    every = [(name, case) for name in NAMES for case in (loaded[name] if part is None else loaded[name][part])]
    return {"argvalues": every, "ids": [f"{name}: {case['name']}" for name, case in every]}


@pytest.mark.parametrize(("name", "vector"), **cases("{}.json"))
def test_vectors(name: str, vector: dict[str, Any]) -> None:
    check_vector(vector, CONVERTERS[name])


@pytest.mark.parametrize(("name", "case"), **cases("{}_conversions.json", "refused"))
def test_refused(name: str, case: dict[str, Any]) -> None:
    check_refused(case, CONVERTERS[name])


@pytest.mark.parametrize(("name", "case"), **cases("{}_conversions.json", "for_model"))
def test_for_model(name: str, case: dict[str, Any]) -> None:
    check_for_model(case, CONVERTERS[name], CONVERTERS)


@pytest.mark.parametrize(("name", "case"), **cases("{}_conversions.json", "written"))
def test_written(name: str, case: dict[str, Any]) -> None:
    check_written(case, CONVERTERS[name])


@pytest.mark.parametrize("name", NAMES)
def test_there_are_cases(name: str) -> None:
    assert len(vectors.load(f"{name}.json")) > 40
    assert all(len(part) > 0 for part in vectors.load(f"{name}_conversions.json").values())


def test_the_input_of_a_call_is_its_arguments_whole() -> None:
    call = v1.Part(tool_call=v1.ToolCall(id="c", name="f", arguments='{"a":1}'), extras='{"input":{"b":2}}')
    written, report = anthropic.format([v1.Message(role=v1.ROLE_ASSISTANT, parts=[call], content_form=v1.CONTENT_FORM_PARTS)])
    assert written["messages"][0]["content"] == [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]
    assert [(change.path, change.kind) for change in report] == [("messages[0].parts[0]", "inexact")]
