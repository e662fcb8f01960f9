"""Walks `transcriptctl mcp` with MCP's SDK for Python, in the new protocol and in older ones: check.py TRANSCRIPTCTL URL."""

import asyncio
import os
import re
import sys

from mcp import Client, MCPError, StdioServerParameters

CALLS = {
    "list_conversations": ({}, "chat/weather"),
    "read_conversation": ({"conversation": "chat/weather"}, "It is 7 degrees."),
    "describe_chain": ({"conversation": "chat/weather"}, "tools: weather 1"),
    "list_run_loops": ({"conversation": "chat/weather"}, "reply: It is 7 degrees."),
    "search_history": ({"query": "HOW WARM"}, "in chat/weather"),
    "recall_tool_call": ({"conversation": "chat/weather", "call_id": "call_1"}, "[redacted]"),
}


async def walk(server: "StdioServerParameters | str", mode: str) -> str:
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert {t.name for t in tools} == set(CALLS), tools
        for name, (arguments, text) in CALLS.items():
            result = await client.call_tool(name, arguments)
            shown = result.content[0].text
            assert not result.is_error and text in shown and "sk-proj" not in shown, (name, shown)
            assert len(shown) <= 20_000 and result.structured_content is None, name
        result = await client.call_tool("read_conversation", {"conversation": "nowhere"})
        assert result.is_error and "call list_conversations" in result.content[0].text, result
        try:
            await client.call_tool("put_message", {"conversation": "x", "role": "user", "text": "x"})
            raise AssertionError("a writing tool is there")
        except MCPError as e:
            assert e.error.code == -32602, e
        names = {r.name for r in (await client.list_resources()).resources}
        assert "chat/weather" in names, names
        read = await client.read_resource("transcript://default/chat/weather")
        assert "It is 7 degrees." in read.contents[0].text, read
        assert (await client.list_resource_templates()).resource_templates[0].uri_template == "transcript://default/{+name}"
        return client.protocol_version


async def main() -> None:
    binary, url = sys.argv[1:]
    stdio = StdioServerParameters(command=binary, args=["mcp"], env=dict(os.environ))
    for name, server in {"stdio": stdio, "HTTP": url}.items():
        for mode in "auto", "legacy":
            print(name, mode, await walk(server, mode))
    bound = StdioServerParameters(command=binary, args=["mcp", "--chain", "chat/weather"], env=dict(os.environ))
    async with Client(bound) as client:
        tools = {t.name for t in (await client.list_tools()).tools}
        assert tools == set(CALLS) - {"list_conversations"}, tools
        result = await client.call_tool("read_conversation", {})
        assert re.search("It is 7 degrees", result.content[0].text), result
        result = await client.call_tool("read_conversation", {"conversation": "chat/1"})
        assert result.is_error, result


asyncio.run(main())
