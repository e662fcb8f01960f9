// What a client keeps of views: within its bounds, and only what is new is asked for.

import { isMessage } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { suite, test } from "node:test";

import {
  assistant,
  byId,
  Client,
  StreamAssembleRequestSchema,
  system,
  text,
  user,
  type Message,
  type Thread,
} from "../src/core.js";
import { HeldView, ViewCache } from "../src/cache.js";
import { Between } from "./between.js";
import { Daemon } from "./daemon.js";

/** Numbers that look drawn, the same in each run. */
function draws(seed: number): (below: number) => number {
  let state = seed + 1;
  return (below) => {
    state = (state * 48271) % 2147483647;
    return state % below;
  };
}

const texts = async (thread: Thread): Promise<string[]> => (await thread.messages()).map(text);

await suite("the cache", async () => {
  await test("a view is that of its bases and its own", () => {
    const cache = new ViewCache(1 << 20);
    const base = HeldView.of("a", undefined, [user("1")]);
    cache.put(base);
    cache.put(HeldView.of("b", base, [user("2")]));
    assert.deepEqual(cache.get("b")?.messages().map(text), ["1", "2"]);
    cache.name("chat/1", "b");
    assert.equal(cache.headOf("chat/1"), "b");
    cache.name("chat/1", "a");
    assert.equal(cache.headOf("chat/1"), "a");
    assert.equal(cache.headOf("chat/2"), "");
  });

  for (const most of [0, 2000, 20_000, 1 << 20]) {
    await test(`what is kept is within ${String(most)} bytes`, () => {
      const draw = draws(most);
      const cache = new ViewCache(most);
      const heads: string[] = [];
      const expected = new Map<string, string[]>();
      let kept = 0;
      for (let i = 0; i < 500; i++) {
        const base = draw(4) === 0 ? undefined : cache.get(heads.at(-1 - draw(5)) ?? "");
        const own = String(i) + "x".repeat(draw(2000));
        const head = String(i);
        const put = cache.put(HeldView.of(head, base, [user(own)]));
        expected.set(head, [...(base === undefined ? [] : (expected.get(base.head) ?? [])), own]);
        heads.push(head);
        cache.name(`chat/${String(draw(20))}`, head);
        kept += put ? 1 : 0;
        assert.ok(cache.used <= most, `${String(cache.used)} of ${String(most)}`);
        assert.equal(cache.get(head) !== undefined, put);
      }
      for (const [head, own] of expected) {
        const view = cache.get(head);
        assert.ok(view === undefined || view.messages().map(text).join() === own.join(), head);
      }
      assert.equal(kept > 0, most > 0);
    });
  }

  for (const cacheBytes of [0, 64 << 20]) {
    await test(`only what is new is asked for, with a cache of ${String(cacheBytes)} bytes`, async () => {
      await using daemon = await Daemon.start();
      const between = new Between(daemon.target);
      const asked: string[] = [];
      between.requests = (_, request) => {
        if (isMessage(request, StreamAssembleRequestSchema)) {
          asked.push(request.afterId);
        }
        return request;
      };
      const client = new Client(between, { cacheBytes });
      const thread = await client.start({ messageId: "m1", messages: user("1"), system: system("s") });
      const first = thread.head;
      await thread.messages();
      await thread.reply("o1", assistant("2"));
      const one = await client.start({ messageId: "m2", messages: user("3"), replyTo: "o1" });
      const two = await client.start({ messageId: "m3", messages: user("4"), replyTo: "o1" });
      assert.deepEqual(await texts(one), ["s", "1", "2", "3"]);
      assert.deepEqual(await texts(two), ["s", "1", "2", "4"]);
      await one.messages();
      assert.deepEqual(asked, cacheBytes > 0 ? ["", first, first] : ["", "", "", ""]);
      const given: Message[] = await one.messages();
      given.splice(0);
      assert.equal((await texts(one))[0], "s", "the caller owns what it was given");
      await one.append([assistant("on ".repeat(100)), user("5")]);
      await one.messages();
      assert.ok((await one.compact({ summary: "They counted.", summaryOnly: true })).written);
      assert.deepEqual((await texts(one)).slice(0, 2), ["s", "They counted."]);
      assert.deepEqual((await client.assemble(byId(one.head))).messages, await one.messages());
    });
  }
});
