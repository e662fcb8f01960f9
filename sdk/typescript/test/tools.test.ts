// The tools that a model is handed.

import { create } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { after, before, beforeEach, suite, test } from "node:test";

import { assistant, call, connect, PartSchema, result, system, user, type Client, type Thread } from "../src/index.js";
import { Daemon } from "./daemon.js";

const SECRET = "ghp_" + "a1B2".repeat(9);
const WAIT = call("c3", "wait", "{}");

let daemon: Daemon;
let client: Client;
let thread: Thread;
let number = 0;
before(async () => {
  daemon = await Daemon.start();
});
beforeEach(async () => {
  client = connect(daemon.target, { namespace: `tools-${String(++number)}` });
  thread = await client.start({ messageId: "m1", messages: user("Read both, and find milk."), system: system("s") });
  const big = call("c1", "read", JSON.stringify({ path: "a".repeat(3000) }));
  await thread.append(assistant("", [big]));
  await thread.appendResults(result(big, "milk ".repeat(5000)));
  const failed = call("c2", "read", '{"path":"b"}');
  await thread.append(assistant("", [failed]));
  await thread.appendResults(result(failed, `No such file, token ${SECRET}.`, { isError: true }));
  await thread.append(assistant("", [WAIT]));
});
after(() => daemon.kill());

await suite("tools of a thread", async () => {
  await test("what the model is told of them", () => {
    for (const [tool, name, required] of [
      [thread.recallTool(), "recall_tool_call", "call_id"],
      [thread.searchTool(), "search_history", "query"],
    ] as const) {
      const { description, parameters } = tool;
      assert.deepEqual([tool.name, parameters.required], [name, [required]]);
      assert.deepEqual(tool.openai, { type: "function", function: { name, description, parameters } });
      assert.deepEqual(tool.responses, { type: "function", name, description, parameters, strict: false });
      assert.deepEqual(tool.anthropic, { name, description, input_schema: parameters });
      assert.equal(tool.anthropic.input_schema.type, "object");
    }
  });

  await test("recall", async () => {
    const { run } = thread.recallTool();
    const first = await run('{"call_id": "c1"}');
    assert.ok(first.startsWith('call: read {"path": "aaa'.replace('": "', '":"')), first.slice(0, 40));
    assert.ok(first.includes("...\nresult:\nmilk milk"));
    assert.ok(first.endsWith("\n[5000 more characters: ask again with offset 20000]"));
    assert.ok((await run({ call_id: "c1", offset: 20_000 })).endsWith("milk "));
    const behind = await run('{"call_id": "c1", "offset": 90000}');
    assert.ok(behind.endsWith("[it has 25000 characters: there is nothing at offset 90000]"));
    const error = `call: read {"path":"b"}\nresult, an error:\nNo such file, token ${SECRET}.`;
    assert.equal(await run('{"call_id": "c2"}'), error);
    assert.equal(await run('{"call_id": "c3"}'), "call: wait {}\nIt has no result.");
    const wanted = 'call: read, with the arguments:\n{"path":"b"}';
    assert.equal(await run('{"call_id": "c2", "arguments": true}'), wanted);
    assert.equal(await run('{"call_id": "c9"}'), "There is no such tool call in this conversation.");
    assert.match(await run('{"call_id": "c1", "place": "nowhere"}'), /^That is not the id and place/);
    for (const bad of [
      "",
      "{",
      "[]",
      "{}",
      "null",
      '{"call_id": 5}',
      '{"call_id": "c1", "offset": "2"}',
      '{"call_id": "c1", "offset": 1.5}',
      '{"call_id": "c1", "offset": true}',
      '{"call_id": "c1", "arguments": "yes"}',
      '{"call_id": "\\ud800"}',
      undefined,
      5,
    ]) {
      assert.match(await run(bad), /^The arguments have to be a JSON object with call_id/, String(bad));
    }
  });

  await test("a place names exactly a result", async () => {
    const hit = await thread.searchTool().run('{"query": "such file"}');
    const place = /\(recall c2 ([^)]*)\)/.exec(hit)?.[1];
    const { run } = thread.recallTool();
    assert.match(await run({ call_id: "c2", place }), /No such file/);
    assert.match(await run({ call_id: "", place }), /No such file/);
  });

  await test("search", async () => {
    const { run } = thread.searchTool();
    const found = (await run('{"query": "MILK"}')).trimEnd().split("\n");
    assert.deepEqual(
      found.map((line) => line.split(":")[0]?.split(" ")[1]),
      ["tool", "user"],
    );
    assert.match(await run({ query: "such [a-z]+,", regexp: true }), /^- tool read /);
    assert.equal(await run('{"query": "nowhere to be found"}'), "Nothing was found.");
    assert.equal(await run('{"query": "(", "regexp": true}'), "That is not an RE2 pattern, or one that is too large.");
    assert.match(await run({ query: "x".repeat(2000) }), /^That cannot be searched for/);
    for (const bad of ["{", "{}", '{"query": 5}', '{"query": ""}', '{"query": "a", "regexp": "yes"}']) {
      assert.match(await run(bad), /^The arguments have to be a JSON object with query/, bad);
    }
  });

  await test("a search does not find itself", async () => {
    const search = call("s1", "search_history", '{"query": "zebra"}');
    await thread.appendResults(result(WAIT, "ok"));
    await thread.append(assistant("", [search]));
    await thread.appendResults(result(search, "zebra: nothing was found."));
    const { run } = thread.searchTool();
    assert.equal(await run('{"query": "zebra"}'), "Nothing was found.");
    const other = call("z1", "feed", '{"animal": "Zebra"}');
    await thread.append(assistant("", [call("s2", "search_history", '{"query": "zebra"}'), other]));
    assert.match(await run('{"query": "zebra"}'), /^- assistant feed /);
    assert.equal(await run('{"query": "zebra.}$", "regexp": true}'), "Nothing was found.");
    assert.match(await run('{"query": "Ze[b]ra", "regexp": true}'), /^- assistant feed /);
    const crossing = call("z2", "feed", `\u{1f993} ${"x".repeat(5000)} crossing`);
    await thread.append(assistant("", [call("s3", "search_history", '{"query": "crossing"}'), crossing]));
    assert.match(await run('{"query": "CROSSING"}'), /^- assistant feed .*: x{65} crossing\n$/);
    const began = performance.now();
    assert.equal(await run({ query: "(x+x+)+z|^\\{.query.: .cross", regexp: true }), "Nothing was found.");
    assert.ok(performance.now() - began < 5000, "a pattern takes too long");
    for (let i = 0; i < 12; i++) {
      await thread.append(user(`zebra ${String(i)}`));
    }
    const many = await run('{"query": "zebra"}');
    assert.equal(many.split("- user").length - 1, 10);
    assert.ok(many.endsWith("[there is more: use a narrower query]\n"));
  });

  await test("without secrets", async () => {
    assert.ok((await thread.recallTool().run({ call_id: "c2" })).includes(SECRET));
    const redacted = await thread.recallTool({ redact: true }).run({ call_id: "c2" });
    assert.ok(!redacted.includes(SECRET) && redacted.includes("No such file, token "));
    assert.ok((await thread.searchTool().run({ query: "such file" })).includes(SECRET));
    assert.ok(!(await thread.searchTool({ redact: true }).run({ query: "such file" })).includes(SECRET));
    assert.equal(await thread.searchTool({ redact: true }).run({ query: SECRET.slice(0, 12) }), "Nothing was found.");
  });

  await test("media is named", async () => {
    const paint = call("p1", "paint", "{}");
    await thread.appendResults(result(WAIT, "ok"));
    await thread.append(assistant("", [paint]));
    const painted = result(paint, "Here: ");
    const inline = Uint8Array.of(0x89, 0x50, 0x4e, 0x47);
    const media = { mediaType: "image/png", source: { case: "inline", value: inline } } as const;
    painted.parts.push(create(PartSchema, { kind: { case: "media", value: media } }));
    await thread.appendResults(painted);
    assert.ok((await thread.recallTool().run({ call_id: "p1" })).endsWith("Here: [image/png]"));
  });

  await test("the service's own failures are errors", async () => {
    client.close();
    await assert.rejects(thread.searchTool().run({ query: "milk" }), /the client is closed/);
  });
});
