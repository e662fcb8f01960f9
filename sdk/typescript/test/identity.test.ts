import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";

import {
  MetadataEntrySchema,
  NodeEnvelopeSchema,
  PayloadSchema,
  SpawnedFromSchema,
} from "../src/gen/transcript/v1/node_pb.js";
import {
  encodeEnvelope,
  encodeMetadata,
  encodePayload,
  envelopeId,
  idBytes,
  metadataDigest,
  nodeId,
  payloadDigest,
} from "../src/identity.js";
import { user } from "../src/messages.js";
import { bytes, expand, hex, testdata, type Input } from "./testdata.js";

interface Vector extends Input {
  parent?: string;
  covers_through?: string;
  spawned_from?: { node: string; tool_call_id?: string };
  wire_hex?: string;
  payload_hex?: string;
  node_id: string;
}

const vectors = testdata("vectors.json") as Vector[];

/** What the members of a vector must be. */
function compute(vector: Vector): Record<string, string | number> {
  const salt = bytes(vector.salt);
  const payload = encodePayload(expand(vector));
  const entries = (vector.metadata ?? []).map((entry) => create(MetadataEntrySchema, entry));
  const metadata = encodeMetadata(entries);
  const envelope = create(NodeEnvelopeSchema, {
    payloadDigest: payloadDigest(salt, payload),
    parent: bytes(vector.parent),
    metadataDigest: metadata.length > 0 ? metadataDigest(salt, metadata) : bytes(),
    coversThrough: bytes(vector.covers_through),
  });
  if (vector.spawned_from !== undefined) {
    const { node, tool_call_id: toolCallId } = vector.spawned_from;
    envelope.spawnedFrom = create(SpawnedFromSchema, {
      node: bytes(node),
      ...(toolCallId !== undefined && { toolCallId }),
    });
  }
  return {
    payload_hex: hex(payload),
    payload_length: payload.length,
    payload_sha256: createHash("sha256").update(payload).digest("hex"),
    payload_digest: hex(envelope.payloadDigest),
    metadata_hex: hex(metadata),
    metadata_digest: hex(envelope.metadataDigest),
    envelope_hex: hex(encodeEnvelope(envelope)),
    node_id: envelopeId(envelope),
  };
}

test("the vectors of identity", async (t) => {
  assert.ok(vectors.length > 100);
  for (const vector of vectors) {
    await t.test(vector.name, () => {
      const given = vector as unknown as Record<string, unknown>;
      for (const [member, got] of Object.entries(compute(vector))) {
        assert.equal(got, given[member] ?? (member.startsWith("metadata") ? "" : got), member);
      }
      for (const wire of [vector.payload_hex, vector.wire_hex]) {
        if (wire !== undefined) {
          assert.equal(hex(encodePayload(fromBinary(PayloadSchema, bytes(wire)).messages)), vector.payload_hex);
        }
      }
    });
  }
});

test("the id of what an SDK puts is that of the vectors", () => {
  const puts = vectors.filter((v) => v.covers_through === undefined);
  assert.ok(puts.length > 100);
  for (const v of puts) {
    const id = nodeId({
      messages: expand(v),
      metadata: (v.metadata ?? []).map((entry) => create(MetadataEntrySchema, entry)),
      salt: bytes(v.salt),
      parentId: v.parent,
      spawnedFrom: v.spawned_from && { nodeId: v.spawned_from.node, toolCallId: v.spawned_from.tool_call_id },
    });
    assert.equal(id, v.node_id, v.name);
  }
});

test("an id of another form is refused", () => {
  const messages = [user("hi")];
  for (const id of ["ab", "A".repeat(64), "0".repeat(65), "g".repeat(64)]) {
    assert.throws(() => nodeId({ messages, parentId: id }), RangeError);
    assert.throws(() => nodeId({ messages, spawnedFrom: { nodeId: id } }), RangeError);
    assert.throws(() => idBytes(id), RangeError);
  }
  assert.throws(() => idBytes(""), RangeError);
});

test("fields of a later version stand where their numbers put them", () => {
  // A part with a field 2, below its text, and one 14 above; a message with a field 11.
  const part = new BinaryWriter();
  part.tag(2, WireType.Varint).int32(7);
  part.tag(8, WireType.LengthDelimited).string("hi");
  part.tag(14, WireType.LengthDelimited).string("later");
  const message = new BinaryWriter();
  message.tag(1, WireType.Varint).int32(3);
  message.tag(2, WireType.LengthDelimited).bytes(part.finish());
  message.tag(11, WireType.Varint).int32(1);
  const payload = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(message.finish()).finish();
  const { messages } = fromBinary(PayloadSchema, payload);
  assert.equal(hex(encodePayload(messages)), hex(payload));
  assert.notEqual(
    hex(toBinary(PayloadSchema, create(PayloadSchema, { messages }))),
    hex(payload),
    "the runtime writes them last",
  );
});
