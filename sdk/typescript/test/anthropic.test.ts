import { create } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { test } from "node:test";

import * as anthropic from "../src/anthropic/index.js";
import { MessageSchema, Role } from "../src/gen/transcript/v1/message_pb.js";
import * as openai from "../src/openai/index.js";
import { conversions, vectors } from "./conversions.js";

await vectors("anthropic.json", anthropic);
await conversions("anthropic_conversions.json", anthropic, { openai: openai.parse, anthropic: anthropic.parse });

test("an input of the extras does not mix with the model's", () => {
  const call = { id: "c", name: "f", arguments: '{"a":1}' };
  const message = create(MessageSchema, {
    role: Role.ASSISTANT,
    parts: [{ extras: '{"input":{"b":2}}', kind: { case: "toolCall", value: call } }],
  });
  const { request, report } = anthropic.format([message]);
  assert.deepEqual(request.messages[0]?.content, [{ type: "tool_use", id: "c", name: "f", input: { a: 1 } }]);
  assert.ok(report.length > 0);
});
