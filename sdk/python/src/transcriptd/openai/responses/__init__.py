"""Converts between items of OpenAI's Responses API, those of a request's input and of a response's output, and transcript messages.

`parse` and `format` are the lossless form: what `parse` read, `format` writes again, equal as JSON, and nothing else becomes the same
messages. `for_model` is the form for a model: what the API accepts, whatever the messages hold. Each returns beside its result a report of
what it changed; an empty one says that nothing was. docs/conversion.md of transcriptd says member by member what becomes what.

What is given may be JSON text (str, or bytes in UTF-8) or lists and dicts. What comes back is lists and dicts, whose numbers are Python's;
the functions whose names end in _text give the JSON text, in which each number is spelled as it came.

ConversionError names the member by its path, and never shows a value.
"""

from ..._convert.report import Change, ChangeKind, ConversionError, NoMessagesError, Report
from ._format import format, format_text
from ._model import for_model, for_model_text
from ._parse import parse

__all__ = [
    "Change",
    "ChangeKind",
    "ConversionError",
    "NoMessagesError",
    "Report",
    "for_model",
    "for_model_text",
    "format",
    "format_text",
    "parse",
]
