// What both clients for TypeScript have to see.
import assert from "node:assert/strict";

const calls = {
  list_conversations: [{}, "chat/weather"],
  read_conversation: [{ conversation: "chat/weather" }, "It is 7 degrees."],
  describe_chain: [{ conversation: "chat/weather" }, "tools: weather 1"],
  list_run_loops: [{ conversation: "chat/weather" }, "reply: It is 7 degrees."],
  search_history: [{ query: "HOW WARM" }, "in chat/weather"],
  recall_tool_call: [{ conversation: "chat/weather", call_id: "call_1" }, "[redacted]"],
};

export async function walk(client) {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((t) => t.name).sort(), Object.keys(calls).sort());
  for (const [name, [args, text]] of Object.entries(calls)) {
    const result = await client.callTool({ name, arguments: args });
    const shown = result.content[0].text;
    assert.ok(!result.isError && shown.includes(text) && !shown.includes("sk-proj") && [...shown].length <= 20000, `${name}: ${shown}`);
  }
  const wrong = await client.callTool({ name: "read_conversation", arguments: { conversation: "nowhere" } });
  assert.ok(wrong.isError && wrong.content[0].text.includes("call list_conversations"));
  const { resources } = await client.listResources();
  assert.ok(resources.some((r) => r.name === "chat/weather"));
  const read = await client.readResource({ uri: "transcript://default/chat/weather" });
  assert.ok(read.contents[0].text.includes("It is 7 degrees."));
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates[0].uriTemplate, "transcript://default/{+name}");
  await client.close();
}
