import assert from "node:assert/strict";
import { test } from "node:test";

import * as anthropic from "../src/anthropic/index.js";
import * as openai from "../src/openai/index.js";
import { normal } from "./conversions.js";
import { conversations, lines, member, SKIP } from "./realdata.js";

test("real conversations are lossless, and can be sent to a model", { skip: SKIP }, async () => {
  let count = 0;
  let messages = 0;
  for await (const c of conversations()) {
    const parsed = openai.parse(c.messages);
    const written = openai.formatText(parsed.messages);
    assert.deepEqual([parsed.report, written.report], [[], []], c.id);
    assert.equal(normal(written.text), normal(c.messages), c.id);
    assert.ok(openai.forModel(parsed.messages).messages.length > 0);
    assert.ok(anthropic.forModel(parsed.messages).request.messages.length > 0);
    count++;
    messages += parsed.messages.length;
  }
  assert.deepEqual([count, messages], [970, 17773]);
});

test("real exchanges with Anthropic are lossless", { skip: SKIP }, async () => {
  let requests = 0;
  let answers = 0;
  for await (const line of lines("native/api-wire/anthropic.jsonl.gz")) {
    if (!(JSON.parse(line) as { uri: string }).uri.includes("/messages")) {
      continue; // exchanges with other providers, in conversations that moved from one to another
    }
    const request = member(line, "request") ?? "";
    const { messages, report } = anthropic.parse(request);
    assert.ok(report.every((change) => change.kind === "left_out"));
    const written = anthropic.formatText(messages);
    assert.deepEqual(written.report, []);
    for (const name of ["system", "messages"]) {
      const [got, want] = [member(written.text, name), member(request, name)];
      assert.equal(got && normal(got), want && normal(want));
    }
    requests++;
    const answer = member(line, "response") ?? "";
    if (answer.startsWith("{")) {
      const again = anthropic.formatMessageText(anthropic.parseMessage(answer).messages);
      assert.deepEqual(again.report, []);
      assert.equal(normal(again.text), normal(answer));
      answers++;
    }
  }
  assert.deepEqual([requests, answers], [140, 138]);
});
