"""Items of content, and the parts that they are."""

from __future__ import annotations

from ... import v1
from ..._convert.content import json_part, json_value, typed
from ..._convert.media import data_url, parse_data_url, placeholder
from ..._convert.report import ConversionError
from ..._convert.taker import Taker
from ..._json import Value, merged, string
from .._parts import FILE, IMAGE_URL, is_image
from ._items import ITEM, is_string, text_of

INPUT_IMAGE = "input_image"
INPUT_FILE = "input_file"


def parse_output(value: Value) -> v1.Part:
    """The part of an item of what an assistant says. What is not text is a json part, whole."""
    if text_of(value, "type") == "output_text" and is_string(value.member("text")) and ITEM not in value.members:
        return _text(Taker(value))
    return json_part(value)


def _text(taker: Taker) -> v1.Part:
    taker.take("type")
    text = taker.take_string("text")
    return v1.Part(text=text or "", extras=taker.extras())


def parse_input(value: Value) -> v1.Part:
    """The part of an item of what anybody else says, or a tool. What has not the form of one that has a kind of its own is a json part,
    whole."""
    taker = Taker(value)
    kind = text_of(value, "type")
    if kind == "input_text" and is_string(value.member("text")):
        return _text(taker)
    media: v1.Media | None = None
    if kind == INPUT_IMAGE and (url := taker.take_string("image_url")) is not None:
        media = _image(url)
    elif kind == INPUT_FILE and (url := taker.take_string("file_data")) is not None:
        media = _file_data(url)
    elif kind == INPUT_FILE and "file_data" not in value.members and (url := taker.take_string("file_url")) is not None:
        media = v1.Media(media_type=FILE, uri=url)
    if media is None:
        return json_part(value)
    taker.take("type")
    return v1.Part(media=media, extras=taker.extras())


def _image(url: str) -> v1.Media:
    data = parse_data_url(url)
    if data is not None and data[0].startswith("image/"):
        return v1.Media(media_type=data[0], inline=data[1])
    return v1.Media(media_type=IMAGE_URL, uri=url)


def _file_data(url: str) -> v1.Media | None:
    """None where the data are no URL that tells the file from an image."""
    data = parse_data_url(url)
    if data is None or data[0].startswith("image/"):
        return None
    return v1.Media(media_type=data[0], inline=data[1])


def format_part(part: v1.Part, extras: Value | None, role: v1.Role, path: str) -> Value:
    """The item of content that a part stands for, of what a role says; extras are those that are the item's."""
    kind = part.WhichOneof("kind")
    if kind == "json":
        return json_value(part)
    if kind == "text":
        return merged(text_item(part.text, role), extras)
    if kind == "media":
        item = media_item(part.media)
        return merged(text_item(placeholder(part.media.media_type), role) if item is None else item, extras)
    raise ConversionError(path, "has no kind")


def text_item(text: str, role: v1.Role) -> Value:
    """A text of what a role says."""
    return typed("output_text" if role == v1.ROLE_ASSISTANT else "input_text", {"text": string(text)})


def media_item(media: v1.Media) -> Value | None:
    """The item that OpenAI has for a piece of media; None where it has none."""
    image, source = is_image(media.media_type), media.WhichOneof("source")
    if source == "uri":
        return typed(INPUT_IMAGE, {"image_url": string(media.uri)}) if image else typed(INPUT_FILE, {"file_url": string(media.uri)})
    if source == "inline":
        url = string(data_url(media.media_type, media.inline))
        return typed(INPUT_IMAGE, {"image_url": url}) if image else typed(INPUT_FILE, {"file_data": url})
    return None
