import { fromBinary, type JsonValue } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { test } from "node:test";

import type { Message } from "../src/gen/transcript/v1/message_pb.js";
import { PayloadSchema } from "../src/gen/transcript/v1/node_pb.js";
import { encodePayload } from "../src/identity.js";
import { user } from "../src/messages.js";
import { FieldError, validateMessages } from "../src/validate.js";
import { bytes, expand, hex, testdata, type Input } from "./testdata.js";

interface Refused extends Input {
  wire_hex?: string;
  metadata_wire_hex?: string;
  stored_hex?: string;
  spawned_from?: JsonValue;
  field: string;
  rule: string;
  kind: string;
}

const all = testdata("refused.json") as Refused[];

test("refused messages", async (t) => {
  const cases = all.filter((c) => c.field.startsWith("messages") && c.wire_hex === undefined);
  assert.ok(cases.length > 60);
  for (const c of cases) {
    if (c.field === "messages" && c.messages.length === 0) {
      continue; // whether a node may be without messages depends on its metadata: the server judges that
    }
    await t.test(c.name, () => {
      assert.throws(
        () => {
          validateMessages(expand(c));
        },
        (error) => {
          assert.ok(error instanceof FieldError, String(error));
          assert.deepEqual([error.field, error.kind], [c.field, c.kind]);
          return true;
        },
      );
    });
  }
});

test("refused on the wire", async (t) => {
  const cases = all.filter((c) => c.wire_hex !== undefined);
  assert.ok(cases.length > 15);
  for (const c of cases) {
    await t.test(c.name, () => {
      // What is not UTF-8 the runtime does not parse, and nor a field of another wire type; fields that it does not know it keeps.
      const messages = parsed(bytes(c.wire_hex));
      assert.equal(messages === undefined, c.rule === "must be valid UTF-8" || c.name.endsWith("of another wire type"));
      if (messages === undefined) {
        return;
      }
      assert.throws(
        () => {
          validateMessages(messages);
        },
        (error) => error instanceof FieldError && error.field === c.field && error.kind === c.kind,
      );
    });
  }
});

/** The messages of a payload; undefined where the runtime does not parse it. */
function parsed(payload: Uint8Array): Message[] | undefined {
  try {
    return fromBinary(PayloadSchema, payload).messages;
  } catch {
    return undefined;
  }
}

test("stored bytes that are not canonical hash to another id", async (t) => {
  const cases = all.filter((c) => c.stored_hex !== undefined);
  assert.ok(cases.length > 10);
  for (const c of cases) {
    await t.test(c.name, () => {
      const stored = bytes(c.stored_hex);
      const messages = parsed(stored);
      assert.ok(messages === undefined || hex(encodePayload(messages)) !== hex(stored));
    });
  }
});

test("what is accepted", () => {
  for (const c of testdata("vectors.json") as (Input & { stored?: boolean })[]) {
    const messages = expand(c);
    if (c.stored !== true) {
      validateMessages(messages);
    }
  }
});

test("half a surrogate pair, and what is no message", () => {
  assert.throws(() => {
    validateMessages([user("a\ud800")]);
  }, /^FieldError: messages\[0\]\.parts\[0\]\.text: must be valid UTF-8$/);
  assert.throws(() => {
    validateMessages([{ role: "user", content: "hi" } as unknown as Message]);
  }, /messages\[0\]: must be a Message/);
});
