// Arguments that cannot be: what is wrong is told at once, and nothing is sent.

import assert from "node:assert/strict";
import { suite, test } from "node:test";

import {
  byId,
  Client,
  connect,
  isReason,
  mayHaveHappened,
  TranscriptError,
  user,
  type ClientOptions,
  type ConnectOptions,
} from "../src/index.js";
import { Daemon } from "./daemon.js";
import { broken, Fake } from "./fake.js";

const HEAD = "ab".repeat(32);

/** A value of a type that TypeScript would not let through. */
const any = (value: unknown): never => value as never;

await suite("arguments that cannot be", async () => {
  await test("values that a field cannot hold are a TypeError at once", async () => {
    await using daemon = await Daemon.start();
    const client = connect(daemon.target);
    const calls = [
      () => client.put({ messages: [user("hi")], notes: [{ tokenCount: any("many") }] }),
      () => client.assemble(byId(HEAD), { policy: { maxRunLoops: any("x") } }),
      () => client.assemble(byId(HEAD), { view: any("FULL") }),
      () => client.describe(byId(HEAD), { maxItems: any({}) }),
    ];
    for (const call of calls) {
      await assert.rejects(call, (error) => {
        assert.ok(error instanceof TypeError, String(error));
        assert.match(error.message, /a value that its field cannot hold.*(token_count|max_run_loops|view|max_items)/);
        return !mayHaveHappened(error);
      });
    }
    client.close();
  });

  await test("options of a call", async () => {
    const fake = new Fake({});
    const client = new Client(fake);
    for (const options of [{ signal: any({}) }, { deadlineMs: any("5") }, { deadlineMs: 0 }]) {
      await assert.rejects(client.resolve("a", options), /^(Type|Range)Error: (signal|deadlineMs) must be/);
    }
    assert.deepEqual(fake.calls, []);
  });

  await test("names and texts that UTF-8 cannot hold", async () => {
    const fake = new Fake({});
    const client = new Client(fake);
    const half = "a\ud800";
    const calls = [
      () => client.put({ messages: [user("hi")], metadata: { key: half } }),
      () => client.put({ messages: [user("hi")], metadata: { [half]: "value" } }),
      () => client.put({ messages: [user("hi")], aliases: [{ name: half }] }),
      () => client.put({ messages: [user("hi")], aliases: [{ name: "a", labels: { key: half } }] }),
      () => client.put({ messages: [user("hi")], aliases: [{ name: "a", labels: { [half]: "value" } }] }),
      () => client.compact(byId(HEAD), { through: HEAD, summary: half }),
      () => client.chat(half, user("hi")),
      () => client.open(half),
      () => client.resolve(half),
    ];
    for (const call of calls) {
      await assert.rejects(call, /^RangeError: .* must be well-formed Unicode, without half a surrogate pair$/);
    }
    assert.deepEqual(fake.calls, []);
  });

  await test("when to compact", async () => {
    const counters = { full: { depth: 1 }, effective: { bytes: 10n, tokens: 4n } };
    const fake = new Fake({ ResolveAlias: () => ({ alias: { name: "a", nodeId: HEAD }, counters }) });
    const thread = await new Client(fake).open("a");
    for (const bound of [any("10"), any(10n), NaN, -1]) {
      await assert.rejects(thread.compactWhen({ bytes: bound }), /^RangeError: bytes must be a number, 0 or more$/);
      await assert.rejects(thread.compactWhen({ tokens: bound }), /^RangeError: tokens must be a number, 0 or more$/);
    }
    await assert.rejects(thread.compactWhen({}), /^TypeError: compactWhen needs bytes or tokens/);
    for (const trigger of [{ bytes: 0 }, { bytes: 10.5, tokens: Infinity }, { bytes: Infinity, tokens: 4.5 }]) {
      assert.equal(await thread.compactWhen(trigger), undefined);
    }
    assert.deepEqual(fake.calls, ["ResolveAlias"]);
    await assert.rejects(thread.compactWhen({ bytes: 9.5 }), (error) => error instanceof TranscriptError);
    assert.deepEqual(fake.calls.slice(0, 2), ["ResolveAlias", "Compact"]);
  });

  await test("what begins a thread is an object", async () => {
    const fake = new Fake({});
    await assert.rejects(
      new Client(fake).start(any(undefined)),
      /^TypeError: turn must be an object with messageId and messages$/,
    );
    assert.deepEqual(fake.calls, []);
  });

  const options: [string, ClientOptions][] = [
    ["namespace", { namespace: any(5) }],
    ["deadlineMs", { deadlineMs: 0 }],
    ["deadlineMs", { deadlineMs: any("5s") }],
    ["idleMs", { idleMs: -1 }],
    ["verify", { verify: any("yes") }],
    ["deterministic", { deterministic: any(1) }],
    ["cacheBytes", { cacheBytes: -1 }],
    ["retry", { retry: any(3) }],
    ["retry.attempts", { retry: { attempts: 0 } }],
    ["retry.attempts", { retry: { attempts: 1.5 } }],
    ["retry.firstMs", { retry: { firstMs: any("1") } }],
    ["retry.maxMs", { retry: { maxMs: 0 } }],
  ];
  for (const [name, given] of options) {
    await test(`the option ${JSON.stringify(given)}`, () => {
      assert.throws(
        () => new Client(new Fake({}), given),
        (error) => {
          assert.ok(error instanceof TypeError || error instanceof RangeError);
          return error.message.startsWith(`${name} must be`);
        },
      );
    });
  }

  await test("tokens that are none are refused before anything is sent, and not told", async () => {
    for (const token of ["", "two words", "naïve", any(5)]) {
      assert.throws(
        () => connect("127.0.0.1:1", { token }),
        (error) => isReason(error, "BAD_TARGET") && !error.message.includes("two words"),
      );
    }
    const tokens: ConnectOptions["token"][] = [
      () => "two words",
      () => any(5),
      () => Promise.resolve(""),
      () => {
        throw new Error("the vault says: two words");
      },
      () => Promise.reject(new Error("the vault says: two words")),
    ];
    for (const token of tokens) {
      const client = connect("127.0.0.1:1", { token });
      for (const call of [client.resolve("a"), client.frames(byId(HEAD)).next()]) {
        await assert.rejects(call, (error) => {
          assert.ok(isReason(error, "UNAUTHENTICATED"), String(error));
          assert.match(error.message, /the call was not sent/);
          return !mayHaveHappened(error) && !error.message.includes("two words");
        });
      }
      client.close();
    }
  });

  await test("a call that is aborted before it is sent has not happened", async () => {
    const fake = new Fake({ PutNode: () => ({ nodeId: HEAD, counters: {} }) });
    const reason = new Error("the user left");
    const put = new Client(fake).put({ messages: [user("hi")] }, { signal: AbortSignal.abort(reason) });
    await assert.rejects(put, (error) => error === reason && !mayHaveHappened(error));
    assert.deepEqual(fake.calls, []);
  });

  await test("one that is aborted for a text may have", async () => {
    const controller = new AbortController();
    const fake = new Fake({
      PutNode: () => {
        controller.abort("the user left");
        throw broken();
      },
    });
    const put = new Client(fake).put({ messages: [user("hi")] }, { signal: controller.signal });
    await assert.rejects(put, (error) => error === "the user left" && mayHaveHappened(error));
    assert.equal(fake.calls.length, 1);
    assert.ok(!mayHaveHappened(undefined) && !mayHaveHappened(new Error("of somebody else")));
  });

  await test("one that is aborted in a pause behind an attempt that may have taken place may have", async () => {
    const controller = new AbortController();
    const fake = new Fake({
      PutNode: () => {
        setTimeout(() => {
          controller.abort(new Error("the user left"));
        }, 5);
        throw broken();
      },
    });
    const client = new Client(fake, { retry: { firstMs: 10_000, maxMs: 10_000 } });
    const put = client.put({ messages: [user("hi")] }, { signal: controller.signal });
    await assert.rejects(put, (error) => error === controller.signal.reason && mayHaveHappened(error));
    assert.equal(fake.calls.length, 1);
  });
});
