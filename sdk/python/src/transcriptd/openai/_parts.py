"""Items of a content list, and the parts that they are."""

from __future__ import annotations

from .. import v1
from .._convert.content import json_part, json_value, typed
from .._convert.media import data_url, decode_base64, encode_base64, is_media_type, parse_data_url, placeholder
from .._convert.report import ConversionError
from .._convert.taker import Taker, read_extras
from .._json import Value, merged, obj, string

# The media types of what is kept by URL: OpenAI's names of the parts.
IMAGE_URL = "image_url"
FILE = "file"
AUDIO = "input_audio"


def parse_part(value: Value) -> v1.Part:
    """The part of an item. What has not the form of one that has a kind of its own is a json part, whole."""
    kind = value.member("type")
    parser = _PARSERS.get(kind.text) if kind is not None and kind.kind == "string" else None
    if parser is not None:
        taker = Taker(value)
        taker.take("type")
        part = parser(taker)
        if part is not None:
            part.extras = taker.extras()
            return part
    return json_part(value)


def _text(taker: Taker) -> v1.Part | None:
    text = taker.take_string("text")
    return None if text is None else v1.Part(text=text)


def _inner(taker: Taker, name: str, member: str) -> tuple[str, Taker] | None:
    """A string member of a member that is an object, and that object; None where it is not there."""
    value = taker.look(name)
    inner = value.member(member) if value is not None else None
    if inner is None or inner.kind != "string":
        return None
    return inner.text, taker.sub(name)


def _image(taker: Taker) -> v1.Part | None:
    found = _inner(taker, IMAGE_URL, "url")
    if found is None:
        return None
    url, image = found
    image.take("url")
    data = parse_data_url(url)
    if data is not None and data[0].startswith("image/"):
        return _inline(*data)
    return _uri(IMAGE_URL, url)


def _audio(taker: Taker) -> v1.Part | None:
    text, form = _inner(taker, AUDIO, "data"), _inner(taker, AUDIO, "format")
    if text is None or form is None or not is_media_type("audio/" + form[0]):
        return None
    data = decode_base64(text[0])
    if data is None:
        return None
    audio = form[1]
    audio.take("data")
    audio.take("format")
    return _inline("audio/" + form[0], data)


def _file(taker: Taker) -> v1.Part | None:
    found = _inner(taker, FILE, "file_data")
    if found is None:
        return None
    url, file = found
    file.take("file_data")
    data = parse_data_url(url)
    if data is not None and not data[0].startswith(("image/", "audio/")):
        return _inline(*data)
    return _uri(FILE, url)


_PARSERS = {"text": _text, IMAGE_URL: _image, AUDIO: _audio, FILE: _file}


def _inline(media_type: str, data: bytes) -> v1.Part:
    return v1.Part(media=v1.Media(media_type=media_type, inline=data))


def _uri(media_type: str, uri: str) -> v1.Part:
    return v1.Part(media=v1.Media(media_type=media_type, uri=uri))


def format_part(part: v1.Part, path: str) -> Value:
    """The item that a content part stands for."""
    extras = read_extras(part.extras, f"{path}.extras")
    kind = part.WhichOneof("kind")
    if kind == "json":
        return json_value(part)
    if kind == "text":
        return merged(text_item(part.text), extras)
    if kind == "media":
        return merged(media_item(part.media), extras)
    raise ConversionError(path, "has no kind")


def text_item(text: str) -> Value:
    """An item of text."""
    return typed("text", {"text": string(text)})


def is_image(media_type: str) -> bool:
    """Whether a media type is an image's; Anthropic's name of one by URL counts."""
    return media_type in (IMAGE_URL, "image") or media_type.startswith("image/")


def media_item(media: v1.Media) -> Value:
    """The item that OpenAI has for a piece of media; a text where it has none."""
    source = media.WhichOneof("source")
    if source == "uri":
        return nested(IMAGE_URL, url=media.uri) if is_image(media.media_type) else nested(FILE, file_data=media.uri)
    if source == "inline":
        if media.media_type.startswith("audio/"):
            return nested(AUDIO, data=encode_base64(media.inline), format=media.media_type.removeprefix("audio/"))
        url = data_url(media.media_type, media.inline)
        return nested(IMAGE_URL, url=url) if is_image(media.media_type) else nested(FILE, file_data=url)
    return text_item(placeholder(media.media_type))


def nested(kind: str, **members: str) -> Value:
    """{"type":KIND,KIND:{…}} with these strings."""
    return typed(kind, {kind: obj({name: string(text) for name, text in members.items()})})
