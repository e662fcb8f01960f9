// Messages of the Messages API, read.

import { create } from "@bufbuild/protobuf";

import { MessageSchema, Role, type Message } from "../gen/transcript/v1/message_pb.js";
import { check, listForm, parseContent } from "../convert/content.js";
import { ConversionError, join, type Change, type Report } from "../convert/report.js";
import { readExtras, Taker } from "../convert/taker.js";
import { compact, object, read, type Value } from "../json.js";
import { blockParser } from "./blocks.js";

/**
 * Reads a request: `{"system": …, "messages": […]}`. The system prompt becomes the first message; a message with tool results becomes
 * several, all but the first joined to the one before. Each is such that a server accepts it. The request's other members are no part of a
 * transcript: the report names them (left_out), and tells of lone surrogates.
 *
 * @param source - JSON as a string or as UTF-8 bytes, whose numbers keep their spelling, or the parsed object. Where ids matter pass what
 * the provider sent, not what JSON.parse made of it: `1.0` and `1` are different messages.
 * @throws ConversionError, whose path begins `system` or `messages`.
 */
export function parse(source: unknown): { messages: Message[]; report: Report } {
  const report: Change[] = [];
  const request = read(source, "", report);
  if (request.kind !== "object") {
    throw new ConversionError("", "is not an object");
  }
  const list = request.member("messages");
  if (list?.kind !== "list") {
    throw new ConversionError("messages", "is not a list");
  }
  const messages = [...parseSystem(request.member("system")), ...list.items.flatMap(parseOne)];
  for (const { name, value } of request.members) {
    if (name !== "system" && name !== "messages") {
      report.push({ path: value.path, kind: "left_out", why: "is no part of a transcript" });
    }
  }
  return { messages, report };
}

/**
 * Reads one message, such as an answer: what it becomes is what it becomes in a request.
 *
 * @param source - JSON as a string or as UTF-8 bytes, or the parsed object: see parse.
 * @throws ConversionError, whose path begins `message`.
 */
export function parseMessage(source: unknown): { messages: Message[]; report: Report } {
  const report: Change[] = [];
  return { messages: parseOne(read(source, "message", report)), report };
}

/** Makes the first message of the member system; none where it is absent. */
function parseSystem(value: Value | undefined): Message[] {
  if (value === undefined) {
    return [];
  }
  const { parts, form } = parseContent(value, value.path, blockParser(Role.SYSTEM));
  const message = create(MessageSchema, { role: Role.SYSTEM, parts, contentForm: form });
  check(message, value.path);
  return [message];
}

function parseOne(value: Value): Message[] {
  if (value.kind !== "object") {
    throw new ConversionError(value.path, "is not an object");
  }
  const taker = new Taker(value);
  const role = parseRole(taker);
  const content = taker.look("content");
  taker.take("content");
  const extras = taker.extras();
  const messages =
    role === Role.USER && content?.items.some(isResult) === true
      ? parseResults(content, extras)
      : [parsePlain(role, content, join(value.path, "content"), extras)];
  for (const message of messages) {
    check(message, value.path);
  }
  return messages;
}

function parsePlain(role: Role, content: Value | undefined, path: string, extras: string): Message {
  const { parts, form } = parseContent(content, path, blockParser(role));
  return create(MessageSchema, { role, parts, contentForm: form, extras });
}

/** Takes the role. That of a system message among the others stays in the extras, which tells it from the member system. */
function parseRole(taker: Taker): Role {
  const value = taker.look("role");
  if (value?.asString === undefined) {
    throw new ConversionError(join(taker.path, "role"), "is not a string");
  }
  switch (value.asString) {
    case "user":
      taker.take("role");
      return Role.USER;
    case "assistant":
      taker.take("role");
      return Role.ASSISTANT;
    case "system":
      return Role.SYSTEM;
    default:
      throw new ConversionError(value.path, "is not a role of this provider");
  }
}

/** The member of a result's extras that holds the other members of the user's message that it begins. */
export const MESSAGE = "message";

/**
 * Whether a block becomes a message of its own. A block with a member of the name MESSAGE, which the API does not know, does not.
 */
function isResult(value: Value): boolean {
  return value.member("type")?.asString === "tool_result" && value.member(MESSAGE) === undefined;
}

/** Makes messages of the content of a user's message with results: one of each result, and one of each run of other blocks. */
function parseResults(content: Value, extras: string): Message[] {
  const messages: Message[] = [];
  let last: Message | undefined; // the user's message that further blocks belong to
  const parse = blockParser(Role.USER);
  for (const block of content.items) {
    if (isResult(block)) {
      messages.push(parseResult(block));
      last = undefined;
      continue;
    }
    const part = parse(block);
    if (last === undefined) {
      last = create(MessageSchema, { role: Role.USER });
      messages.push(last);
    }
    last.parts.push(part);
    last.contentForm = listForm(last.parts);
  }
  for (const [i, message] of messages.entries()) {
    message.joined = i > 0;
  }
  const [first] = messages;
  if (first !== undefined && extras !== "") {
    first.extras = first.role === Role.USER ? extras : withMessage(first.extras, extras, content.path);
  }
  return messages;
}

/** A result's extras with those of the user's message that it begins. */
function withMessage(own: string, extras: string, path: string): string {
  const rest = readExtras(extras, path);
  const value = readExtras(own, path) ?? object({});
  return compact(rest === undefined ? value : value.with(MESSAGE, rest), path);
}

function parseResult(value: Value): Message {
  const taker = new Taker(value);
  taker.take("type");
  taker.take("content");
  const id = taker.string("tool_use_id");
  const isError = taker.look("is_error")?.isTrue === true;
  if (isError) {
    taker.take("is_error");
  }
  const { parts, form } = parseContent(taker.look("content"), join(value.path, "content"), blockParser(Role.TOOL));
  return create(MessageSchema, {
    role: Role.TOOL,
    ...(id !== undefined && { toolCallId: id }),
    isError,
    parts,
    contentForm: form,
    extras: taker.extras(),
  });
}
