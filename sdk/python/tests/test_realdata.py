"""Real conversations and exchanges come back as they were."""

import json

import realdata
from conversions import normal
from transcriptd import anthropic, openai
from transcriptd.openai import responses


@realdata.present
def test_conversations_are_lossless_and_can_be_sent_to_a_model() -> None:
    count = messages = 0
    for name, text in realdata.conversations():
        parsed, report = openai.parse(text)
        written, changes = openai.format_text(parsed)
        assert (report, changes) == ([], []), name
        assert normal(written) == normal(text), name
        assert openai.for_model(parsed)[0], name
        assert anthropic.for_model(parsed)[0]["messages"], name
        assert responses.for_model(parsed)[0], name
        count += 1
        messages += len(parsed)
    assert (count, messages) == (970, 17773)


@realdata.present
def test_chat_exchanges_are_lossless() -> None:
    requests = answers = 0
    for line in realdata.lines("native/api-wire/chat.jsonl.gz"):
        request = realdata.member(line, "request", "messages")
        if request is not None:
            parsed, report = openai.parse(request)
            written, changes = openai.format_text(parsed)
            assert (report, changes) == ([], [])
            assert normal(written) == normal(request)
            requests += 1
        response = json.loads(line)["response"]
        for choice in response["choices"] if isinstance(response, dict) else []:
            message, _ = openai.parse_message(choice["message"])
            assert openai.format_message(message) == (choice["message"], [])
            answers += 1
    assert (requests, answers) == (116, 81)


@realdata.present
def test_responses_exchanges_are_lossless() -> None:
    inputs = outputs = 0
    for line in realdata.lines("native/api-wire/responses.jsonl.gz"):
        given, answer = realdata.member(line, "request", "input") or "", realdata.member(line, "response", "output") or ""
        for items in (given, answer):
            if items.startswith("["):  # else a request for something else, or an event stream as text
                parsed, report = responses.parse(items)
                written, changes = responses.format_text(parsed)
                assert (report, changes) == ([], [])
                assert normal(written) == normal(items)
        inputs += given.startswith("[")
        outputs += answer.startswith("[")
    assert inputs == 133
    assert outputs >= 90


@realdata.present
def test_anthropics_exchanges_are_lossless() -> None:
    requests = answers = 0
    for line in realdata.lines("native/api-wire/anthropic.jsonl.gz"):
        if "/messages" not in json.loads(line)["uri"]:
            continue  # exchanges with other providers, in conversations that moved from one to another
        request = realdata.member(line, "request") or ""
        parsed, report = anthropic.parse(request)
        assert {change.kind for change in report} <= {"left_out"}
        written, changes = anthropic.format_text(parsed)
        assert changes == []
        for name in ("system", "messages"):
            got, want = realdata.member(written, name), realdata.member(request, name)
            assert (got and normal(got)) == (want and normal(want))
        requests += 1
        answer = realdata.member(line, "response") or ""
        if answer.startswith("{"):  # else an event stream as text
            again, changes = anthropic.format_message_text(anthropic.parse_message(answer)[0])
            assert (changes, normal(again)) == ([], normal(answer))
            answers += 1
    assert (requests, answers) == (140, 138)
