// What threads keep of the views that they assembled.

import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { HeldView, ViewCache } from "../src/cache.js";
import { text, user } from "../src/messages.js";

/** What a view costs beside its payload, which is a message's text and 10 bytes or so around it. */
const OVERHEAD = 512;

const view = (head: string, size: number, base?: HeldView, erasures = 0n): HeldView =>
  HeldView.of(head, base, [user("x".repeat(size))], erasures);

/** What is inside of a cache. */
interface Inside {
  readonly used: number;
  readonly views: ReadonlyMap<string, HeldView>;
  readonly named: ReadonlyMap<string, HeldView>;
}

/** Checks that the cache is within its bound, that its sums are right, and that a view that is kept has all its bases kept. */
function check(cache: ViewCache, bound: number): void {
  const { used, views, named } = cache as unknown as Inside;
  let names = 0;
  let sum = 0;
  for (const kept of views.values()) {
    sum += kept.cost;
    names += kept.names.size;
    for (const name of kept.names) {
      assert.equal(named.get(name), kept);
    }
    for (let { base } = kept; base !== undefined; { base } = base) {
      assert.equal(views.get(base.head), base, `a base of ${kept.head} is not kept`);
    }
  }
  assert.deepEqual([sum, names], [used, named.size]);
  assert.ok(used <= bound, `${String(used)} bytes of ${String(bound)}`);
}

await suite("the cache of views", async () => {
  await test("views share their bases", () => {
    const cache = new ViewCache(1 << 20);
    const a = view("a", 1000);
    const views = [a, view("b", 10, a), view("d", 20, a)];
    for (const one of views) {
      assert.ok(cache.put(one));
    }
    for (const one of views) {
      assert.equal(cache.get(one.head), one);
    }
    assert.equal(cache.get("e"), undefined);
    assert.deepEqual(
      cache
        .get("b")
        ?.messages()
        .map((m) => text(m).length),
      [1000, 10],
    );
    const { used } = cache as unknown as Inside;
    assert.ok(used > 1030 + 3 * OVERHEAD && used < 1100 + 3 * OVERHEAD, String(used));
  });

  await test("what was used least recently goes", () => {
    const cache = new ViewCache(3 * (OVERHEAD + 120));
    for (const head of ["a", "b", "c"]) {
      cache.put(view(head, 100));
    }
    cache.get("a");
    cache.put(view("b", 100));
    cache.put(view("d", 100));
    assert.deepEqual(
      ["a", "b", "c", "d"].map((head) => cache.get(head)?.head),
      ["a", "b", undefined, "d"],
    );
  });

  await test("what is too large takes nothing's place", () => {
    for (const bound of [0, 1000]) {
      assert.ok(!new ViewCache(bound).put(view("a", 1001)));
    }
    const cache = new ViewCache(4000);
    const a = view("a", 1000);
    assert.ok(cache.put(a) && cache.put(view("b", 1000)));
    cache.name("m", "a");
    for (const large of [view("c", 3500), view("d", 2000, a)]) {
      assert.ok(!cache.put(large));
      assert.equal(cache.get(large.head), undefined);
      cache.name("n", large.head);
    }
    assert.ok(cache.get("a") && cache.get("b"));
    assert.deepEqual([cache.headOf("m"), cache.headOf("n")], ["a", ""]);
    const full = new ViewCache(view("a", 1000).cost);
    full.put(view("a", 1000));
    full.name("m", "a");
    assert.ok(full.get("a"));
    assert.equal(full.headOf("m"), "");
    check(cache, 4000);
  });

  await test("a view whose base went stands alone", () => {
    const cache = new ViewCache(3000);
    const base = view("a", 1);
    cache.put(base);
    cache.put(view("x", 2400));
    assert.equal(cache.get("a"), undefined);
    cache.put(view("b", 2, base));
    const kept = cache.get("b");
    assert.equal(kept?.base, undefined);
    assert.deepEqual(kept?.messages().map(text), ["x", "xx"]);
  });

  await test("a view of other erasures drops those before", () => {
    const cache = new ViewCache(1 << 20);
    const a = view("a", 1, undefined, 1n);
    cache.put(a);
    cache.put(view("b", 2, a, 1n));
    cache.name("m", "b");
    assert.ok(cache.put(view("c", 3, a, 2n)));
    assert.deepEqual([cache.get("a"), cache.get("b"), cache.headOf("m")], [undefined, undefined, ""]);
    const kept = cache.get("c");
    assert.deepEqual([kept?.base, kept?.erasures], [undefined, 2n]);
    assert.deepEqual(kept?.messages().map(text), ["x", "xxx"]);
    check(cache, 1 << 20);
    assert.ok(cache.put(view("d", 1, undefined, 1n))); // of a namespace that began anew
    assert.equal(cache.get("c"), undefined);
    cache.clear();
    assert.deepEqual([cache.get("d"), cache.used], [undefined, 0]);
  });

  await test("names lead to views, and go with them", () => {
    const cache = new ViewCache(2000);
    cache.name("m", "a");
    assert.equal(cache.headOf("m"), "");
    cache.put(view("a", 1));
    cache.put(view("b", 1));
    for (const [alias, head] of [
      ["m", "a"],
      ["n", "a"],
      ["m", "b"],
      ["m", "b"],
    ] as const) {
      cache.name(alias, head);
      check(cache, 2000);
    }
    assert.deepEqual([cache.headOf("m"), cache.headOf("n")], ["b", "a"]);
    cache.put(view("c", 1400));
    assert.deepEqual([cache.headOf("m"), cache.headOf("n")], ["", ""]);
    cache.put(view("d", 1));
    for (let i = 0; i < 100; i++) {
      cache.name(`name${String(i)}`, "d");
    }
    check(cache, 2000);
  });

  await test("whatever is put, used and named", () => {
    let seed = 1;
    const below = (n: number): number => {
      seed = (seed * 48271) % 2147483647;
      return seed % n;
    };
    const cache = new ViewCache(20_000);
    for (let step = 0; step < 5000; step++) {
      const base = cache.get(String(below(60)));
      const head = String(below(60));
      switch (below(3)) {
        case 0:
          cache.put(view(head, below(3000)));
          break;
        case 1:
          if (base?.head !== head) {
            cache.put(view(head, below(1000), base));
          }
          break;
        default:
          cache.name(`name${String(below(20))}`, head);
      }
      check(cache, 20_000);
    }
  });

  await test("a chain of 50,000 appends that were each read", () => {
    let last: HeldView | undefined;
    for (let i = 0; i < 50_000; i++) {
      last = view(String(i), 1, last);
    }
    assert.equal(last?.messages().length, 50_000);
    assert.equal(last.alone().messages().length, 50_000);
  });
});
