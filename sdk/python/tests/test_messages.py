import json
from typing import Any

import pytest
from google.protobuf import json_format

import transcriptd.messages as make
import vectors
from transcriptd import ConversionError, message, v1
from transcriptd.names import chat_alias, message_alias
from transcriptd.texts import STUB, UNKNOWN_RESULT, stub, with_depth

TEXTS = vectors.load("texts.json")
ANY: Any = make  # for arguments of types that a type checker refuses


@pytest.mark.parametrize("case", **vectors.named(vectors.load("names.json")))
def test_names(case: dict[str, Any]) -> None:
    assert message_alias(case["message_id"]) == case["alias"]


def test_a_conversation_has_an_alias() -> None:
    assert chat_alias("a/b") == "chat/a/b"


def test_texts() -> None:
    assert TEXTS["stub"] == STUB
    assert len(TEXTS["depth"]) > 1
    for case in TEXTS["depth"]:
        assert with_depth(case["depth"], case["text"]) == case["reply"]


def test_a_stub_has_what_its_call_has() -> None:
    assert stub(None, None) == v1.Message(role=v1.ROLE_TOOL, parts=[v1.Part(text=STUB)], origin=v1.ORIGIN_STUB)
    made = stub("", "f")
    assert made.HasField("tool_call_id")
    assert (made.tool_call_id, made.name) == ("", "f")


def test_messages() -> None:
    one = make.call("c1", "add", '{"a": 2}')
    assert make.system("s") == v1.Message(role=v1.ROLE_SYSTEM, parts=[v1.Part(text="s")])
    assert make.user("").parts[0].HasField("text")
    assert make.assistant("", one) == v1.Message(role=v1.ROLE_ASSISTANT, parts=[v1.Part(tool_call=one)])
    assert make.assistant("") == v1.Message(role=v1.ROLE_ASSISTANT, parts=[v1.Part(text="")])
    both = make.assistant("hm", one, one)
    assert (make.text(both), make.calls(both)) == ("hm", [one, one])
    assert make.result(one, "4") == v1.Message(role=v1.ROLE_TOOL, parts=[v1.Part(text="4")], tool_call_id="c1", name="add")
    assert make.result(one, "4", is_error=True).is_error
    nameless = make.result(v1.ToolCall(), "4")
    assert not nameless.HasField("tool_call_id")
    assert not nameless.HasField("name")
    unknown = make.unknown_result(one)
    assert (make.text(unknown), unknown.is_error) == (UNKNOWN_RESULT, True)
    state = make.opaque("adk", b"\0")
    assert make.is_opaque(state)
    assert not make.is_opaque(both)
    assert state.parts[0].opaque == v1.Opaque(type="adk", data=b"\0")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: ANY.user(3), "text must be a str, not int"),
        (lambda: ANY.assistant("", {"id": "c"}), r"calls\[0\] must be a transcriptd.v1.ToolCall, not dict; transcriptd.call makes one"),
        (lambda: ANY.call(1, "f", ""), "id must be a str, not int"),
        (lambda: ANY.call("c", "f", {}), "arguments must be the text that the model wrote, as a str: json.dumps"),
        (lambda: ANY.result("c1", "4"), "call must be a transcriptd.v1.ToolCall, not str"),
        (lambda: ANY.opaque("adk", "text"), "data must be bytes, not str"),
    ],
)
def test_wrong_types_are_named(made: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        made()


def test_half_a_surrogate_pair_names_the_argument() -> None:
    for broken in ("a\ud800", "\udc00"):
        with pytest.raises(ValueError, match=r"^text has a surrogate by itself"):
            make.user(broken)
        with pytest.raises(ValueError, match=r"^text has a surrogate by itself"):
            make.result(make.call("c", "f", ""), broken)


BY_HAND = vectors.load("messages.json")


@pytest.mark.parametrize("case", **vectors.named(BY_HAND["made"]))
def test_messages_by_hand(case: dict[str, Any]) -> None:
    want = json_format.ParseDict(case["message"], v1.Message())
    assert message(case["given"]) == want
    assert message(json.loads(case["given"])) == want or "numbers" in case["name"]  # which json reads as floats
    assert message(case["given"].encode()).HasField("name") == want.HasField("name")


@pytest.mark.parametrize("case", **vectors.named(BY_HAND["refused"]))
def test_refused_messages_by_hand(case: dict[str, Any]) -> None:
    with pytest.raises(ConversionError) as caught:
        message(case["given"])
    assert str(caught.value) == case["error"]
