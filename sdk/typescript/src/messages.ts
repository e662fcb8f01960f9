// Messages, made and read.

import { create } from "@bufbuild/protobuf";

import {
  MessageSchema,
  PartSchema,
  Role,
  ToolCallSchema,
  type Message,
  type Part,
  type ToolCall,
} from "./gen/transcript/v1/message_pb.js";
import { UNKNOWN_RESULT_TEXT } from "./texts.js";

/** A system message of one text. */
export function system(text: string): Message {
  return textMessage(Role.SYSTEM, text);
}

/** A user's message of one text. */
export function user(text: string): Message {
  return textMessage(Role.USER, text);
}

/** An assistant's message of a text, which may be empty where there are calls, and calls. */
export function assistant(text: string, calls: readonly ToolCall[] = []): Message {
  const parts = mustBeString("text", text) !== "" || calls.length === 0 ? [textPart(text)] : [];
  return create(MessageSchema, {
    role: Role.ASSISTANT,
    parts: [...parts, ...calls.map((call) => create(PartSchema, { kind: { case: "toolCall", value: call } }))],
  });
}

/** A tool call with the arguments as the model wrote them, which are JSON as a rule. */
export function call(id: string, name: string, toolArguments: string): ToolCall {
  return create(ToolCallSchema, {
    id: mustBeString("id", id),
    name: mustBeString("name", name),
    arguments: mustBeString("arguments", toolArguments, "pass the text that the model wrote, or JSON.stringify of it"),
  });
}

/** The result of a call: a tool's message of one text with the call's id and name. */
export function result(call: ToolCall, text: string, options: { readonly isError?: boolean } = {}): Message {
  const message = textMessage(Role.TOOL, text);
  if (call.id !== undefined) {
    message.toolCallId = call.id;
  }
  if (call.name !== undefined) {
    message.name = call.name;
  }
  message.isError = options.isError ?? false;
  return message;
}

/** The answer to a call of which nobody knows whether it ran. */
export function unknownResult(call: ToolCall): Message {
  return result(call, UNKNOWN_RESULT_TEXT, { isError: true });
}

/**
 * A framework's own state, for a node: the service gives it back in the full view, and no model is sent it.
 *
 * @param type - What tells a framework its own: 1 to 256 bytes.
 * @param data - At most 1 MiB.
 */
export function opaque(type: string, data: Uint8Array): Message {
  mustBeString("type", type);
  if (!(data instanceof Uint8Array)) {
    throw new TypeError("data must be a Uint8Array: encode text with TextEncoder");
  }
  const part = create(PartSchema, { kind: { case: "opaque", value: { type, data } } });
  return create(MessageSchema, { role: Role.SYSTEM, parts: [part] }); // the role says nothing
}

/** Whether a message is a framework's own state. */
export function isOpaque(message: Message): boolean {
  return message.parts.length === 1 && message.parts[0]?.kind.case === "opaque";
}

/** The text of a message: its text parts, end to end. */
export function text(message: Message): string {
  return partsOf(message)
    .map((part) => (part.kind.case === "text" ? part.kind.value : ""))
    .join("");
}

/** The tool calls of a message, in order. */
export function calls(message: Message): ToolCall[] {
  return partsOf(message).flatMap((part) => (part.kind.case === "toolCall" ? [part.kind.value] : []));
}

/**
 * The calls of the group that messages end in that have no result there, in order. The messages are an effective view. A result answers the
 * first unanswered call with its id; absent equals absent.
 */
export function openCalls(messages: readonly Message[]): ToolCall[] {
  const results = messages.findLastIndex((m) => m.role !== Role.TOOL) + 1;
  const first = messages.findLastIndex((m, i) => i < results && calls(m).length === 0) + 1;
  const open = messages.slice(first, results).flatMap(calls);
  for (const answer of messages.slice(results)) {
    const answered = open.findIndex((c) => c.id === answer.toolCallId);
    if (answered >= 0) {
      open.splice(answered, 1);
    }
  }
  return open;
}

function textMessage(role: Role, text: string): Message {
  return create(MessageSchema, { role, parts: [textPart(mustBeString("text", text))] });
}

/** A part of a text. */
export function textPart(text: string): Part {
  return create(PartSchema, { kind: { case: "text", value: text } });
}

function partsOf(message: Message): readonly Part[] {
  if (!Array.isArray((message as Partial<Message> | undefined)?.parts)) {
    throw new TypeError("message must be a Message: make it with user, assistant, result or a converter");
  }
  return message.parts;
}

function mustBeString(argument: string, value: unknown, hint = "pass a string"): string {
  if (typeof value !== "string") {
    throw new TypeError(`${argument} must be a string: ${hint}`);
  }
  return value;
}
