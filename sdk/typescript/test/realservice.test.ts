// Real conversations through a service: put message by message, and back as they were. One in twenty, or with REALDATA=all each.

import assert from "node:assert/strict";
import { test } from "node:test";

import { byAlias, byId, connect, encodePayload, View, type Client, type Message, type NodeInit } from "../src/index.js";
import * as openai from "../src/openai/index.js";
import { normal } from "./conversions.js";
import { Daemon } from "./daemon.js";
import { conversations, SKIP } from "./realdata.js";

const EACH = process.env.REALDATA === "all" ? 1 : 20;

/** The most bytes and nodes of a request of PutNodes. */
const MOST_BYTES = 3 << 20;
const MOST_NODES = 1000;

/** Puts messages as a chain, a node each, in as many calls as that takes; the alias comes to its end. */
async function putChain(client: Client, alias: string, messages: readonly Message[]): Promise<string> {
  let head: string | undefined;
  let nodes: NodeInit[] = [];
  let bytes = 0;
  const put = async (): Promise<void> => {
    head = (await client.putAll(nodes)).at(-1)?.nodeId;
    nodes = [];
    bytes = 0;
  };
  for (const [i, message] of messages.entries()) {
    const size = encodePayload([message]).length;
    if (nodes.length === MOST_NODES || (nodes.length > 0 && bytes + size > MOST_BYTES)) {
      await put();
    }
    bytes += size;
    nodes.push({
      messages: [message],
      ...(nodes.length > 0 && { previous: true }),
      ...(nodes.length === 0 && head !== undefined && { parent: byId(head) }),
      ...(i === messages.length - 1 && { aliases: [{ name: alias }] }),
    });
  }
  await put();
  return head ?? "";
}

test("real conversations through a service", { skip: SKIP }, async () => {
  await using daemon = await Daemon.start();
  await using client = connect(daemon.target, { verify: true });
  let seen = 0;
  let count = 0;
  let messages = 0;
  for await (const c of conversations()) {
    if (seen++ % EACH > 0) {
      continue;
    }
    const parsed = openai.parse(c.messages).messages;
    const head = await putChain(client, `real/${c.id}`, parsed);
    const whole = await client.assemble(byAlias(`real/${c.id}`), { view: View.FULL });
    assert.equal(whole.headId, head, c.id);
    const written = openai.formatText(whole.messages);
    assert.deepEqual(written.report, [], c.id);
    assert.equal(normal(written.text), normal(c.messages), c.id);
    count++;
    messages += parsed.length;
  }
  assert.equal(seen, 970);
  assert.ok(
    EACH > 1 ? count === 49 : messages === 17773,
    `${String(count)} conversations, ${String(messages)} messages`,
  );
});
