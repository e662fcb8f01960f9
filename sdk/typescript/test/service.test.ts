// What a client and its threads do beside what the scenarios try.

import assert from "node:assert/strict";
import { after, before, beforeEach, suite, test } from "node:test";

import {
  assistant,
  byAlias,
  byId,
  call,
  calls,
  Client,
  connect,
  declaredVariable,
  headIs,
  Inheritance,
  isReason,
  mayHaveHappened,
  mustNotExist,
  policies,
  result,
  SharedRoots,
  SortOrder,
  system,
  text,
  user,
  variableInfoKey,
  variableKey,
  View,
  type AliasInfo,
  type Collection,
  type Erasure,
  type Message,
  type Reason,
} from "../src/index.js";
import { Daemon } from "./daemon.js";
import { Fake } from "./fake.js";

const NOWHERE = "0".repeat(64);

let daemon: Daemon;
let client: Client;
let namespace = "";
let number = 0;
before(async () => {
  daemon = await Daemon.start();
});
beforeEach(() => {
  namespace = `service-${String(++number)}`;
  client = connect(daemon.target, { namespace, verify: true });
});
after(() => daemon.kill());

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) {
    list.push(item);
  }
  return list;
}

const names = async (aliases: AsyncIterable<Pick<AliasInfo, "name">>): Promise<string[]> =>
  (await all(aliases)).map((a) => a.name);
const texts = (messages: readonly Message[]): string[] => messages.map(text);

await suite("the rest of the service", { concurrency: false }, async () => {
  await test("an append has notes, metadata and aliases", async () => {
    const thread = await client.chat("1", system("s"));
    const salt = new Uint8Array(16).fill(7);
    const put = await thread.appendNode({
      messages: [user("hi")],
      notes: [{ model: "m", inputTokens: 5 }],
      metadata: { "\u{1f600}": "after", "\ufb01": "before", k: "v" },
      salt,
      aliases: [{ name: "also/1", if: mustNotExist(), labels: { a: "b" } }],
    });
    assert.deepEqual(
      put.aliases.map((a) => a.name),
      ["chat/1", "also/1"],
    );
    const node = await client.node(byAlias("also/1"));
    assert.deepEqual([node.info?.notes[0]?.model, node.info?.notes[0]?.inputTokens], ["m", 5]);
    assert.deepEqual(
      node.metadata?.entries.map((e) => e.key),
      ["k", "\ufb01", "\u{1f600}"],
    );
    assert.deepEqual(node.info?.envelope?.salt, salt);
    assert.deepEqual((await client.resolve("also/1")).alias.labels, { a: "b" });
    await assert.rejects(thread.appendNode({ parent: byId(put.nodeId), messages: [user("hi")] }), (error) =>
      isReason(error, "PARENT_GIVEN"),
    );
    await assert.rejects(thread.appendResults(user("no result")), (error) => isReason(error, "NOT_A_RESULT"));
  });

  await test("many writers of one thread", async () => {
    const thread = await client.chat("1", system("s"));
    const write = async (i: number): Promise<void> => {
      for (;;) {
        try {
          await thread.append(user(String(i)));
          return;
        } catch (error) {
          assert.ok(isReason(error, "ALIAS_MOVED"), String(error));
          await thread.refresh();
        }
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, i) => write(i)));
    assert.deepEqual(
      texts(await thread.messages())
        .slice(1)
        .sort(),
      ["0", "1", "2", "3", "4", "5", "6", "7"],
    );
  });

  await test("aliases, their history and their end", async () => {
    const ids = (await client.putAll([0, 1, 2].map((i) => ({ messages: [user(String(i))] })))).map((r) => r.nodeId);
    const [a = "", b = "", c = ""] = ids;
    await client.setAliases([
      ...[0, 1, 2, 3, 4].map((i) => ({ name: `chat/${String(i)}`, target: byId(a) })),
      { name: "chat/1/deep", target: byId(b) },
    ]);
    await client.setAliases([{ name: "chat/3", target: byId(c), if: headIs(a) }]);
    const every = ["chat/0", "chat/1", "chat/1/deep", "chat/2", "chat/3", "chat/4"];
    assert.deepEqual(await names(client.aliases()), every);
    assert.deepEqual(await names(client.aliases({ order: SortOrder.DESCENDING })), every.toReversed());
    assert.deepEqual(await names(client.aliases({ prefix: "chat/1" })), ["chat/1", "chat/1/deep"]);
    assert.deepEqual(await names(client.aliases({ folder: "chat/1" })), ["chat/1/deep"]);
    assert.equal((await names(client.aliases({ folder: "chat" })))[0], "chat/3");
    assert.equal(await client.deleteAlias("chat/3", headIs(c)), c);
    assert.equal(await client.deleteAlias("chat/3"), "");
    assert.deepEqual(
      (await all(client.history("chat/3"))).map((state) => state.nodeId),
      ["", c, a],
    );
    const prefix = "chat/1";
    assert.deepEqual(await names(client.deleteAliases({ prefix, dryRun: true })), ["chat/1", "chat/1/deep"]);
    assert.deepEqual(await names(client.deleteAliases({ all: true, movedBefore: new Date(0) })), []);
    assert.deepEqual(await names(client.deleteAliases({ prefix })), ["chat/1", "chat/1/deep"]);
    await assert.rejects(names(client.deleteAliases({})), (error) => isReason(error, "INVALID_FIELD"));
    assert.deepEqual(await names(client.deleteAliases({ all: true })), ["chat/0", "chat/2", "chat/4"]);
    assert.deepEqual(await names(client.aliases()), []);
  });

  await test("nodes and children", async () => {
    const [root, left, right] = await client.putAll([
      { messages: [system("s")] },
      { messages: [user("left")], previous: true },
      { messages: [user("right")], previous: true, aliases: [{ name: "a" }] },
    ]);
    assert.ok(root && left && right);
    const found = await client.node(byId(right.nodeId.slice(0, 10)));
    assert.equal(found.info?.envelope?.parentId, left.nodeId);
    assert.deepEqual(
      (await all(client.children(byId(root.nodeId)))).map((n) => n.nodeId),
      [left.nodeId],
    );
    const several = await client.nodes([left.nodeId, NOWHERE, root.nodeId]);
    assert.deepEqual(
      several.nodes.map((n) => texts(n.messages)),
      [["left"], ["s"]],
    );
    assert.deepEqual(several.missing, [NOWHERE]);
    assert.deepEqual((await client.nodeInfos([left.nodeId])).nodes[0]?.messages, []);
    const info = await client.nodeInfo(byAlias("a"));
    assert.deepEqual([info.messages, info.aliases], [[], ["a"]]);
  });

  await test("more than a call takes", async () => {
    const nodes = Array.from({ length: 1000 }, (_, i) => ({ messages: [user(String(i))] }));
    const ids = (await client.putAll(nodes)).map((r) => r.nodeId);
    ids.push((await client.put({ messages: [user("last")] })).nodeId);
    assert.deepEqual(
      (await client.nodeInfos(ids)).nodes.map((n) => n.info?.nodeId),
      ids,
    );
    const target = byId(ids[0] ?? "");
    await client.setAliases(nodes.map((_, i) => ({ name: `a/${String(i)}`, target })));
    await client.setAliases([{ name: "a/last", target }]);
    assert.equal((await all(client.aliases())).length, 1001);
  });

  await test("variables", async () => {
    const thread = await client.chat("1", system("s"));
    const value = declaredVariable({ type: "text", size: 200_000, preview: "é\n".repeat(5000), iteration: 3 });
    assert.ok(Buffer.byteLength(value) <= 4096 && Buffer.byteLength(value) > 4080);
    await thread.appendNode({
      messages: [user("hi")],
      metadata: { [variableKey("x")]: "[1,2]", [variableInfoKey("context")]: value },
    });
    const told = await client.variables(byAlias("chat/1"), ["x", "context", "none"]);
    assert.deepEqual(told.map((v) => v.name).sort(), ["context", "x"]);
    const x = told.find((v) => v.name === "x");
    const context = told.find((v) => v.name === "context");
    assert.deepEqual([x?.preview, x?.type], ["[1,2]", "array"]);
    assert.deepEqual([context?.sizeBytes, context?.iteration], [200_000n, 3n]);
    const described = await client.describe(byId(thread.head), { variableNames: { prefix: "con" } });
    assert.deepEqual(
      described.variables.map((v) => v.name),
      ["context"],
    );
  });

  await test("a summary is made where it pays", async () => {
    const thread = await client.chat("1", system("s"));
    const asked: number[] = [];
    const summarize = (messages: Message[]): Promise<string> => {
      asked.push(messages.length);
      return Promise.resolve("They counted.");
    };
    const compaction = { summaryOnly: true };
    assert.equal(await thread.compactWhen({ bytes: 10_000, summarize }), undefined);
    for (let i = 0; i < 30; i++) {
      await thread.append([user(`${String(i)} `.repeat(50)), assistant("on ".repeat(100))]);
    }
    assert.equal(await thread.compactWhen({ tokens: 1e9, summarize }), undefined);
    assert.deepEqual(asked, []);
    const done = await thread.compactWhen({ bytes: 10_000, summarize, compaction });
    assert.ok(done?.written);
    assert.deepEqual(asked, [61]);
    assert.equal(texts(await thread.messages())[1], "They counted.");
    assert.equal(await thread.compactWhen({ bytes: 10_000, summarize, compaction }), undefined);
    for (const summary of ["  ", "x".repeat(20_000)]) {
      for (let i = 0; i < 30; i++) {
        await thread.append([user("more ".repeat(30)), assistant("on ".repeat(100))]);
      }
      assert.equal(await thread.compactWhen({ bytes: 5000, summarize: () => summary }), undefined);
    }
    await thread.append(user("more ".repeat(2000)));
    const fails = (): string => {
      throw new RangeError("the model is away");
    };
    await assert.rejects(thread.compactWhen({ bytes: 5000, summarize: fails }), /the model is away/);
    const nothing = (): string => undefined as never;
    await assert.rejects(thread.compactWhen({ bytes: 5000, summarize: nothing }), /^TypeError: .*summarize/);
  });

  await test("compaction reports, and dry runs", async () => {
    const thread = await client.chat("1", system("s"));
    for (let i = 0; i < 20; i++) {
      await thread.append([user(String(i)), assistant("on ".repeat(100))]);
    }
    const { head } = thread;
    const dry = await client.compact(byAlias("chat/1"), { dryRun: true, policy: policies.frugal() });
    assert.ok(!dry.written);
    assert.ok((dry.report?.bytesBefore ?? 0n) > (dry.report?.bytesAfter ?? 0n));
    assert.equal((await client.resolve("chat/1")).alias.nodeId, head);
    await assert.rejects(client.compact(byAlias("chat/1"), { summary: "Of which messages?" }), (error) =>
      isReason(error, "INVALID_FIELD"),
    );
    const done = await thread.compact({ through: head, aliases: [{ name: "kept/1" }] });
    assert.ok(done.written);
    assert.equal((await client.resolve("kept/1")).alias.nodeId, thread.head);
    assert.equal(done.nodeId, thread.head);
  });

  await test("settings, namespaces and a check of the store", async () => {
    await client.put({ messages: [user("hi")] });
    assert.equal((await client.stats()).settings, undefined);
    assert.equal((await client.setNamespace({ maxNodes: 1n }, 0n)).revision, 1n);
    await assert.rejects(client.setNamespace({}, 0n), (error) => isReason(error, "SETTINGS_CHANGED"));
    await assert.rejects(client.put({ messages: [user("more")] }), (error) => {
      assert.ok(isReason(error, "QUOTA_EXCEEDED"));
      assert.deepEqual(
        error.quotas.map(({ setting, limit }) => [setting, limit]),
        [["max_nodes", 1n]],
      );
      return true;
    });
    await client.setNamespace({});
    assert.equal((await client.stats()).settingsRevision, 2n);
    assert.ok((await all(client.namespaces())).includes(namespace));
    const last = (await all(client.verify())).at(-1);
    assert.deepEqual([last?.done, last?.nodesChecked, last?.problemsFound], [true, 1n, 0n]);
    assert.ok((await all(client.verify({ wholeStore: true }))).at(-1)?.done);
  });

  await test("erasures, and their receipts", async () => {
    const erases = async (erasure: Erasure): Promise<string[]> => {
      const reports = await all(client.erase(erasure));
      assert.equal(reports.at(-1)?.done, true);
      return reports.flatMap(({ nodes }) => nodes.filter((n) => !n.alreadyErased).map((n) => n.nodeId));
    };
    const put = async (salt: string, more: Partial<Parameters<Client["put"]>[0]> = {}): Promise<string> =>
      (await client.put({ messages: [user("a secret")], salt: new TextEncoder().encode(salt), ...more })).nodeId;
    const one = await put("0123456789abcdef");
    const two = await put("0123456789abcdeg", { metadata: { subject: "alice" } });
    const three = await put("0123456789abcdeh", { aliases: [{ name: "me/1" }] });
    const { nodeId: shared } = await client.put({ messages: [user("a secret")] });
    const thread = await client.chat("held", [system("s")]);
    await thread.messages();
    assert.deepEqual(await erases({ nodes: [one], dryRun: true }), [one]);
    assert.ok(client.cache.get(thread.head));
    assert.deepEqual(await erases({ nodes: [one], reference: "T-1", waitForFiles: true }), [one]);
    assert.equal(client.cache.get(thread.head), undefined);
    assert.deepEqual(await erases({ nodes: [one] }), []);
    assert.deepEqual(await erases({ metadata: { key: "subject", value: "alice" } }), [two]);
    assert.deepEqual(await erases({ attribute: { key: "subject", value: "alice" } }), []);
    assert.deepEqual(await erases({ aliasPrefix: "me/" }), [three]);
    await assert.rejects(erases({ nodes: [shared] }), (error) => isReason(error, "SHARED_ROOT"));
    assert.deepEqual(await erases({ nodes: [shared], sharedRoots: SharedRoots.KEEP }), []);
    assert.deepEqual(await erases({ nodes: [shared], sharedRoots: SharedRoots.ERASE }), [shared]);
    await assert.rejects(erases({}), TypeError);
    const [receipt] = await client.receipts([one, two]);
    const { receiptPublicKey } = await client.serverInfo();
    assert.deepEqual(receipt?.receipt?.publicKey, receiptPublicKey);
    assert.ok(receipt.purgedAt);
    const { nodeId: lone } = await client.put({ messages: [user("lone")] });
    await assert.rejects(client.receipts([lone]), (error) => isReason(error, "NODE_NOT_FOUND"));
  });
  await test("collections, and histories that are forgotten", async () => {
    const collect = async (collection: Collection): Promise<bigint | undefined> => {
      const last = (await all(client.collectGarbage({ graceMs: 0, ...collection }))).at(-1);
      assert.equal(last?.done, true);
      return last.nodes;
    };
    const { head } = await client.chat("1", system("s"));
    const { nodeId: lone } = await client.put({ messages: [user("nobody refers to it")] });
    assert.equal(await collect({ graceMs: undefined }), 0n);
    assert.equal(await collect({ dryRun: true }), 1n);
    await client.node(byId(lone));
    await using other = connect(daemon.target, { namespace: `${namespace}-other` });
    await other.put({ messages: [user("theirs")] });
    assert.equal(await collect({ maxNodesPerSecond: 1000n }), 1n);
    await assert.rejects(client.node(byId(lone)), (error) => isReason(error, "NODE_NOT_FOUND"));
    assert.equal((await other.stats()).nodes, 1n);

    assert.equal(await client.deleteAlias("chat/1"), head);
    assert.equal(await collect({}), 0n);
    assert.equal(await client.deleteAlias("chat/1", undefined, { forgetHistory: true }), "");
    await assert.rejects(all(client.history("chat/1")), (error) => isReason(error, "ALIAS_NOT_FOUND"));
    assert.equal(await collect({}), 1n);
    await client.put({ messages: [user("hi")], aliases: [{ name: "chat/2" }] });
    assert.deepEqual(await names(client.deleteAliases({ prefix: "chat/", forgetHistory: true })), ["chat/2"]);
    const dry = (await all(client.collectGarbage({ wholeStore: true, dryRun: true }))).at(-1);
    assert.ok(dry !== undefined && dry.namespacesCollected > 1n);
    const years = 3650 * 24 * 3600 * 1000;
    assert.equal(await collect({ wholeStore: true, graceMs: years, reclaimSpace: true }), 0n);
    await assert.rejects(collect({ reclaimSpace: true }), (error) => isReason(error, "INVALID_FIELD"));
    assert.equal(await collect({}), 1n);
    await assert.rejects(collect({ graceMs: -1 }), RangeError);
    await assert.rejects(collect({ graceMs: 1.5 }), RangeError);
  });

  await test("a view from its end, and facts of nodes", async () => {
    const thread = await client.chat("1", system("s"));
    for (let i = 0; i < 5; i++) {
      await thread.appendNode({ messages: [user(String(i))], metadata: { turn: String(i) } });
    }
    const pages = await all(client.back(byAlias("chat/1"), { lastMessages: 2 }));
    assert.deepEqual(
      pages.map((page) => texts(page.messages)),
      [
        ["3", "4"],
        ["1", "2"],
        ["s", "0"],
      ],
    );
    const facts = { metadataKeys: ["turn"] };
    const whole = await client.assemble(byAlias("chat/1"), { facts });
    assert.deepEqual(
      whole.nodes.slice(1).map((n) => n.metadata[0]?.value),
      ["0", "1", "2", "3", "4"],
    );
    const held = await client.assemble(byAlias("chat/1"), { facts, ifNoneMatch: whole.etag });
    assert.ok(held.notModified && held.messages.length === 0);
    const more = await client.assemble(byAlias("chat/1"), { after: pages[1]?.begin?.nodeId });
    assert.deepEqual(texts(more.messages), ["2", "3", "4"]);
  });

  await test("a deterministic client has no salts", async () => {
    const plain = connect(daemon.target, { namespace, deterministic: true });
    const thread = await plain.chat("1", system("s"));
    const root = thread.head;
    await thread.append(user("hi"));
    const again = await plain.put({ parent: byId(root), messages: [user("hi")] });
    assert.deepEqual([again.nodeId, again.created], [thread.head, false]);
    plain.close();
  });

  await test("a subagent from a prefix", async () => {
    const thread = await client.start({ messageId: "m1", messages: user("Find out.") });
    await thread.append(assistant("", [call("c1", "research", "{}")]));
    const spawn = {
      callId: "c1",
      alias: "agent/1",
      messages: user("Look."),
      inherit: "prefix",
      metadata: { [variableKey("x")]: "1" },
    } as const;
    const child = await thread.spawn(spawn);
    assert.ok(child.isNew);
    assert.equal((await thread.spawn(spawn)).isNew, false);
    const { messages } = await client.assemble(byId(child.head), { view: View.FULL });
    assert.deepEqual(texts(messages), ["Find out.", "", "Look."]);
    const { lineage } = await client.describe(byId(child.head));
    assert.equal(lineage?.spawnedFrom?.toolCallId, "c1");
    assert.equal(lineage.inheritance, Inheritance.PREFIX);
    const wrong = { ...spawn, alias: "agent/2", inherit: "all" as never };
    await assert.rejects(thread.spawn(wrong), (error) => isReason(error, "INVALID_FIELD"));
    await assert.rejects(thread.spawn({ ...spawn, callId: "c9" }), (error) => isReason(error, "TOOL_CALL_NOT_FOUND"));
  });

  await test("what an error of a name says", async () => {
    const thread = await client.start({ messageId: "m1", messages: user("Hello?") });
    await thread.reply("o1", assistant("Hello."));
    const other = await client.chat("1", system("s"));
    const told: [() => Promise<unknown>, Reason, string][] = [
      [
        () => client.start({ messageId: "m1", messages: user("Hello?") }),
        "ALIAS_EXISTS",
        "messageId is taken: resume gives",
      ],
      [
        () => client.start({ messageId: "m1", messages: user("Another.") }),
        "ALIAS_EXISTS",
        "messageId is taken: resume gives",
      ],
      [() => other.reply("o1", assistant("Yes.")), "ALIAS_EXISTS", "replyId is taken"],
      [() => other.sent("o1"), "ALIAS_EXISTS", "replyId is taken"],
      [() => other.fork("msg/m1"), "ALIAS_EXISTS", "alias is taken: open gives"],
      [() => client.resume("m2"), "ALIAS_NOT_FOUND", "messageId is of no message that was started: start"],
      [() => client.open("chat/2"), "ALIAS_NOT_FOUND", "alias"],
      [() => client.chat("2"), "ALIAS_NOT_FOUND", "name is of no chat that was begun: give system"],
    ];
    for (const [call, reason, advice] of told) {
      await assert.rejects(call, (error) => {
        assert.ok(isReason(error, reason));
        assert.match(error.message, new RegExp(`^${reason}: .*: ${advice}`));
        assert.equal(mayHaveHappened(error), false);
        assert.equal(error.conflicts.length, reason === "ALIAS_EXISTS" ? 1 : 0);
        return true;
      });
    }
    for (const of of [text, calls, (m: Message) => thread.replyText(m)]) {
      assert.throws(() => of("Hello." as unknown as Message), /^TypeError: message must be a Message/);
    }
  });

  await test("a guard ends what nobody works on", async () => {
    const dead = await client.start({ messageId: "m1", messages: user("Count."), chat: "1" });
    await dead.append(assistant("", [call("c1", "count", "{}")]));
    await (await client.start({ messageId: "m2", messages: user("Hi.") })).reply("o2", assistant("Hello."));
    await (await client.chat("3", system("s"))).append(assistant("Anybody?"));
    const runs = await all(client.aliasRuns());
    assert.deepEqual(runs.map((run) => run.name).sort(), ["chat/1", "chat/3", "msg/m1", "msg/m2", "msg/o2"]);
    assert.ok(runs.every((run) => run.idleMs >= 0 && run.idleMs < 60_000));
    assert.deepEqual(await names(client.aliasRuns({ openOnly: true })), ["chat/1", "chat/3", "msg/m1"]);
    assert.deepEqual(await names(client.staleRuns({}, 3_600_000)), []);
    const [stale, ...others] = await all(client.staleRuns({ prefix: "msg/" }, -1));
    assert.ok(stale?.name === "msg/m1" && others.length === 0);
    const ended = await client.endRun(stale, "cancelled");
    assert.deepEqual([[...ended.aliases].sort(), ended.moreAliases], [["chat/1", "msg/m1"], false]);
    assert.equal((await client.resolve("chat/1")).alias.nodeId, ended.nodeId);
    assert.equal((await client.endRun(stale, "cancelled")).nodeId, ended.nodeId);
    const late = result(call("c1", "count", "{}"), "1");
    await assert.rejects(dead.appendResults(late), (error) => isReason(error, "ALIAS_MOVED"));
    await dead.refresh();
    await dead.append(user("More."));
    await assert.rejects(client.endRun(stale, "failed"), (error) => isReason(error, "ALIAS_MOVED"));
  });

  await test("a label that names no node is in no append's way", async () => {
    const thread = await client.start({ messageId: "m1", messages: user("Hi.") });
    await client.setAliases([{ name: "msg/m1", target: byId(thread.head), labels: { "sent/x": "junk", mine: "1" } }]);
    const again = await client.resume("m1");
    await again.append(assistant("Hello."));
    assert.equal((await client.resolve("msg/m1")).alias.labels.mine, "1");
  });
});

await test("who wants no more of a stream ends it", async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const fake = new Fake({
    StreamAssemble: async function* (_, { signal }) {
      signals.push(signal);
      for (;;) {
        yield await Promise.resolve({ headId: NOWHERE });
      }
    },
  });
  for await (const frame of new Client(fake).frames(byAlias("a"))) {
    assert.equal(frame.headId, NOWHERE);
    break;
  }
  assert.deepEqual(
    signals.map((signal) => signal?.aborted),
    [true],
  );
});
