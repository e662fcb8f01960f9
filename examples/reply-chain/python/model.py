"""The model: the script, or a provider's."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from transcriptd import AsyncTool
from transcriptd.v1 import Message

import script

Model = Callable[[Sequence[Message], Sequence[AsyncTool]], Awaitable[Message]]
"""Says what comes after messages: calls of tools, or a text."""

MAX_TOKENS = 4096  # of a reply


def chosen(variable: str) -> Model:
    """The model that the environment variable MODEL names: openai:NAME, anthropic:NAME, or none, the script. The providers' clients read
    OPENAI_API_KEY, OPENAI_BASE_URL, ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL by themselves."""
    provider, _, name = variable.partition(":")
    if not variable:
        return _script
    if provider == "openai" and name:
        return _openai(name)
    if provider == "anthropic" and name:
        return _anthropic(name)
    raise ValueError("MODEL has to be openai:NAME or anthropic:NAME, or not set for the script")


async def _script(messages: Sequence[Message], tools: Sequence[AsyncTool]) -> Message:
    return script.answer(messages)


def _openai(name: str) -> Model:
    from openai import AsyncOpenAI  # a provider's client is needed only where it is asked for
    from transcriptd import openai

    client = AsyncOpenAI()

    async def ask(messages: Sequence[Message], tools: Sequence[AsyncTool]) -> Message:
        request: dict[str, Any] = {"model": name, "messages": openai.for_model(messages)[0]}
        if tools:
            request["tools"] = [tool.openai() for tool in tools]
        got = await client.chat.completions.create(**request)
        return openai.parse_message(got.choices[0].message.to_dict())[0]

    return ask


def _anthropic(name: str) -> Model:
    from anthropic import AsyncAnthropic
    from transcriptd import anthropic

    client = AsyncAnthropic()

    async def ask(messages: Sequence[Message], tools: Sequence[AsyncTool]) -> Message:
        request: dict[str, Any] = {"model": name, "max_tokens": MAX_TOKENS, **anthropic.for_model(messages)[0]}  # system and messages
        if tools:
            request["tools"] = [tool.anthropic() for tool in tools]
        got = await client.messages.create(**request)
        answer = {"role": "assistant", "content": [block.to_dict() for block in got.content]}
        return anthropic.parse_message(answer)[0][0]

    return ask
