// Chat completions' messages, read.

import { create } from "@bufbuild/protobuf";

import { MessageSchema, PartSchema, Role, type Message } from "../gen/transcript/v1/message_pb.js";
import { check, parseContent } from "../convert/content.js";
import { fromBase64 } from "../convert/media.js";
import { ConversionError, join, type Change, type Report } from "../convert/report.js";
import { Taker } from "../convert/taker.js";
import { read, type Value } from "../json.js";
import { parseCalls, parseFunctionCall } from "./calls.js";
import { parsePart, ROLES } from "./parts.js";

/**
 * Reads a list of chat-completions messages: one transcript message for each, and each such that a server accepts it.
 *
 * @param source - JSON as a string or as UTF-8 bytes, whose numbers keep their spelling, or the parsed list. Where ids matter pass what the
 * provider sent, not what JSON.parse made of it: `1.0` and `1` are different messages.
 * @returns The messages, and a report that tells of lone surrogates.
 * @throws ConversionError, whose path begins `messages`.
 */
export function parse(source: unknown): { messages: Message[]; report: Report } {
  const report: Change[] = [];
  const list = read(source, "messages", report);
  if (list.kind !== "list") {
    throw new ConversionError("messages", "is not a list");
  }
  return { messages: list.items.map(parseOne), report };
}

/**
 * Reads one message, such as an answer's `choices[0].message`: what it becomes is what it becomes in a list.
 *
 * @param source - JSON as a string or as UTF-8 bytes, or the parsed object: see parse.
 * @throws ConversionError, whose path begins `message`.
 */
export function parseMessage(source: unknown): { message: Message; report: Report } {
  const report: Change[] = [];
  return { message: parseOne(read(source, "message", report)), report };
}

function parseOne(value: Value): Message {
  if (value.kind !== "object") {
    throw new ConversionError(value.path, "is not an object");
  }
  const opaque = parseOpaque(value);
  if (opaque !== undefined) {
    return opaque;
  }
  const taker = new Taker(value);
  const message = create(MessageSchema, { role: parseRole(taker) });
  const reasoning = taker.ifString("reasoning_content");
  if (reasoning !== undefined) {
    message.parts.push(create(PartSchema, { kind: { case: "reasoning", value: { text: reasoning } } }));
  }
  taker.take("content");
  const content = parseContent(taker.look("content"), join(value.path, "content"), parsePart);
  message.contentForm = content.form;
  message.parts.push(...content.parts, ...parseCalls(taker, message.role), ...parseFunctionCall(taker, message.role));
  if (message.role === Role.TOOL) {
    parseResult(taker, message);
  }
  const name = taker.string("name");
  if (name !== undefined) {
    message.name = name;
  }
  message.extras = taker.extras();
  check(message, value.path);
  return message;
}

function parseRole(taker: Taker): Role {
  const value = taker.look("role");
  const name = value?.asString;
  if (value === undefined || name === undefined) {
    throw new ConversionError(join(taker.path, "role"), "is not a string");
  }
  if (name === "function") {
    return Role.TOOL;
  }
  const role = Object.hasOwn(ROLES, name) ? ROLES[name] : undefined;
  if (role === undefined) {
    throw new ConversionError(value.path, "is not a role of this provider");
  }
  taker.take("role");
  return role;
}

/** Takes what says which call a result answers and whether it failed (is_error, which is not OpenAI's). */
function parseResult(taker: Taker, message: Message): void {
  if (taker.look("is_error")?.isTrue === true) {
    taker.take("is_error");
    message.isError = true;
  }
  const id = taker.string("tool_call_id");
  if (id !== undefined) {
    message.toolCallId = id;
  }
}

/** Makes an opaque message of an object that has just the members of one; undefined of any other. */
function parseOpaque(value: Value): Message | undefined {
  const role = value.member("role")?.asString;
  const state = value.member("opaque");
  const type = state?.member("type")?.asString;
  const text = state?.member("data")?.asString;
  const alone = value.members.length === 2 && state?.members.length === 2;
  if (!alone || role === undefined || type === undefined || text === undefined || !Object.hasOwn(ROLES, role)) {
    return undefined;
  }
  const data = fromBase64(text);
  if (data === undefined) {
    return undefined;
  }
  const message = create(MessageSchema, {
    role: ROLES[role] ?? Role.UNSPECIFIED,
    parts: [{ kind: { case: "opaque", value: { type, data } } }],
  });
  try {
    check(message, "");
    return message;
  } catch (error) {
    if (error instanceof ConversionError) {
      return undefined;
    }
    throw error;
  }
}
