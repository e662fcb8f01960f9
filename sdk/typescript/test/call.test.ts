// How calls are made, before a service that the test plays.

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { byAlias, Client, isReason, mayHaveHappened, type Assembly } from "../src/core.js";
import { Fake, type Answer } from "./fake.js";

const HEAD = "ab".repeat(32);

/** Answers once the call is aborted, with the signal's reason. */
const waits: Answer = (_, { signal }) =>
  new Promise((_resolve, reject) => {
    signal?.addEventListener("abort", () => {
      reject(new Error("aborted"));
    });
  });

await suite("calls", async () => {
  await test("many at once are no reason for a warning, and all end when the client is closed", async () => {
    const warnings: string[] = [];
    const note = (warning: Error): void => {
      warnings.push(warning.name);
    };
    process.on("warning", note);
    const client = new Client(new Fake({ ResolveAlias: waits }));
    const calls = Array.from({ length: 50 }, () => client.resolve("a"));
    const ends = calls.map((call) =>
      assert.rejects(call, (error) => isReason(error, "CLOSED") && mayHaveHappened(error)),
    );
    await sleep(10);
    client.close();
    await Promise.all(ends);
    await assert.rejects(client.resolve("a"), (error) => isReason(error, "CLOSED") && !mayHaveHappened(error));
    process.off("warning", note);
    assert.deepEqual(warnings, []);
  });

  await test("a stream without frames ends after the idle time, which the consumer's own does not count to", async () => {
    let ended = false;
    const fake = new Fake({
      StreamAssemble: async function* (_, { signal }) {
        for (let i = 0; i < 3; i++) {
          yield await Promise.resolve({ headId: HEAD });
        }
        await new Promise<void>((resolve) => {
          signal?.addEventListener("abort", () => {
            ended = true;
            resolve();
          });
        });
        throw new Error("aborted");
      },
    });
    const client = new Client(fake, { idleMs: 40 });
    const frames: Assembly[] = [];
    const read = async (): Promise<void> => {
      for await (const frame of client.frames(byAlias("a"))) {
        frames.push(frame);
        await sleep(60);
      }
    };
    await assert.rejects(
      read(),
      (error) => isReason(error, "DEADLINE_EXCEEDED") && error.message.includes("no frame for 40 ms"),
    );
    assert.equal(frames.length, 3);
    assert.ok(ended);
  });

  await test("an idle time that no timer holds is no short one", async () => {
    const fake = new Fake({
      StreamAssemble: async function* () {
        await sleep(30);
        yield { headId: HEAD, report: {} };
      },
    });
    assert.equal((await new Client(fake, { idleMs: 1e12 }).assemble(byAlias("a"))).headId, HEAD);
  });

  await test("a signal is let go of", async () => {
    const controller = new AbortController();
    let listeners = 0;
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    Object.assign(signal, {
      addEventListener: (...given: Parameters<typeof add>) => {
        listeners++;
        add(...given);
      },
      removeEventListener: (...given: Parameters<typeof remove>) => {
        listeners--;
        remove(...given);
      },
    });
    const fake = new Fake({
      ResolveAlias: () => ({ alias: { nodeId: HEAD } }),
      StreamAssemble: () => [{ headId: HEAD, report: {} }],
    });
    const client = new Client(fake);
    await client.resolve("a", { signal });
    await client.assemble(byAlias("a"), {}, { signal });
    await client.frames(byAlias("a"), {}, { signal }).next();
    for await (const frame of client.frames(byAlias("a"), {}, { signal })) {
      assert.equal(frame.headId, HEAD);
      break;
    }
    assert.equal(listeners, 1, "that of the stream which is still read");
    controller.abort();
  });
});
