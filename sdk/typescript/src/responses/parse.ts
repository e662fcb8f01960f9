// Items of the Responses API, read.

import { create } from "@bufbuild/protobuf";

import {
  ContentForm,
  MessageSchema,
  PartSchema,
  Role,
  type Message,
  type Part,
} from "../gen/transcript/v1/message_pb.js";
import { check, isContent, jsonPart, parseContent } from "../convert/content.js";
import { ConversionError, join, type Change, type Report } from "../convert/report.js";
import { readExtras, Taker } from "../convert/taker.js";
import { compact, merged, object, read, string, type Value } from "../json.js";
import { textPart } from "../messages.js";
import { LIMITS } from "../validate.js";
import {
  callOf,
  FUNCTION,
  isNamed,
  isWhole,
  ITEM,
  parseInput,
  parseOutput,
  resultOf,
  ROLES,
  textsOf,
  typeOf,
  WHOLE_ITEM,
  WHOLE_OUTPUT,
  type Called,
} from "./items.js";

/**
 * Reads a list of items, such as a request's input or a response's output. What a model gives between two others, reasoning, texts and calls, is
 * one message of the assistant; a message of anybody else, and a result, is one by itself. Each message is such that a server accepts it.
 *
 * @param source - JSON as a string or as UTF-8 bytes, whose numbers keep their spelling, or the parsed list. Where ids matter pass what the
 * provider sent, not what JSON.parse made of it: `1.0` and `1` are different messages.
 * @returns The messages, and a report that tells of lone surrogates.
 * @throws ConversionError, whose path begins `items`.
 */
export function parse(source: unknown): { messages: Message[]; report: Report } {
  const report: Change[] = [];
  const list = read(source, "items", report);
  if (list.kind !== "list") {
    throw new ConversionError("items", "is not a list");
  }
  const parser = new Parser();
  for (const item of list.items) {
    parser.item(item);
  }
  parser.close();
  return { messages: parser.messages, report };
}

class Parser {
  readonly messages: Message[] = [];
  /** The assistant's message that further parts belong to, and the path of its first item. */
  private turn: { message: Message; path: string; calls: number } | undefined;

  item(value: Value): void {
    if (value.kind !== "object") {
      throw new ConversionError(value.path, "is not an object");
    }
    const type = typeOf(value);
    const call = callOf(type);
    const result = resultOf(type);
    if (type === "message" || (value.member("type") === undefined && value.member("role") !== undefined)) {
      this.message(value);
    } else if (type === "reasoning") {
      this.addOrWhole(value, parseReasoning(value));
    } else if (call !== undefined) {
      this.call(value, call);
    } else if (result !== undefined && value.member("call_id")?.asString !== undefined) {
      this.own(parseResult(value, result), value.path);
    } else {
      this.whole(value);
    }
  }

  /** Ends the assistant's message. */
  close(): void {
    const { turn } = this;
    this.turn = undefined;
    if (turn !== undefined) {
      this.messages.push(turn.message);
      check(turn.message, turn.path);
    }
  }

  /** Adds a message by itself. */
  private own(message: Message, path: string): void {
    this.close();
    this.messages.push(message);
    check(message, path);
  }

  /** Adds a part of an item to the assistant's message. */
  private add(value: Value, part: Part): void {
    this.turn ??= { message: create(MessageSchema, { role: Role.ASSISTANT }), path: value.path, calls: 0 };
    this.turn.message.parts.push(part);
  }

  private addOrWhole(value: Value, part: Part | undefined): void {
    if (part === undefined) {
      this.whole(value);
    } else {
      this.add(value, part);
    }
  }

  /** Adds a call. A message has no more calls than a server accepts: the next begins another. */
  private call(value: Value, called: Called): void {
    const part = parseCall(value, called);
    if (part !== undefined && this.turn?.calls === LIMITS.calls) {
      this.close();
    }
    this.addOrWhole(value, part);
    if (part !== undefined && this.turn !== undefined) {
      this.turn.calls++;
    }
  }

  /** Keeps an item as it is: in a message of the role that it has, or of the user who approves; else in the assistant's. */
  private whole(value: Value): void {
    const part = { ...jsonPart(value), extras: WHOLE_ITEM };
    const approves = typeOf(value) === "mcp_approval_response";
    const role = approves ? Role.USER : (ROLES.get(value.member("role")?.asString ?? "") ?? Role.ASSISTANT);
    if (role === Role.ASSISTANT) {
      this.add(value, part);
    } else {
      this.own(create(MessageSchema, { role, parts: [part] }), value.path);
    }
  }

  /** Takes an item of type message. */
  private message(value: Value): void {
    const taker = new Taker(value);
    const name = taker.look("role")?.asString;
    if (name === undefined) {
      throw new ConversionError(join(value.path, "role"), "is not a string");
    }
    const role = ROLES.get(name);
    if (role === undefined) {
      throw new ConversionError(join(value.path, "role"), "is not a role of this provider");
    }
    taker.take("role");
    taker.take("content");
    const content = taker.look("content");
    if (role === Role.ASSISTANT) {
      this.said(value, content, taker.extras());
      return;
    }
    const { parts, form } = parseContent(content, join(value.path, "content"), parseInput);
    this.own(create(MessageSchema, { role, parts, contentForm: form, extras: taker.extras() }), value.path);
  }

  /** Adds what an assistant's message says; others are the item's other members. */
  private said(value: Value, content: Value | undefined, others: string): void {
    if (content?.asString !== undefined) {
      const marked = others !== "" || this.isSpeaking();
      this.add(value, {
        ...textPart(content.asString),
        extras: marked ? asItem(others, { content: string("") }, value.path) : "",
      });
      return;
    }
    if (content?.kind !== "list" || content.items.length === 0) {
      this.whole(value);
      return;
    }
    for (const [i, item] of content.items.entries()) {
      const part = parseOutput(item);
      const extras = i > 0 ? part.extras : begins(part.extras, others, value.path);
      this.add(value, { ...part, extras });
    }
  }

  /** Whether the assistant's message ends in content of an item of type message. */
  private isSpeaking(): boolean {
    const last = this.turn?.message.parts.at(-1);
    return last !== undefined && isContent(last) && !isWhole(last);
  }
}

/** Extras of a part that begins an item with those other members. */
function asItem(others: string, first: Record<string, Value>, path: string): string {
  const item = merged(object(first), readExtras(others, path));
  return compact(object({ [ITEM]: item }), path);
}

/** A content part's extras where it begins an item with those other members. */
function begins(extras: string, others: string, path: string): string {
  const item = asItem(others, {}, path);
  // Both are compact objects, and the part's own has no such member.
  return extras === "" ? item : `${item.slice(0, -1)},${extras.slice(1)}`;
}

/** Makes the message of a call's result. */
function parseResult(value: Value, called: Called): Message {
  const taker = new Taker(value);
  const id = taker.string("call_id");
  const output = taker.look(called.result);
  taker.take(called.result);
  if (called === FUNCTION) {
    taker.take("type");
  }
  const isOther = output !== undefined && !["null", "string", "list"].includes(output.kind);
  const { parts, form } = isOther
    ? { parts: [{ ...jsonPart(output), extras: WHOLE_OUTPUT }], form: ContentForm.UNSPECIFIED }
    : parseContent(output, value.path, parseInput);
  return create(MessageSchema, {
    role: Role.TOOL,
    ...(id !== undefined && { toolCallId: id }),
    parts,
    contentForm: form,
    extras: taker.extras(),
  });
}

/** Makes a call of an item; undefined where it has not the documented form. */
function parseCall(value: Value, called: Called): Part | undefined {
  const taker = new Taker(value);
  const id = taker.ifString("call_id");
  const input = taker.look(called.input);
  if (id === undefined) {
    return undefined;
  }
  let name = called.kind.replace(/_call$/, "");
  let text = "";
  if (isNamed(called)) {
    const given = taker.ifString("name");
    if (given === undefined || input?.asString === undefined) {
      return undefined;
    }
    name = given;
    text = input.asString;
  } else if (input !== undefined) {
    text = compact(input, input.path);
  }
  taker.take(called.input);
  if (called === FUNCTION) {
    taker.take("type");
  }
  return create(PartSchema, {
    extras: taker.extras(),
    kind: { case: "toolCall", value: { id, name, arguments: text } },
  });
}

/** Makes reasoning of an item with a summary; undefined where it has not the documented form. */
function parseReasoning(value: Value): Part | undefined {
  const taker = new Taker(value);
  taker.take("type");
  const summary = taker.look("summary");
  if (summary?.kind !== "list") {
    return undefined;
  }
  const { texts, exact } = textsOf(summary, "summary_text");
  const thought = textsOf(taker.look("content"), "reasoning_text").texts;
  let text = texts.join("\n\n");
  if (texts.length === 0 && thought.length > 0) {
    text = thought.join("\n\n");
  } else if (exact && (texts.length === 0 || (texts.length === 1 && text !== ""))) {
    taker.take("summary");
  }
  return create(PartSchema, { extras: taker.extras(), kind: { case: "reasoning", value: { text } } });
}
