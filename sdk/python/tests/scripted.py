"""A model of the OpenAI Agents SDK that answers by a script, without a network."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from agents import Model, ModelResponse, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText, ResponseReasoningItem
from openai.types.responses.response_reasoning_item import Summary


def says(text: str, id: str = "msg_1") -> ResponseOutputMessage:
    """A message of the assistant."""
    content = ResponseOutputText(annotations=[], text=text, type="output_text")
    return ResponseOutputMessage(id=id, content=[content], role="assistant", status="completed", type="message")


def calls(name: str, arguments: str, call_id: str) -> ResponseFunctionToolCall:
    """A call of a tool, or a handoff."""
    return ResponseFunctionToolCall(arguments=arguments, call_id=call_id, name=name, type="function_call", id=f"fc_{call_id}")


def thinks(text: str) -> ResponseReasoningItem:
    """Reasoning."""
    return ResponseReasoningItem(id="rs_1", summary=[Summary(text=text, type="summary_text")], type="reasoning", encrypted_content="AAAA")


class Scripted(Model):
    """Gives one answer of the script a call, and keeps what it was asked."""

    def __init__(self, *answers: Sequence[Any] | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[list[Any]] = []

    async def get_response(self, system_instructions: str | None, input: str | list[Any], *_: Any, **__: Any) -> ModelResponse:
        self.asked.append([{"role": "user", "content": input}] if isinstance(input, str) else list(input))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return ModelResponse(output=list(answer), usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("the script is not streamed")
