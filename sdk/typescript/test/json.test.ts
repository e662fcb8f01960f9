import assert from "node:assert/strict";
import { test } from "node:test";

import * as openai from "../src/openai/index.js";
import { ConversionError, type Change } from "../src/convert/report.js";
import { compact, merged, read, write } from "../src/json.js";

const again = (text: string): string => write(read(text, "", []));

test("what is read is written in the compact form", () => {
  for (const [text, want] of [
    [' { "b" : [ 1.0 , -0e+7, true, null ] , "a" : {} } ', '{"b":[1.0,-0e+7,true,null],"a":{}}'],
    ['"\\u00e9\\u0001\\/\\ud83d\\ude42\\u2028\\b"', '"é\\u0001/🙂\u2028\\b"'],
    ['{"10":1,"9":2,"__proto__":3}', '{"10":1,"9":2,"__proto__":3}'],
    ["12345678901234567890", "12345678901234567890"],
  ] as const) {
    assert.equal(again(text), want);
    assert.equal(again(want), want);
  }
});

test("what is no JSON is refused by its path", () => {
  for (const [text, message] of [
    ["", "the document is not JSON"],
    ["\ufeff1", "the document is not JSON"],
    ["01", "the document holds more than one JSON text"],
    ["1.", "the document is not JSON"],
    ["-", "the document is not JSON"],
    ["1e", "the document is not JSON"],
    ["[1,]", "[1] is not JSON"],
    ['{"a":"\n"}', "a is not JSON"],
    ['{"a":[{"b":"\\x"}]}', "a[0].b is not JSON"],
    ['{"a":1,"\\u0061":2}', "a stands twice in its object"],
    ['{"a b":nul}', "? is not JSON"],
    ['{"a":"\ud800"}', "a is not UTF-8"],
    ["[".repeat(257), `${"[0]".repeat(16)}… is nested too deep`],
  ] as const) {
    assert.throws(() => read(text, "", []), { name: "ConversionError", message });
  }
});

test("bytes that are not UTF-8 are refused by their path", () => {
  const bytes = new TextEncoder().encode('{"é":1,"a":["é","x"]}');
  bytes[bytes.indexOf("x".charCodeAt(0))] = 0xff;
  assert.throws(() => read(bytes, "", []), { name: "ConversionError", message: "a[1] is not UTF-8" });
});

test("a surrogate without its other half becomes U+FFFD, and is told", () => {
  const changes: Change[] = [];
  const value = read('["a\\ud800b\\udc00","\\ufffd",{"\\ud800":1}]', "list", changes);
  assert.equal(write(value), '["a\ufffdb\ufffd","\ufffd",{"\ufffd":1}]');
  assert.deepEqual(changes, [
    { path: "list[0]", kind: "surrogates", count: 2 },
    { path: "list[2]", kind: "surrogates", count: 1 },
  ]);
});

test("extras nest 128 deep", () => {
  const nested = (n: number): string => "[".repeat(n) + "]".repeat(n);
  assert.equal(compact(read(nested(128), "", []), "x"), nested(128));
  assert.throws(() => compact(read(nested(129), "", []), "x"), { message: "x is refused: nested deeper than 128" });
});

test("members of extras come last, and the object's stay", () => {
  const value = merged(read('{"a":1,"b":{"c":2}}', "", []), read('{"b":{"d":3,"c":4},"e":5}', "", []));
  assert.equal(write(value), '{"a":1,"b":{"d":3,"c":2},"e":5}');
});

test("parsed objects become what their text does", () => {
  const text = '[{"role":"user","content":[{"type":"text","text":"hi","x":1.5}],"y":"\\ud800"}]';
  const { messages, report } = openai.parse(text);
  const parsed = openai.parse(JSON.parse(text));
  assert.deepEqual(parsed.messages, messages);
  assert.deepEqual(parsed.report, report);
  assert.equal(report.length, 1);
  assert.deepEqual(openai.format(messages).messages, [
    { role: "user", content: [{ type: "text", text: "hi", x: 1.5 }], y: "\ufffd" },
  ]);
});

test("what has no JSON is a TypeError that says what to pass", () => {
  for (const wrong of [undefined, () => 1, Symbol("x")]) {
    assert.throws(() => openai.parse(wrong), /^TypeError: pass JSON as a string, as bytes or as objects, not /);
  }
  assert.throws(() => openai.parse([{ role: "user", content: 1n }]), TypeError);
});

test("errors name the member and the rule, never the value", () => {
  assert.throws(
    () => openai.parse([{ role: "user", content: "a" }, { role: "secret" }]),
    (error) => {
      assert.ok(error instanceof ConversionError);
      assert.deepEqual([error.path, error.rule], ["messages[1].role", "is not a role of this provider"]);
      return !error.message.includes("secret");
    },
  );
  assert.throws(() => openai.forModel([]), { name: "NoMessagesError", message: "no message to send" });
});

test("one message, and a line of a file", () => {
  const { message } = openai.parseMessage({ role: "user", content: "hi", framework: { adk: 1 } });
  assert.deepEqual(openai.formatMessage(message), {
    message: { role: "user", content: "hi" },
    report: [{ path: "message.extras.framework", kind: "left_out", why: "is a framework's own" }],
  });
  const { text } = openai.formatLine(message);
  assert.deepEqual(openai.parseMessage(text).message, message);
  const state = openai.parseMessage({ role: "user", opaque: { type: "adk.state", data: "AAH/" } });
  assert.deepEqual(JSON.parse(openai.formatLine(state.message).text), {
    role: "user",
    opaque: { type: "adk.state", data: "AAH/" },
  });
  assert.throws(() => openai.formatMessage(state.message), { message: "message is opaque" });
});

test("names that JavaScript's objects have by themselves are nothing special", () => {
  for (const name of ["constructor", "__proto__", "toString"]) {
    const text = `[{"role":"user","content":[{"type":"${name}","${name}":1}],"${name}":{"a":1}}]`;
    const { messages } = openai.parse(text);
    assert.equal(messages[0]?.parts[0]?.kind.case, "json");
    assert.equal(again(openai.formatText(messages).text), again(text));
    assert.throws(() => openai.parse(`[{"role":"${name}"}]`), /is not a role of this provider/);
    assert.throws(() => openai.parse(`[{"role":"${name}","opaque":{"type":"t","data":""}}]`), ConversionError);
  }
});
