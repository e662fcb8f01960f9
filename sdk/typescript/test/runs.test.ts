// Where a run stands: the fold of the SDK against what the service tells of random chains.

import { create } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import {
  assistant,
  byId,
  call,
  connect,
  MessageSchema,
  MessageState,
  opaque,
  OUTCOME_KEY,
  result,
  Role,
  RunLoopState,
  system,
  ToolCallSchema,
  user,
  type Message,
} from "../src/index.js";
import { textPart } from "../src/messages.js";
import { isOpen, NO_RUN, stepBy } from "../src/runs.js";
import { Daemon } from "./daemon.js";

/** Draws, the same in each run. */
class Draw {
  constructor(private state: number) {}

  below(n: number): number {
    this.state = (this.state * 48271) % 2147483647;
    return this.state % n;
  }

  of<T>(...items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0];
  }
}

/** A message of any kind that the fold tells apart. */
function drawn(draw: Draw): Message {
  const calls = Array.from({ length: draw.of(0, 0, 1, 2) }, () => call(draw.of("a", "b", "c"), "tool", "{}"));
  switch (draw.below(10)) {
    case 0:
      return system("s");
    case 1:
      return user("u");
    case 2:
    case 3:
      return assistant(draw.of("", "text"), calls);
    case 4:
    case 5:
      return result(call(draw.of("a", "b", "c"), "tool", "{}"), "result");
    case 6:
      return opaque("kind", Uint8Array.of(1));
    case 7:
      return assistant(" \u00a0\n");
    case 8:
      return create(MessageSchema, { role: Role.ASSISTANT, parts: [textPart("te")], state: MessageState.PARTIAL });
    default: {
      const nameless = create(ToolCallSchema, { name: "tool" });
      return draw.below(2) === 0 ? result(nameless, "result") : assistant("", [nameless]);
    }
  }
}

await suite("the fold of runs", async () => {
  let daemon: Daemon;
  before(async () => {
    daemon = await Daemon.start();
  });
  after(() => daemon.kill());

  for (let seed = 1; seed <= 20; seed++) {
    await test(`is that of the service, seed ${String(seed)}`, async () => {
      await using client = connect(daemon.target, { namespace: `runs-${String(seed)}` });
      const draw = new Draw(seed * 7919);
      let run = NO_RUN;
      let parent = "";
      for (let i = 0; i < 12; i++) {
        const messages = Array.from({ length: draw.of(1, 1, 2, 3) }, () => drawn(draw));
        const outcome = draw.below(7) === 0 ? draw.of("replied", "stopped", "failed", "cancelled") : undefined;
        const put = await client.put({
          messages,
          ...(parent !== "" && { parent: byId(parent) }),
          ...(outcome !== undefined && { metadata: { [OUTCOME_KEY]: outcome } }),
        });
        parent = put.nodeId;
        run = stepBy(run, messages, outcome).run;
        const { loop } = await client.describe(byId(parent));
        const state = loop?.state ?? RunLoopState.UNSPECIFIED;
        assert.equal(isOpen(run), state === RunLoopState.OPEN, `${JSON.stringify(run)} ${RunLoopState[state]}`);
        assert.equal(run.phase === "none", state === RunLoopState.UNSPECIFIED);
        assert.equal(loop?.leadIn ?? false, run.phase !== "none" && run.leadIn);
        assert.deepEqual(loop?.pending.map((p) => p.id) ?? [], [...run.group]);
      }
    });
  }
});
