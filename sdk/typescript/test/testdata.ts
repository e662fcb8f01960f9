// The vectors of proto/testdata.

import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { MessageSchema, type Message } from "../src/gen/transcript/v1/message_pb.js";

/** The repository's root, which has the protos. */
export const ROOT = root(dirname(fileURLToPath(import.meta.url)));

function root(folder: string): string {
  if (existsSync(join(folder, "proto", "testdata"))) {
    return folder;
  }
  if (dirname(folder) === folder) {
    throw new Error("proto/testdata is in no folder above");
  }
  return root(dirname(folder));
}

/** A file of proto/testdata. */
export function testdata(name: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, "proto", "testdata", name), "utf8"));
}

/** Messages in the JSON form of protobuf. */
export function messagesOf(json: readonly JsonValue[] | undefined): Message[] {
  return (json ?? []).map((m) => fromJson(MessageSchema, m));
}

/** The bytes of hex digits. */
export function bytes(digits = ""): Uint8Array {
  return Uint8Array.from(Buffer.from(digits, "hex"));
}

/** The hex digits of bytes. */
export function hex(b: Uint8Array): string {
  return Buffer.from(b).toString("hex");
}

/** Input of vectors.json and refused.json. */
export interface Input {
  readonly name: string;
  readonly messages: JsonValue[];
  readonly fill?: { message: number; part: number; opaque?: boolean; unit: string; times: number }[];
  readonly part_copies?: number;
  readonly message_copies?: number;
  readonly metadata?: { key: string; value: string }[];
  readonly salt?: string;
}

/** The messages of an input, its recipe carried out. */
export function expand(input: Input): Message[] {
  const messages = messagesOf(input.messages);
  for (const { message, part, opaque, unit, times } of input.fill ?? []) {
    const filled = messages[message]?.parts[part];
    if (filled === undefined) {
      throw new Error(`${input.name}: no part to fill`);
    }
    const text = unit.repeat(times);
    if (opaque === true && filled.kind.case === "opaque") {
      filled.kind.value.data = new TextEncoder().encode(text);
    } else {
      filled.kind = { case: "text", value: text };
    }
  }
  for (const message of messages) {
    const { parts } = message;
    message.parts = Array.from({ length: input.part_copies ?? 1 }, () => parts).flat();
  }
  return Array.from({ length: input.message_copies ?? 1 }, () => messages).flat();
}
