// Messages of the Messages API, written without loss.

import { Role, type Message } from "../gen/transcript/v1/message_pb.js";
import { differences, formatContent } from "../convert/content.js";
import { withoutOpaque, type Placed } from "../convert/framework.js";
import { ConversionError, index, type Change, type Report } from "../convert/report.js";
import { readExtras } from "../convert/taker.js";
import { list, merged, object, string, TRUE, write, type JsonObject, type JsonValue, type Value } from "../json.js";
import { block, formatBlock, optional } from "./blocks.js";
import { MESSAGE, parse, parseMessage } from "./parse.js";

/** What a request holds of a transcript. */
export interface Request {
  /** The system prompt, if there is one. */
  system?: JsonValue;
  /** The messages. */
  messages: JsonObject[];
}

/**
 * Writes messages as `{"system": …, "messages": […]}`: for what parse read, the same system and messages again and an empty report. What is a
 * framework's own is not written: opaque messages, and the member `framework` of extras; the report has each (left_out). Other messages (put
 * by another client, or by another provider's converter) are written as nearly as Anthropic's form can; the report then names each field that
 * parse would not give back (inexact).
 *
 * @throws ConversionError for a message without a role, a part without a kind, extras that are no JSON object; paths begin `messages`.
 */
export function format(messages: readonly Message[]): { request: Request; report: Report } {
  const { text, report } = formatText(messages);
  return { request: JSON.parse(text) as Request, report };
}

/** As format, as JSON text, in which numbers have their spelling. */
export function formatText(messages: readonly Message[]): { text: string; report: Report } {
  const report: Change[] = [];
  const placed = withoutOpaque(messages, { message: MESSAGE }, report);
  const [first, ...others] = placed;
  const hasSystem = first !== undefined && isSystem(first.message);
  const formed = oneByOne(hasSystem ? others : placed).map(formatOne);
  const request = object({ system: hasSystem ? contentOf(first) : undefined, messages: list(formed) });
  const text = write(request);
  compare(placed, () => parse(text).messages, report);
  return { text, report };
}

/**
 * Writes messages that are one at the provider, such as parseMessage gives, as format does. ConversionError also where they are none or more
 * than one there.
 */
export function formatMessage(messages: readonly Message[]): { message: JsonObject; report: Report } {
  const { text, report } = formatMessageText(messages);
  return { message: JSON.parse(text) as JsonObject, report };
}

/** As formatMessage, as JSON text, in which numbers have their spelling. */
export function formatMessageText(messages: readonly Message[]): { text: string; report: Report } {
  const report: Change[] = [];
  const placed = withoutOpaque(messages, { message: MESSAGE }, report);
  const [one, ...more] = oneByOne(placed);
  if (one === undefined || more.length > 0) {
    throw new ConversionError("messages", "is not one message of the provider");
  }
  const text = write(formatOne(one));
  compare(placed, () => parseMessage(text).messages, report);
  return { text, report };
}

/** Notes what reading again what was written does not give back. */
function compare(placed: readonly Placed[], readAgain: () => Message[], report: Change[]): void {
  let again: Message[] = [];
  try {
    again = readAgain();
  } catch (error) {
    if (!(error instanceof ConversionError)) {
      throw error;
    }
  }
  if (again.length !== placed.length) {
    report.push({ path: "messages", kind: "inexact", count: placed.length });
    return;
  }
  for (const [i, { message, path }] of placed.entries()) {
    const got = again[i];
    if (got !== undefined) {
      differences(path, message, got, report);
    }
  }
}

/** Whether a first message is the member system, rather than one of the messages with that role. */
function isSystem(message: Message): boolean {
  return message.role === Role.SYSTEM && message.extras === "";
}

/** The messages, those together that are one at the provider. */
function oneByOne(placed: readonly Placed[]): Placed[][] {
  const all: Placed[][] = [];
  for (const one of placed) {
    const last = all.at(-1);
    const first = last?.[0];
    if (
      last !== undefined &&
      first !== undefined &&
      one.message.joined &&
      roleName(one.message) === roleName(first.message)
    ) {
      last.push(one);
    } else {
      all.push([one]);
    }
  }
  return all;
}

/** The name that the role has at Anthropic, where developers are the system and results the user's; undefined of no role. */
export function roleName(message: Message): "user" | "assistant" | "system" | undefined {
  switch (message.role) {
    case Role.USER:
    case Role.TOOL:
      return "user";
    case Role.ASSISTANT:
      return "assistant";
    case Role.SYSTEM:
    case Role.DEVELOPER:
      return "system";
    default:
      return undefined;
  }
}

/** Writes the messages that are one at the provider. */
function formatOne(placed: readonly Placed[]): Value {
  const [first] = placed;
  const role = first && roleName(first.message);
  if (first === undefined || role === undefined) {
    throw new ConversionError(`${first?.path ?? "messages"}.role`, "is not a role");
  }
  const isResult = first.message.role === Role.TOOL;
  const extras = readExtras(first.message.extras, `${first.path}.extras`);
  const content = placed.length > 1 || isResult ? list(placed.flatMap(blocksOf)) : contentOf(first);
  return merged(object({ role: string(role), content }), isResult ? extras?.member(MESSAGE) : extras);
}

function contentOf({ message, path }: Placed): Value | undefined {
  return formatContent(message.parts, message.contentForm, (part, i) => formatBlock(part, index(`${path}.parts`, i)));
}

/** A block of a result, or the blocks of any other message. */
function blocksOf(placed: Placed, at: number): Value[] {
  const { message, path } = placed;
  if (message.role === Role.TOOL) {
    return [formatResult(placed, at === 0)];
  }
  return message.parts.map((part, i) => formatBlock(part, index(`${path}.parts`, i)));
}

/** A tool_result block. The first of a message does not hold the message's other members. */
function formatResult(placed: Placed, isFirst: boolean): Value {
  const { message, path } = placed;
  const extras = readExtras(message.extras, `${path}.extras`);
  const value = block("tool_result", {
    tool_use_id: optional(message.toolCallId),
    content: contentOf(placed),
    is_error: message.isError ? TRUE : undefined,
  });
  return merged(value, isFirst ? extras?.without(MESSAGE) : extras);
}
