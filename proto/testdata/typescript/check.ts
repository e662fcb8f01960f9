// Checks the identity vectors with nothing but protobuf-es and node's crypto. See ../README.md.
//
// The last line printed is "N passed, N failed"; the exit code is 1 if any failed.

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create, fromBinary, fromJson, toBinary, type JsonValue } from "@bufbuild/protobuf";
import { MessageSchema, type Message } from "./build/gen/transcript/v1/message_pb.js";
import { MetadataSchema, NodeEnvelopeSchema, PayloadSchema } from "./build/gen/transcript/v1/node_pb.js";

interface Vector {
  name: string;
  messages: JsonValue[];
  fill?: { message: number; part: number; opaque?: boolean; unit: string; times: number }[];
  part_copies?: number;
  message_copies?: number;
  metadata?: { key: string; value: string }[];
  salt?: string;
  parent?: string;
  covers_through?: string;
  spawned_from?: { node: string; tool_call_id?: string };
  wire_hex?: string;
  payload_hex?: string;
  node_id?: string;
}

const bytes = (digits?: string): Uint8Array => Uint8Array.from(Buffer.from(digits ?? "", "hex"));
const hex = (b: Uint8Array): string => Buffer.from(b).toString("hex");

function sha256(...pieces: (Uint8Array | string)[]): Uint8Array {
  const hash = createHash("sha256");
  for (const piece of pieces) {
    hash.update(piece);
  }
  return Uint8Array.from(hash.digest());
}

const salted = (domain: string, salt: Uint8Array, content: Uint8Array): Uint8Array =>
  sha256(domain, "\0", Uint8Array.of(salt.length), salt, content);

// expand gives the messages of a vector, its recipe carried out.
function expand(vector: Vector): Message[] {
  const messages = vector.messages.map((m) => fromJson(MessageSchema, m));
  for (const fill of vector.fill ?? []) {
    const part = messages[fill.message].parts[fill.part];
    const content = fill.unit.repeat(fill.times);
    if (fill.opaque && part.kind.case === "opaque") {
      part.kind.value.data = Uint8Array.from(Buffer.from(content, "utf8"));
    } else {
      part.kind = { case: "text", value: content };
    }
  }
  for (const message of messages) {
    const parts = [...message.parts];
    for (let i = 1; i < (vector.part_copies ?? 1); i++) {
      message.parts.push(...parts);
    }
  }
  return Array.from({ length: vector.message_copies ?? 1 }, () => messages).flat();
}

// metadataOf gives the metadata, sorted by the bytes of the keys, encoded; empty without any.
function metadataOf(vector: Vector): Uint8Array {
  const entries = [...(vector.metadata ?? [])];
  entries.sort((a, b) => Buffer.compare(Buffer.from(a.key, "utf8"), Buffer.from(b.key, "utf8")));
  return toBinary(MetadataSchema, create(MetadataSchema, { entries }));
}

// compute gives what the vector's members must be, by this runtime.
function compute(vector: Vector): Record<string, string | number> {
  const salt = bytes(vector.salt);
  const payload = toBinary(PayloadSchema, create(PayloadSchema, { messages: expand(vector) }));
  const metadata = metadataOf(vector);
  const envelope = create(NodeEnvelopeSchema, {
    payloadDigest: salted("transcript.payload.v1", salt, payload),
    parent: bytes(vector.parent),
    metadataDigest: metadata.length > 0 ? salted("transcript.metadata.v1", salt, metadata) : bytes(),
    coversThrough: bytes(vector.covers_through),
    spawnedFrom: vector.spawned_from && {
      node: bytes(vector.spawned_from.node),
      toolCallId: vector.spawned_from.tool_call_id,
    },
  });
  const encoded = toBinary(NodeEnvelopeSchema, envelope);
  return {
    payload_hex: hex(payload),
    payload_length: payload.length,
    payload_sha256: hex(sha256(payload)),
    payload_digest: hex(envelope.payloadDigest),
    metadata_hex: hex(metadata),
    metadata_digest: hex(envelope.metadataDigest),
    envelope_hex: hex(encoded),
    node_id: hex(sha256("transcript.node.v1\0", encoded)),
  };
}

// faults lists the members of the vector that this runtime computes otherwise.
function faults(vector: Vector): string[] {
  const got = compute(vector);
  const given = vector as unknown as Record<string, unknown>;
  const wrong = Object.keys(got).filter((member) => member in given && given[member] !== got[member]);
  if (vector.node_id === undefined) {
    wrong.push("node_id");
  }
  for (const member of ["payload_hex", "wire_hex"] as const) {
    if (vector[member] === undefined) {
      continue;
    }
    const read = fromBinary(PayloadSchema, bytes(vector[member]));
    if (hex(toBinary(PayloadSchema, read)) !== got.payload_hex) {
      wrong.push(member + ", read and written again");
    }
  }
  return wrong;
}

// messageAlias is the alias of a message; control characters are those of Unicode's category Cc.
function messageAlias(id: string): string {
  const alias = "msg/" + id;
  if (Buffer.byteLength(alias) <= 512 && !/\p{Cc}/u.test(id) && !id.startsWith("sha256:")) {
    return alias;
  }
  return "msg/sha256:" + createHash("sha256").update(id).digest("hex");
}

// names are the cases of names.json, and those of them that do not hold.
function names(testdata: string): [number, number] {
  const cases = JSON.parse(readFileSync(join(testdata, "names.json"), "utf8")) as { name: string; message_id: string; alias: string }[];
  console.log(`names.json: ${cases.length} vectors`);
  const wrong = cases.filter((c) => messageAlias(c.message_id) !== c.alias);
  wrong.forEach((c) => console.log(`names.json: ${c.name}`));
  return [cases.length - wrong.length, wrong.length];
}

function main(testdata: string): number {
  let [passed, failed] = names(testdata);
  for (const name of ["vectors.json", "openai.json", "anthropic.json"]) {
    const path = join(testdata, name);
    if (!existsSync(path)) {
      console.log(`${name}: not there`);
      continue;
    }
    const vectors = JSON.parse(readFileSync(path, "utf8")) as Vector[];
    console.log(`${name}: ${vectors.length} vectors`);
    for (const vector of vectors) {
      const wrong = faults(vector);
      if (wrong.length > 0) {
        failed++;
        console.log(`${name}: ${vector.name}: ${wrong.join(", ")}`);
      } else {
        passed++;
      }
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  return failed > 0 || passed === 0 ? 1 : 0;
}

process.exitCode = main(process.argv[2]);
