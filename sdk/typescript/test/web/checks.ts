// What is checked where there is fetch and nothing else: a first conversation, and the scenarios.

import { assistant, byAlias, connect, text, TranscriptError, user, View } from "../../src/web/index.js";
import { ProxyControl } from "../proxycontrol.js";
import { Runner, type Scenario } from "../scenarios.js";
import assert from "./assert.js";

/** Where things are. */
export interface Where {
  /** The server's HTTP side. */
  readonly server: string;
  /** The proxy before it, and where that is told what to do. */
  readonly proxy: string;
  readonly control: string;
  readonly scenarios: readonly Scenario[];
}

/** What came of a check; no error: it passed. */
export interface Outcome {
  readonly name: string;
  readonly error?: string;
}

export async function check(where: Where): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  async function judge(name: string, run: () => Promise<void>): Promise<void> {
    try {
      await run();
      outcomes.push({ name });
    } catch (error) {
      outcomes.push({ name, error: error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : String(error) });
    }
  }
  await judge("a first conversation", () => conversation(where.server));
  await judge("nobody is there", () => nobody());
  const control = new ProxyControl(where.control);
  for (const [i, scenario] of where.scenarios.entries()) {
    const namespace = `web-${String(i)}-${crypto.randomUUID().slice(0, 8)}`;
    await judge(scenario.name, () =>
      new Runner(control, namespace, scenario, (options) => connect(where.proxy, options)).run(),
    );
  }
  return outcomes;
}

/** Starts a chat, appends, assembles, streams and searches, and compares the ids with those that it computes. */
async function conversation(server: string): Promise<void> {
  const client = connect(server, { namespace: `web-${crypto.randomUUID()}`, verify: true });
  const chat = await client.start({ messageId: "1", chat: "a", messages: [user("Will it rain in Zürich?")] });
  await chat.append([assistant("Yes, from noon.")]);
  assert.deepEqual((await chat.messages()).map(text), ["Will it rain in Zürich?", "Yes, from noon."]);
  let streamed = 0;
  for await (const frame of client.frames(byAlias("chat/a"), { view: View.FULL })) {
    streamed += frame.messages.length;
  }
  assert.equal(streamed, 2);
  const hits = [];
  for await (const hit of client.search({ head: byAlias("chat/a"), text: "noon" })) {
    hits.push(hit);
  }
  assert.equal(hits.length, 1);
}

async function nobody(): Promise<void> {
  const client = connect("http://127.0.0.1:9", { deadlineMs: 5000, retry: { attempts: 2, firstMs: 1, maxMs: 2 } });
  try {
    await client.serverInfo();
  } catch (error) {
    assert.ok(error instanceof TranscriptError, String(error));
    assert.equal((error as TranscriptError).code, "UNAVAILABLE");
    return;
  }
  throw new Error("somebody answers");
}
