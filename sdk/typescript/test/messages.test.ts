import { equals, fromJson, type JsonValue } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { test } from "node:test";

import { message } from "../src/byhand.js";
import { ConversionError } from "../src/convert/report.js";
import { MessageSchema, Role } from "../src/gen/transcript/v1/message_pb.js";
import {
  assistant,
  call,
  calls,
  isOpaque,
  opaque,
  openCalls,
  result,
  system,
  text,
  unknownResult,
  user,
} from "../src/messages.js";
import { chatAlias, messageAlias } from "../src/names.js";
import { STUB_TEXT, withDepth } from "../src/texts.js";
import { testdata } from "./testdata.js";

test("aliases of messages", () => {
  const cases = testdata("names.json") as { name: string; message_id: string; alias: string }[];
  assert.ok(cases.length > 10);
  for (const c of cases) {
    assert.equal(messageAlias(c.message_id), c.alias, c.name);
  }
  assert.throws(() => messageAlias("a\udc00"), RangeError);
  assert.equal(chatAlias("a/b"), "chat/a/b");
});

test("texts", () => {
  const texts = testdata("texts.json") as { stub: string; depth: { depth: number; text: string; reply: string }[] };
  assert.equal(STUB_TEXT, texts.stub);
  assert.ok(texts.depth.length > 0);
  for (const c of texts.depth) {
    assert.equal(withDepth(c.depth, c.text), c.reply);
    assert.equal(withDepth(BigInt(c.depth), c.text), c.reply);
  }
});

test("messages", () => {
  const add = call("c1", "add", "{}");
  assert.deepEqual([system("a").role, user("a").role, assistant("a").role], [Role.SYSTEM, Role.USER, Role.ASSISTANT]);
  assert.equal(text(assistant("a", [add])), "a");
  assert.deepEqual(calls(assistant("", [add])), [add]);
  assert.equal(assistant("", [add]).parts.length, 1);
  assert.equal(assistant("").parts.length, 1);
  const answer = result(add, "4");
  assert.deepEqual([answer.toolCallId, answer.name, answer.isError, text(answer)], ["c1", "add", false, "4"]);
  assert.ok(result(add, "no", { isError: true }).isError);
  assert.ok(unknownResult(add).isError);
  assert.ok(isOpaque(opaque("adk.state", Uint8Array.of(1))));
  assert.ok(!isOpaque(user("a")));
});

test("wrong types name the argument", () => {
  const wrong = 5 as unknown as string;
  assert.throws(() => user(wrong), /^TypeError: text must be a string/);
  assert.throws(() => assistant(wrong), /^TypeError: text must be a string/);
  assert.throws(
    () => call("c", "n", { a: 1 } as unknown as string),
    /^TypeError: arguments must be a string: pass the text/,
  );
  assert.throws(() => opaque("t", "x" as unknown as Uint8Array), /^TypeError: data must be a Uint8Array/);
});

test("open calls", () => {
  const [a, b, c] = [call("a", "f", ""), call("b", "f", ""), call("b", "g", "")];
  assert.deepEqual(openCalls([]), []);
  assert.deepEqual(openCalls([user("hi")]), []);
  assert.deepEqual(openCalls([user("hi"), assistant("", [a])]), [a]);
  assert.deepEqual(openCalls([user("hi"), assistant("", [a, b]), result(a, "")]), [b]);
  assert.deepEqual(openCalls([user("hi"), assistant("", [a]), assistant("", [b, c]), result(b, "")]), [a, c]);
  assert.deepEqual(openCalls([assistant("", [a]), result(a, ""), assistant("", [b])]), [b]);
  assert.deepEqual(openCalls([assistant("", [a]), user("never mind")]), []);
});

test("messages by hand", () => {
  const cases = testdata("messages.json") as {
    made: { name: string; given: string; message: JsonValue }[];
    refused: { name: string; given: string; error: string }[];
  };
  assert.ok(cases.made.length > 10 && cases.refused.length > 10);
  for (const c of cases.made) {
    assert.ok(equals(MessageSchema, message(c.given), fromJson(MessageSchema, c.message)), c.name);
  }
  for (const c of cases.refused) {
    assert.throws(
      () => message(c.given),
      (error) => {
        assert.ok(error instanceof ConversionError);
        assert.equal(error.message, c.error, c.name);
        return true;
      },
    );
  }
});

test("messages by hand are those that the functions make", () => {
  const one = call("c1", "add", '{"a":2}');
  const pairs = [
    [message({ role: "system", text: "s" }), system("s")],
    [message({ role: "user", text: "u" }), user("u")],
    [
      message({ role: "assistant", text: "t", calls: [{ id: "c1", name: "add", arguments: { a: 2 } }] }),
      assistant("t", [one]),
    ],
    [
      message({ role: "tool", call_id: "c1", name: "add", text: "4", error: true }),
      result(one, "4", { isError: true }),
    ],
  ] as const;
  for (const [got, want] of pairs) {
    assert.ok(equals(MessageSchema, got, want));
  }
});
