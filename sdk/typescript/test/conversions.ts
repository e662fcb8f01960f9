// What the tests of all converters do with their vectors.

import { equals, toJson, type JsonValue } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { test } from "node:test";

import { MessageSchema, type Message } from "../src/gen/transcript/v1/message_pb.js";
import { ConversionError, type Report } from "../src/convert/report.js";
import { encodePayload, nodeId, payloadDigest } from "../src/identity.js";
import { read, write, type Value } from "../src/json.js";
import { bytes, hex, messagesOf, testdata } from "./testdata.js";

/** What a converter has. */
export interface Converter {
  readonly parse: (source: unknown) => { messages: Message[]; report: Report };
  readonly formatText: (messages: readonly Message[]) => { text: string; report: Report };
  readonly forModelText: (messages: readonly Message[]) => { text: string; report: Report };
}

/** A JSON text in one spelling of all that are equal: members sorted, numbers as they are. */
export function normal(text: string): string {
  const sorted = (v: Value): string => {
    if (v.kind === "list") {
      return `[${v.items.map(sorted).join(",")}]`;
    }
    if (v.kind === "object") {
      const members = v.members.map((m) => `${JSON.stringify(m.name)}:${sorted(m.value)}`);
      return `{${members.sort().join(",")}}`;
    }
    return write(v);
  };
  return sorted(read(text, "", []));
}

interface Vector {
  name: string;
  provider: string;
  sent?: string;
  messages: JsonValue[];
  payload_hex: string;
  payload_digest: string;
  node_id: string;
}

/** Tests a file of a provider's JSON and what it becomes. */
export async function vectors(file: string, { parse, formatText }: Converter): Promise<void> {
  await test(file, async (t) => {
    const all = testdata(file) as Vector[];
    assert.ok(all.length > 40);
    for (const v of all) {
      await t.test(v.name, () => {
        const { messages, report } = parse(v.provider);
        const want = messagesOf(v.messages);
        assert.deepEqual(
          messages.map((m) => toJson(MessageSchema, m)),
          want.map((m) => toJson(MessageSchema, m)),
        );
        assert.ok(messages.every((m, i) => equals(MessageSchema, m, want[i] ?? m)));
        const payload = encodePayload(messages);
        assert.equal(hex(payload), v.payload_hex);
        assert.equal(hex(payloadDigest(bytes(), payload)), v.payload_digest);
        assert.equal(nodeId({ messages }), v.node_id);
        assert.deepEqual(parse(new TextEncoder().encode(v.provider)).messages, messages);

        const written = formatText(messages);
        if (report.every((change) => change.kind === "left_out")) {
          assert.equal(normal(written.text), normal(v.sent ?? v.provider));
        }
        if (v.sent === undefined) {
          assert.deepEqual(written.report, []);
        }
      });
    }
  });
}

interface Change {
  path: string;
  kind: string;
  from?: string;
  to?: string;
}

interface Conversions {
  refused: { name: string; provider?: string; provider_hex?: string; error: string }[];
  for_model: { name: string; from: string; provider: string; sent: string; changes: Change[] }[];
  written: { name: string; messages: JsonValue[]; provider: string; changes: Change[] }[];
}

/** The changes of a report as the files have them, in an order that means nothing. */
function changes(report: readonly Change[]): string[] {
  return report.map(({ path, kind, from, to }) => JSON.stringify([path, kind, from ?? "", to ?? ""])).sort();
}

/** Tests a file of what is refused, sent to a model, and written of other messages. */
export async function conversions(
  file: string,
  { parse, formatText, forModelText }: Converter,
  from: Record<string, Converter["parse"]>,
): Promise<void> {
  const all = testdata(file) as Conversions;
  await test(`${file}: refused`, async (t) => {
    assert.ok(all.refused.length > 10);
    for (const c of all.refused) {
      await t.test(c.name, () => {
        const source = c.provider_hex === undefined ? (c.provider ?? "") : bytes(c.provider_hex);
        assert.throws(
          () => parse(source),
          (error) => {
            assert.ok(error instanceof ConversionError, String(error));
            assert.equal(error.message, c.error);
            return true;
          },
        );
      });
    }
  });
  await test(`${file}: for a model`, async (t) => {
    assert.ok(all.for_model.length > 5);
    for (const c of all.for_model) {
      await t.test(c.name, () => {
        const parseFrom = from[c.from];
        assert.ok(parseFrom, c.from);
        const { text, report } = forModelText(parseFrom(c.provider).messages);
        assert.equal(normal(text), normal(c.sent));
        assert.deepEqual(changes(report), changes(c.changes));
      });
    }
  });
  await test(`${file}: written`, async (t) => {
    assert.ok(all.written.length > 0);
    for (const c of all.written) {
      await t.test(c.name, () => {
        const { text, report } = formatText(messagesOf(c.messages));
        assert.equal(normal(text), normal(c.provider));
        assert.deepEqual(changes(report), changes(c.changes));
      });
    }
  });
}
