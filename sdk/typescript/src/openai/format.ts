// Chat completions' messages, written without loss.

import type { Message, Part } from "../gen/transcript/v1/message_pb.js";
import { differences, formatContent } from "../convert/content.js";
import { forProvider, withoutOpaque } from "../convert/framework.js";
import { toBase64 } from "../convert/media.js";
import { ConversionError, index, type Change, type Report } from "../convert/report.js";
import { readExtras } from "../convert/taker.js";
import { list, merged, object, string, TRUE, write, type JsonObject, type Value } from "../json.js";
import { isOpaque } from "../messages.js";
import { formatCall, isFunctionResult } from "./calls.js";
import { parseMessage } from "./parse.js";
import { formatPart, roleName } from "./parts.js";

/**
 * Writes messages as a list of chat-completions messages: for what parse read, the same JSON again and an empty report. What is a framework's
 * own is not written: opaque messages, and the member `framework` of extras; the report has each (left_out). Other messages (put by another
 * client, or by another provider's converter) are written as nearly as OpenAI's form can; the report then names each field that parse would
 * not give back (inexact).
 *
 * @throws ConversionError for a message without a role, a part without a kind, extras that are no JSON object; paths begin `messages`.
 */
export function format(messages: readonly Message[]): { messages: JsonObject[]; report: Report } {
  const { text, report } = formatText(messages);
  return { messages: JSON.parse(text) as JsonObject[], report };
}

/** As format, as JSON text, in which numbers have their spelling. */
export function formatText(messages: readonly Message[]): { text: string; report: Report } {
  const report: Change[] = [];
  const placed = withoutOpaque(messages, {}, report);
  return { text: `[${placed.map(({ message, path }) => writeMessage(message, path, report)).join(",")}]`, report };
}

/** Writes one message, as format does. ConversionError, whose paths begin `message`, also for an opaque message, which no provider has. */
export function formatMessage(message: Message): { message: JsonObject; report: Report } {
  const { text, report } = formatMessageText(message);
  return { message: JSON.parse(text) as JsonObject, report };
}

/** As formatMessage, as JSON text, in which numbers have their spelling. */
export function formatMessageText(message: Message): { text: string; report: Report } {
  const report: Change[] = [];
  if (isOpaque(message)) {
    throw new ConversionError("message", "is opaque");
  }
  return { text: writeMessage(forProvider(message, "message", {}, report), "message", report), report };
}

/**
 * Writes one message for files, as transcriptctl export has it: as formatMessageText, but with the members of a framework, and an opaque
 * message as `{"role":ROLE,"opaque":{"type":TYPE,"data":BASE64}}`. parseMessage of it gives the same message.
 */
export function formatLine(message: Message): { text: string; report: Report } {
  const report: Change[] = [];
  const state = isOpaque(message) ? message.parts[0]?.kind : undefined;
  if (state?.case !== "opaque") {
    return { text: writeMessage(message, "message", report), report };
  }
  const line = object({
    role: string(roleName(message.role, "message")),
    opaque: object({ type: string(state.value.type), data: string(toBase64(state.value.data)) }),
  });
  return { text: write(line), report };
}

/** Writes a message, reads it again, and notes what does not come back. */
function writeMessage(message: Message, path: string, report: Change[]): string {
  const text = write(formatOne(message, path));
  try {
    differences(path, message, parseMessage(text).message, report);
  } catch (error) {
    if (!(error instanceof ConversionError)) {
      throw error;
    }
    report.push({ path, kind: "inexact" });
  }
  return text;
}

function formatOne(message: Message, path: string): Value {
  const extras = readExtras(message.extras, `${path}.extras`);
  const { content, reasoning, calls, functionCall } = formatParts(message, path);
  const value = object({
    role: isFunctionResult(message, extras) ? undefined : string(roleName(message.role, path)),
    content,
    reasoning_content: reasoning,
    tool_calls: calls,
    function_call: functionCall,
    tool_call_id: message.toolCallId === undefined ? undefined : string(message.toolCallId),
    name: message.name === undefined ? undefined : string(message.name),
    is_error: message.isError ? TRUE : undefined,
  });
  return merged(value, extras);
}

/** Reasoning, content and calls, each with its one place. */
function formatParts(
  message: Message,
  path: string,
): Record<"content" | "reasoning" | "calls" | "functionCall", Value | undefined> {
  const content: { part: Part; path: string }[] = [];
  const reasoning: string[] = [];
  const calls: Value[] = [];
  let functionCall: Value | undefined;
  for (const [i, part] of message.parts.entries()) {
    const at = index(`${path}.parts`, i);
    if (part.kind.case === "reasoning") {
      reasoning.push(part.kind.value.text);
    } else if (part.kind.case === "toolCall") {
      const { value, deprecated } = formatCall(part, part.kind.value, at);
      if (deprecated && functionCall === undefined) {
        functionCall = value;
      } else {
        calls.push(value);
      }
    } else {
      content.push({ part, path: at });
    }
  }
  return {
    content: formatContent(
      content.map((c) => c.part),
      message.contentForm,
      (part, i) => formatPart(part, content[i]?.path ?? path),
    ),
    reasoning: reasoning.length === 0 ? undefined : string(reasoning.join("\n\n")),
    calls: calls.length === 0 ? undefined : list(calls),
    functionCall,
  };
}
