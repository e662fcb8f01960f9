"""Blocks of content, and the parts that they are."""

from __future__ import annotations

from collections.abc import Callable

from .. import v1
from .._convert.content import json_part, json_value, optional_string, typed
from .._convert.media import decode_base64, encode_base64, is_media_type, placeholder
from .._convert.report import ConversionError
from .._convert.taker import Taker, read_extras
from .._json import Value, compact, merged, obj, read_compactable, string

# The media types of what is kept by URL: Anthropic's names of the blocks.
IMAGE = "image"
DOCUMENT = "document"


def block_parser(role: v1.Role) -> Callable[[Value], v1.Part]:
    """Makes parts of the blocks of a message of some role. A block that has no kind of its own, or not its form, is a json part."""

    def parse(value: Value) -> v1.Part:
        kind = value.member("type")
        if kind is not None and kind.kind == "string":
            taker = Taker(value)
            taker.take("type")
            part = _parse(taker, kind.text, role)
            if part is not None:
                part.extras = taker.extras()
                return part
        return json_part(value)

    return parse


def _parse(taker: Taker, kind: str, role: v1.Role) -> v1.Part | None:
    """The part of a block; None where it has no kind of its own."""
    if kind == "text":
        text = taker.take_string("text")
        return None if text is None else v1.Part(text=text)
    if kind == "thinking":
        return _thinking(taker)
    if kind == "redacted_thinking":
        data = decode_base64(taker.take_string("data") or "")
        return v1.Part(reasoning=v1.Reasoning(redacted_data=data)) if data else None
    if kind == "tool_use" and role == v1.ROLE_ASSISTANT:
        return _call(taker)
    if kind in (IMAGE, DOCUMENT):
        return _media(taker, kind)
    return None


def _thinking(taker: Taker) -> v1.Part | None:
    thinking = taker.take_string("thinking")
    if thinking is None:
        return None
    signature = taker.look("signature")
    given = (signature.string or "") if signature is not None else ""
    if given:
        taker.take("signature")
    return v1.Part(reasoning=v1.Reasoning(text=thinking, signature=given))


def _call(taker: Taker) -> v1.Part:
    """A call, whose arguments are the input as JSON text, empty where there is none."""
    call = v1.ToolCall(id=taker.string_or_null("id"), name=taker.string_or_null("name"))
    given = taker.look("input")
    if given is not None:
        taker.take("input")
        call.arguments = compact(given, given.path)
    return v1.Part(tool_call=call)


def _media(taker: Taker, kind: str) -> v1.Part | None:
    """Media of a source by URL, or as base64 of a type that tells the two kinds of block apart."""
    source = taker.look("source")
    how = source.member("type") if source is not None else None
    if how is None:
        return None
    rest = taker.sub("source")
    rest.take("type")
    if how.string == "url":
        url = rest.take_string("url")
        return None if url is None else v1.Part(media=v1.Media(media_type=kind, uri=url))
    if how.string != "base64":
        return None
    media_type, text = rest.take_string("media_type"), rest.take_string("data")
    if media_type is None or text is None or not is_media_type(media_type) or is_image(media_type) != (kind == IMAGE):
        return None
    data = decode_base64(text)
    return None if data is None else v1.Part(media=v1.Media(media_type=media_type, inline=data))


def is_image(media_type: str) -> bool:
    """Whether a media type is an image's; OpenAI's name of one by URL counts."""
    return media_type in (IMAGE, "image_url") or media_type.startswith("image/")


def format_block(part: v1.Part, path: str) -> Value:
    """The block that a part stands for."""
    extras = read_extras(part.extras, f"{path}.extras")
    kind = part.WhichOneof("kind")
    if kind == "json":
        return json_value(part)
    if kind == "text":
        return merged(text_block(part.text), extras)
    if kind == "reasoning":
        return merged(thinking_block(part.reasoning), extras)
    if kind == "tool_call":
        return _call_block(part.tool_call, extras)
    if kind == "media":
        return merged(media_block(part.media), extras)
    raise ConversionError(path, "has no kind")


def text_block(text: str) -> Value:
    """A block of text."""
    return typed("text", {"text": string(text)})


def is_encrypted(reasoning: v1.Reasoning) -> bool:
    """Whether reasoning is redacted data and nothing else."""
    return bool(reasoning.redacted_data) and not reasoning.text and not reasoning.signature


def thinking_block(reasoning: v1.Reasoning) -> Value:
    """A block of thinking, or of redacted thinking."""
    if is_encrypted(reasoning):
        return typed("redacted_thinking", {"data": string(encode_base64(reasoning.redacted_data))})
    signature = string(reasoning.signature) if reasoning.signature else None
    return typed("thinking", {"thinking": string(reasoning.text), "signature": signature})


def _call_block(call: v1.ToolCall, extras: Value | None) -> Value:
    given = read_compactable(call.arguments)
    if given is None and call.arguments:
        given = string(call.arguments)
    if given is not None and extras is not None:
        extras = extras.without("input")  # the arguments are the input, whole
    block = typed("tool_use", {"id": optional_string(call, "id"), "name": optional_string(call, "name"), "input": given})
    return merged(block, extras)


def media_block(media: v1.Media) -> Value:
    """The block that Anthropic has for a piece of media; a text where it has none."""
    source = media.WhichOneof("source")
    if source == "uri":
        given = typed("url", {"url": string(media.uri)})
    elif source == "inline":
        given = typed("base64", {"media_type": string(media.media_type), "data": string(encode_base64(media.inline))})
    else:
        return text_block(placeholder(media.media_type))
    return obj({"type": string(IMAGE if is_image(media.media_type) else DOCUMENT), "source": given})
