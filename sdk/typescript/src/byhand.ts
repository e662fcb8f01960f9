// Messages as a person writes them, a JSON object of one level.

import { create } from "@bufbuild/protobuf";

import { check } from "./convert/content.js";
import { ConversionError, join, type Change } from "./convert/report.js";
import {
  MessageSchema,
  PartSchema,
  Role,
  ToolCallSchema,
  type Message,
  type Part,
} from "./gen/transcript/v1/message_pb.js";
import { compact, read, type Value } from "./json.js";
import { textPart } from "./messages.js";

/** A message as a person writes one. */
export type MessageByHand =
  | { readonly role: "system" | "developer" | "user"; readonly text: string; readonly name?: string }
  | {
      readonly role: "assistant";
      /** May be left out where there are calls. */
      readonly text?: string;
      readonly calls?: readonly CallByHand[];
      readonly name?: string;
    }
  | {
      readonly role: "tool";
      /** The call that it answers. */
      readonly call_id: string;
      readonly text: string;
      /** Whether the tool failed. */
      readonly error?: boolean;
      readonly name?: string;
    };

/** A tool call as a person writes one. */
export interface CallByHand {
  readonly id: string;
  readonly name: string;
  /** An object, or a text as the model wrote it; absent, they are `{}`. */
  readonly arguments?: string | Readonly<Record<string, unknown>>;
}

const MEMBERS = new Map<string, { role: Role; members: readonly string[] }>([
  ["system", { role: Role.SYSTEM, members: ["role", "text", "name"] }],
  ["developer", { role: Role.DEVELOPER, members: ["role", "text", "name"] }],
  ["user", { role: Role.USER, members: ["role", "text", "name"] }],
  ["assistant", { role: Role.ASSISTANT, members: ["role", "text", "calls", "name"] }],
  ["tool", { role: Role.TOOL, members: ["role", "call_id", "text", "error", "name"] }],
]);

/**
 * A message as a person writes one, an object of one level, or such JSON as a string or bytes.
 *
 *     message({ role: "user", text: "What is a node?" })
 *     message({ role: "assistant", text: "I look.", calls: [{ id: "c1", name: "find", arguments: { word: "node" } }] })
 *     message({ role: "tool", call_id: "c1", text: "A step." })
 *
 * `name` is optional everywhere. There are no other members. What it becomes is what `system`, `user`, `assistant` and `result` make.
 * ConversionError names the member that is wrong, and never shows a value.
 */
export function message(source: MessageByHand | string | Uint8Array): Message {
  const changes: Change[] = [];
  const value = read(source, "message", changes);
  if (changes[0] !== undefined) {
    throw new ConversionError(changes[0].path, "holds a lone surrogate");
  }
  if (value.kind !== "object") {
    throw new ConversionError(value.path, "is not an object");
  }
  const name = needed(value, "role");
  const of = MEMBERS.get(name);
  if (of === undefined) {
    throw new ConversionError(join(value.path, "role"), "is none of system, developer, user, assistant and tool");
  }
  only(value, `a message of the role ${name}`, of.members);
  const calls = callsOf(value.member("calls"));
  const text = calls.length === 0 ? needed(value, "text") : string(value, "text");
  const made = create(MessageSchema, {
    role: of.role,
    parts: [...(text === undefined || (text === "" && calls.length > 0) ? [] : [textPart(text)]), ...calls],
  });
  const callId = of.role === Role.TOOL ? needed(value, "call_id") : undefined;
  if (callId !== undefined) {
    made.toolCallId = callId;
  }
  const called = string(value, "name");
  if (called !== undefined) {
    made.name = called;
  }
  const error = value.member("error");
  if (error !== undefined) {
    if (error.kind !== "bool") {
      throw new ConversionError(error.path, "is neither true nor false");
    }
    made.isError = error.isTrue;
  }
  check(made, value.path);
  return made;
}

function callsOf(value: Value | undefined): Part[] {
  if (value === undefined) {
    return [];
  }
  if (value.kind !== "list") {
    throw new ConversionError(value.path, "is not a list");
  }
  return value.items.map((item) => {
    if (item.kind !== "object") {
      throw new ConversionError(item.path, "is not an object");
    }
    only(item, "a call", ["id", "name", "arguments"]);
    const call = create(ToolCallSchema, {
      id: needed(item, "id"),
      name: needed(item, "name"),
      arguments: argumentsOf(item.member("arguments")),
    });
    return create(PartSchema, { kind: { case: "toolCall", value: call } });
  });
}

/** A text as it is, and an object in the one compact form, in which numbers and the order of members stay. */
function argumentsOf(value: Value | undefined): string {
  if (value === undefined) {
    return "{}";
  }
  if (value.asString !== undefined) {
    return value.asString;
  }
  if (value.kind !== "object") {
    throw new ConversionError(value.path, "is neither an object nor a string");
  }
  return compact(value, value.path);
}

/** A member that is a string; undefined where it is not there. */
function string(value: Value, name: string): string | undefined {
  const member = value.member(name);
  if (member !== undefined && member.asString === undefined) {
    throw new ConversionError(member.path, "is not a string");
  }
  return member?.asString;
}

/** A member that has to be there. */
function needed(value: Value, name: string): string {
  const text = string(value, name);
  if (text === undefined) {
    throw new ConversionError(join(value.path, name), "is not there");
  }
  return text;
}

/** Refuses the first member that is none of those that something has. */
function only(value: Value, what: string, names: readonly string[]): void {
  for (const m of value.members) {
    if (!names.includes(m.name)) {
      throw new ConversionError(m.value.path, `is no member of ${what}, which has ${names.join(", ")}`);
    }
  }
}
