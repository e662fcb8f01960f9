// Items of the Responses API, written without loss.

import { clone } from "@bufbuild/protobuf";

import { MessageSchema, Role, type Message, type Part, type ToolCall } from "../gen/transcript/v1/message_pb.js";
import { differences, formatContent, isContent, jsonValue } from "../convert/content.js";
import { withoutOpaque } from "../convert/framework.js";
import { ConversionError, index, type Change, type Report } from "../convert/report.js";
import { readExtras } from "../convert/taker.js";
import { list, merged, object, readCompactable, string, write, type JsonObject, type Value } from "../json.js";
import {
  callOf,
  formatPart,
  FUNCTION,
  isNamed,
  isWhole,
  ITEM,
  resultOf,
  roleName,
  said,
  summaryOf,
  typed,
  WHOLE_OUTPUT,
} from "./items.js";
import { parse } from "./parse.js";

/** Where extras have the members of an item. */
export const INNER = { part: ITEM };

/**
 * Writes messages as a list of items: for what parse read, the same JSON again and an empty report. What is a framework's own is not written: opaque
 * messages, and the member `framework` of extras; the report has each (left_out). Other messages (put by another client, or by another provider's
 * converter) are written as nearly as the items can; the report then names each field that parse would not give back, or, where it would give more
 * messages or fewer, `messages` (inexact).
 *
 * @throws ConversionError for a message without a role, a part without a kind, extras that are no JSON object; paths begin `messages`.
 */
export function format(messages: readonly Message[]): { items: JsonObject[]; report: Report } {
  const { text, report } = formatText(messages);
  return { items: JSON.parse(text) as JsonObject[], report };
}

/** As format, as JSON text, in which numbers have their spelling. */
export function formatText(messages: readonly Message[]): { text: string; report: Report } {
  const report: Change[] = [];
  const placed = withoutOpaque(messages, INNER, report);
  const writer = new Writer();
  for (const { message, path } of placed) {
    writer.message(message, path);
  }
  const text = write(list(writer.items));
  const again = readAgain(text);
  if (again?.length !== placed.length) {
    report.push({ path: "messages", kind: "inexact", count: placed.length });
    return { text, report };
  }
  for (const [i, { message, path }] of placed.entries()) {
    const got = again[i];
    if (got !== undefined) {
      differences(path, unmarked(message), got, report);
    }
  }
  return { text, report };
}

function readAgain(text: string): Message[] | undefined {
  try {
    return parse(text).messages;
  } catch (error) {
    if (error instanceof ConversionError) {
      return undefined;
    }
    throw error;
  }
}

/**
 * An assistant's message in which no part is marked as an item of nothing but a text, where that need not be said: so is a part of which a
 * framework's members were left out.
 */
function unmarked(message: Message): Message {
  if (message.role !== Role.ASSISTANT) {
    return message;
  }
  const isMarked = (part: Part, i: number): boolean => {
    const before = message.parts[i - 1];
    const follows = before !== undefined && isContent(before) && !isWhole(before);
    return part.kind.case === "text" && !follows && part.extras === `{"${ITEM}":{"content":""}}`;
  };
  if (!message.parts.some(isMarked)) {
    return message;
  }
  const copy = clone(MessageSchema, message);
  for (const [i, part] of copy.parts.entries()) {
    if (isMarked(part, i)) {
      part.extras = "";
    }
  }
  return copy;
}

class Writer {
  /** The items so far; the content of an item of type message that was begun grows. */
  readonly items: Value[] = [];
  private content: Value[] | undefined;

  message(message: Message, path: string): void {
    this.content = undefined;
    if (message.role === Role.ASSISTANT) {
      this.turn(message, path);
      return;
    }
    const extras = readExtras(message.extras, `${path}.extras`);
    if (message.role === Role.TOOL) {
      this.items.push(formatResult(message, extras, path));
      return;
    }
    const role = roleName(message.role);
    if (role === undefined) {
      throw new ConversionError(`${path}.role`, "is not a role");
    }
    const [first] = message.parts;
    if (message.parts.length === 1 && first !== undefined && isWhole(first)) {
      this.items.push(formatItem(first, undefined));
      return;
    }
    this.items.push(merged(object({ role: string(role), content: contentOf(message, path) }), extras));
  }

  /** Writes the items of an assistant's message. */
  private turn(message: Message, path: string): void {
    if (message.parts.length === 0) {
      this.items.push(said(string("")));
      return;
    }
    for (const [i, part] of message.parts.entries()) {
      const at = index(`${path}.parts`, i);
      const extras = readExtras(part.extras, `${at}.extras`);
      if (isContent(part) && !isWhole(part)) {
        this.say(message, i, extras, at);
      } else {
        this.content = undefined;
        this.items.push(formatItem(part, extras));
      }
    }
  }

  /** Writes a part of what an assistant says: to the item that was begun, or to one of its own. */
  private say({ parts, role }: Message, i: number, extras: Value | undefined, path: string): void {
    const part = parts[i];
    if (part === undefined) {
      return;
    }
    const given = extras?.member(ITEM);
    const item = given?.kind === "object" ? given : undefined;
    const alone = !goesOn(parts[i + 1]);
    const text = part.kind.case === "text" ? part.kind.value : undefined;
    if (item === undefined && this.content === undefined && alone && text !== undefined && part.extras === "") {
      this.items.push(said(string(text)));
      return;
    }
    const asText = item?.member("content")?.asString !== undefined && extras?.members.length === 1;
    if (alone && asText && text !== undefined) {
      this.items.push(merged(said(string(text)), item.without("content")));
      this.content = undefined;
      return;
    }
    const own = item === undefined ? extras : extras?.without(ITEM);
    const value = formatPart(part, own, role, path);
    if (item !== undefined || this.content === undefined) {
      this.content = [];
      this.items.push(merged(said(list(this.content)), item));
    }
    this.content.push(value);
  }
}

/** Whether a part goes on with the item before it. */
function goesOn(part: Part | undefined): boolean {
  if (part === undefined || !isContent(part) || isWhole(part)) {
    return false;
  }
  try {
    return readExtras(part.extras, "")?.member(ITEM)?.kind !== "object";
  } catch (error) {
    if (error instanceof ConversionError) {
      return false;
    }
    throw error;
  }
}

/** The content of a message that is not the assistant's. Only an assistant has calls and reasoning here. */
function contentOf(message: Message, path: string): Value | undefined {
  const content = message.parts
    .map((part, i) => ({ part, path: index(`${path}.parts`, i) }))
    .filter((p) => isContent(p.part));
  return formatContent(
    content.map((c) => c.part),
    message.contentForm,
    (part, i) => {
      const at = content[i]?.path ?? path;
      return formatPart(part, readExtras(part.extras, `${at}.extras`), message.role, at);
    },
  );
}

/** The item of a call's result. */
function formatResult(message: Message, extras: Value | undefined, path: string): Value {
  const called = resultOf(extras?.member("type")?.asString) ?? FUNCTION;
  const [only] = message.parts;
  const isOther = message.parts.length === 1 && only?.kind.case === "json" && only.extras === WHOLE_OUTPUT;
  const output = isOther ? jsonValue(only.kind.value as string) : contentOf(message, path);
  const value = typed(called.output, {
    call_id: message.toolCallId === undefined ? undefined : string(message.toolCallId),
    [called.result]: output,
  });
  return merged(value, extras);
}

/** The item of a call, of reasoning, or of a part that is one. */
function formatItem({ kind }: Part, extras: Value | undefined): Value {
  switch (kind.case) {
    case "toolCall":
      return formatCall(kind.value, extras);
    case "reasoning": {
      const { text } = kind.value;
      const summary = list(summaryOf(text === "" ? [] : [text]));
      return merged(typed("reasoning", { summary: extras?.member("summary") ? undefined : summary }), extras);
    }
    case "json":
      return jsonValue(kind.value);
    default:
      throw new Error("no other part is an item");
  }
}

function formatCall(call: ToolCall, extras: Value | undefined): Value {
  const called = callOf(extras?.member("type")?.asString) ?? FUNCTION;
  const id = call.id === undefined ? undefined : string(call.id);
  if (isNamed(called)) {
    const name = call.name === undefined ? undefined : string(call.name);
    return merged(typed(called.kind, { call_id: id, name, [called.input]: string(call.arguments) }), extras);
  }
  const input = call.arguments === "" ? undefined : (readCompactable(call.arguments) ?? string(call.arguments));
  // The input is the model's, whole: one of the extras does not mix with it.
  const others = input === undefined ? extras : extras?.without(called.input);
  return merged(typed(called.kind, { call_id: id, [called.input]: input }), others);
}
