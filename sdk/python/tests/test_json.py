import pickle
from typing import Any

import pytest

from transcriptd import anthropic, openai
from transcriptd._convert.report import ConversionError, NoMessagesError, Report
from transcriptd._json import compact, plain, read, read_any, write


@pytest.mark.parametrize(
    ("text", "compacted"),
    [
        (' { "b" : 1.0 , "a" : [ 1e3, -0, 12345678901234567890123 ] } ', '{"b":1.0,"a":[1e3,-0,12345678901234567890123]}'),
        (r'"\/\u0041\u00e9\u001f\b\ud83d\ude00 </script>"', '"/Aé\\u001f\\b😀 </script>"'),
        ("[ ]", "[]"),
        ('{"":{}}', '{"":{}}'),
        ("true", "true"),
        ("\r\n\tnull ", "null"),
    ],
)
def test_the_compact_form(text: str, compacted: str) -> None:
    assert compact(read(text, "", []), "") == compacted
    assert compact(read(text.encode(), "", []), "") == compacted
    assert write(read(compacted, "", [])) == compacted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1,]",
        "[1 2]",
        "{a:1}",
        '{"a"}',
        '{"a":}',
        '{"a":1,}',
        "[1]]",
        "[,1]",
        "01",
        "1.",
        "-",
        "+1",
        ".5",
        "1e",
        "1.e5",
        "--1",
        "1 2",
        "٣",
        "NaN",
        "Infinity",
        "tru",
        '"\t"',
        '"\\x"',
        '"\\u12"',
        '"a',
        "'a'",
        "\ufeff1",
        "\v1",
        "/**/1",
    ],
)
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(ConversionError):
        read(text, "root", [])
    assert read_any(text) is None


def test_lone_surrogates_are_told() -> None:
    report: Report = []
    value = read(r'{"a":["\ud800x\udc00","\ude00\ud83d\ude00"]}', "", report)
    assert write(value) == '{"a":["\ufffdx\ufffd","\ufffd😀"]}'
    assert [(change.path, change.kind, change.count) for change in report] == [("a[0]", "surrogates", 2), ("a[1]", "surrogates", 1)]
    with pytest.raises(ConversionError, match=r"^a is not UTF-8$"):
        read('{"a":"\ud800"}', "", [])
    told: Report = []
    assert openai.parse([{"role": "user", "content": "\ud800"}]) == openai.parse('[{"role":"user","content":"\\ud800"}]')
    assert openai.parse([{"role": "user", "content": "\ud800"}])[1] != told


def test_depth() -> None:
    assert read("[" * 256 + "]" * 256, "", []).kind == "list"
    with pytest.raises(ConversionError, match="is nested too deep"):
        read("[" * 257 + "]" * 257, "", [])
    with pytest.raises(ConversionError, match="is nested too deep"):
        read("[" * 100_000, "", [])
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ConversionError, match="nested too deep"):
        read(deep, "messages", [])


def test_objects_are_read_as_their_json() -> None:
    given = [{"role": "user", "content": "hi", "x": 1.5}]
    assert openai.parse(given) == openai.parse('[{"role":"user","content":"hi","x":1.5}]')
    assert openai.format(openai.parse(given)[0])[0] == given
    request = {"system": "S", "messages": [{"role": "user", "content": "hi"}]}
    assert anthropic.format(anthropic.parse(request)[0])[0] == request


@pytest.mark.parametrize("given", [object(), {1, 2}, [{"role": b"user"}], None.__class__])
def test_objects_that_json_has_not(given: Any) -> None:
    with pytest.raises(TypeError, match="pass JSON as str or bytes"):
        openai.parse(given)


def test_numbers_that_are_none() -> None:
    with pytest.raises(ConversionError, match="is not JSON"):
        openai.parse([{"role": "user", "content": float("nan")}])


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 5000])
def test_a_number_that_python_has_not(number: str) -> None:
    text = f'[{{"role":"user","content":"hi","x":{number}}}]'
    messages, report = openai.parse(text)
    assert report == []
    assert number in openai.format_text(messages)[0]
    try:
        whole = int(number)
    except ValueError:
        with pytest.raises(ConversionError, match=r"^messages\[0\].extras.x is a number that Python does not hold"):
            openai.format(messages)
    else:
        assert openai.format(messages)[0][0]["x"] == whole


def test_numbers_become_pythons() -> None:
    assert plain(read('{"a":[1,1.5,true,null,"x"]}', "", [])) == {"a": [1, 1.5, True, None, "x"]}


def test_nothing_to_send() -> None:
    for module in (openai, anthropic):
        with pytest.raises(NoMessagesError) as told:
            module.for_model([])
        assert told.value.report == []


def test_errors_can_be_pickled() -> None:
    error = ConversionError("messages[0]", "is not an object")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.path, again.rule) == (str(error), error.path, error.rule)
