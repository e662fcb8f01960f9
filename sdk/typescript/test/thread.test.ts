import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import {
  assistant,
  byAlias,
  byId,
  call,
  connect,
  headIs,
  isReason,
  mustNotExist,
  policies,
  result,
  system,
  text,
  TranscriptError,
  user,
  View,
  type Client,
} from "../src/index.js";
import { Daemon } from "./daemon.js";

let daemon: Daemon;
let client: Client;
before(async () => {
  daemon = await Daemon.start();
  client = connect(daemon.target, { verify: true });
});
after(async () => {
  client.close();
  await daemon.kill();
});

const texts = async (messages: Promise<Parameters<typeof text>[0][]>): Promise<string[]> => (await messages).map(text);

await suite("threads", async () => {
  await test("a turn, with a tool", async () => {
    const thread = await client.start({ messageId: "t1", system: system("Be brief."), messages: user("2+2?") });
    assert.ok(thread.isNew);
    const add = call("c1", "add", "{}");
    await thread.append(assistant("", [add]));
    assert.deepEqual(
      (await thread.openCalls()).map((c) => c.id),
      ["c1"],
    );
    await thread.appendResults(result(add, "4"));
    await thread.reply("o1", assistant("4"));
    assert.equal(thread.replyText(assistant("4")), "[depth:3] 4");
    assert.deepEqual(await texts(thread.messages()), ["Be brief.", "2+2?", "", "4", "4"]);
    assert.deepEqual(await texts(thread.messages(policies.chat())), ["Be brief.", "2+2?", "", "4", "4"]);
    const again = await client.resume("t1");
    assert.equal(again.head, thread.head);
  });

  await test("two replies are two branches", async () => {
    const a = await client.start({ messageId: "t2", replyTo: "o1", messages: user("And 3+3?") });
    const b = await client.start({ messageId: "t3", replyTo: "o1", messages: user("And 5+5?") });
    assert.notEqual(a.head, b.head);
    const whole = await client.assemble(byId(b.head), { view: View.FULL });
    assert.deepEqual(whole.messages.map(text), ["Be brief.", "2+2?", "", "4", "4", "And 5+5?"]);
  });

  await test("of two writers one loses", async () => {
    const first = await client.chat("42", system("Be kind."));
    const second = await client.chat("42");
    await first.append(user("I was first."));
    await assert.rejects(second.append(user("No, I was.")), (error) => {
      assert.ok(isReason(error, "ALIAS_MOVED"));
      assert.equal(error.head, first.head);
      return true;
    });
    await second.refresh();
    await second.append(user("Sorry, you were."));
    assert.deepEqual(await texts(second.messages()), ["Be kind.", "I was first.", "Sorry, you were."]);
    const fork = await first.fork("branch/42");
    await fork.append(user("On a branch."));
    assert.deepEqual(await texts(fork.messages()), ["Be kind.", "I was first.", "On a branch."]);
  });

  await test("put and aliases", async () => {
    const root = await client.put({ messages: [user("hi")], aliases: [{ name: "a/1", if: mustNotExist() }] });
    const { alias } = await client.resolve("a/1");
    assert.equal(alias.nodeId, root.nodeId);
    await client.setAliases([{ name: "a/2", target: byAlias("a/1") }]);
    const names: string[] = [];
    for await (const a of client.aliases({ prefix: "a/" })) {
      names.push(a.name);
    }
    assert.deepEqual(names, ["a/1", "a/2"]);
    assert.equal(await client.deleteAlias("a/2", headIs(root.nodeId)), root.nodeId);
    await assert.rejects(
      client.resolve("a/2"),
      (error) => isReason(error, "ALIAS_NOT_FOUND") && error.deleted !== undefined,
    );
    await assert.rejects(client.node(byAlias("none")), (error) => {
      assert.ok(error instanceof TranscriptError);
      assert.deepEqual([error.reason, error.code], ["ALIAS_NOT_FOUND", "NOT_FOUND"]);
      return error.requestId !== "";
    });
  });
});
