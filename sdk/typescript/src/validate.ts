// The rules for messages that a client puts in a node. The server judges them, and more; an SDK judges what its converters made.

import { isMessage, type Message as AnyMessage } from "@bufbuild/protobuf";

import {
  ContentForm,
  MessageSchema,
  MessageState,
  Origin,
  Role,
  type Media,
  type Message,
  type Opaque,
  type Part,
  type Reasoning,
  type ToolCall,
} from "./gen/transcript/v1/message_pb.js";
import { encodePayload } from "./identity.js";
import { isWellFormed, MAX_JSON_DEPTH, readCompactable, write } from "./json.js";
import { isOpaque } from "./messages.js";

/** The limits on messages. A later server may have greater ones, not smaller. */
export const LIMITS = {
  /** The most bytes of a message, encoded. */
  messageBytes: 3 << 20,
  /** The most bytes of a node's messages, encoded. */
  payloadBytes: (4 << 20) - (128 << 10),
  /** The most messages of a node. */
  messages: 1000,
  /** The most tool calls of a message. */
  calls: 256,
  /** The most bytes of the id of a call. */
  callIdBytes: 1 << 10,
  /** The most bytes of the name of a tool or of a speaker. */
  nameBytes: 1 << 10,
  /** The most bytes of the type of an opaque part; the least is 1. */
  opaqueTypeBytes: 256,
  /** The most bytes of the data of an opaque part. */
  opaqueBytes: 1 << 20,
} as const;

/** Why something is refused: it breaks a rule, is over a limit, or has fields or characters that no message may have. */
export type Refusal = "invalid" | "limit" | "malformed";

/** Which field breaks which rule; never its value. */
export class FieldError extends Error {
  override readonly name = "FieldError";

  /**
   * @param field - The field's path, as the contract names fields: `messages[3].parts[0].tool_call.id`.
   * @param rule - What must hold: `must be at most 1024 bytes`.
   */
  constructor(
    readonly field: string,
    readonly rule: string,
    readonly kind: Refusal,
  ) {
    super(`${field}: ${rule}`);
  }
}

/**
 * Judges messages for one node, as servers of this version do: 1,000 at most. FieldError where one breaks a rule; its path begins
 * `messages`.
 */
export function validateMessages(messages: readonly Message[]): void {
  if (messages.length > LIMITS.messages) {
    throw new FieldError("messages", `must be at most ${String(LIMITS.messages)}`, "limit");
  }
  let total = 0;
  for (const [i, message] of messages.entries()) {
    const path = `messages[${String(i)}]`;
    validateMessage(message, path);
    const entry = encodePayload([message]).length;
    if (entry - prefixBytes(entry) > LIMITS.messageBytes) {
      throw new FieldError(path, `must be at most ${String(LIMITS.messageBytes)} bytes in canonical encoding`, "limit");
    }
    total += entry;
  }
  if (total > LIMITS.payloadBytes) {
    const rule = `must together be at most ${String(LIMITS.payloadBytes)} bytes in canonical encoding`;
    throw new FieldError("messages", rule, "limit");
  }
}

/**
 * TypeError where one of messages is no Message, or has a string that UTF-8 cannot hold: the runtime would send another in its place.
 */
export function mustBeMessages(messages: readonly Message[]): void {
  for (const [i, message] of messages.entries()) {
    if (!isMessage(message, MessageSchema)) {
      throw new TypeError(
        `messages[${String(i)}] must be a Message: make it with user, assistant, result or a converter`,
      );
    }
    if (!isSendable(message)) {
      throw new TypeError(
        `messages[${String(i)}] has half a surrogate pair in a string: use String.prototype.toWellFormed`,
      );
    }
  }
}

/** Whether UTF-8 can hold all strings of a value. */
function isSendable(value: unknown): boolean {
  if (typeof value === "string") {
    return isWellFormed(value);
  }
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) {
    return true;
  }
  return Object.values(value).every(isSendable);
}

/** The bytes of tag and length of an entry of so many bytes in all. */
function prefixBytes(entry: number): number {
  let bytes = 2;
  while (entry - bytes >= 2 ** (7 * (bytes - 1))) {
    bytes++;
  }
  return bytes;
}

function validateMessage(message: Message, path: string): void {
  if (!isMessage(message, MessageSchema)) {
    throw new FieldError(
      path,
      "must be a Message: make it with user, assistant, result or create(MessageSchema, …)",
      "invalid",
    );
  }
  known(message, path);
  enums(message, path);
  if (message.role !== Role.TOOL) {
    refuseIf(message.toolCallId !== undefined, `${path}.tool_call_id`, "must be set on TOOL messages only");
    refuseIf(message.isError, `${path}.is_error`, "must be set on TOOL messages only");
  }
  short(`${path}.tool_call_id`, message.toolCallId, LIMITS.callIdBytes);
  short(`${path}.name`, message.name, LIMITS.nameBytes);
  parts(message, path);
  alone(message, path);
  contentForm(message, `${path}.content_form`);
  extras(`${path}.extras`, message.extras);
}

function refuseIf(broken: boolean, field: string, rule: string): void {
  if (broken) {
    throw new FieldError(field, rule, "invalid");
  }
}

function known(message: AnyMessage, path: string): void {
  if (message.$unknown !== undefined && message.$unknown.length > 0) {
    throw new FieldError(path, "must not have fields that are not known", "malformed");
  }
}

function enums(message: Message, path: string): void {
  refuseIf(message.role === Role.UNSPECIFIED, `${path}.role`, "must be set");
  for (const [field, value, values] of [
    ["role", message.role, Role],
    ["state", message.state, MessageState],
    ["content_form", message.contentForm, ContentForm],
    ["origin", message.origin, Origin],
  ] as const) {
    refuseIf(!(value in values), `${path}.${field}`, "must be a declared value");
  }
  refuseIf(message.origin !== Origin.UNSPECIFIED, `${path}.origin`, "must not be set: it is the server's");
}

function parts(message: Message, path: string): void {
  let calls = 0;
  for (const [i, part] of message.parts.entries()) {
    const at = `${path}.parts[${String(i)}]`;
    validatePart(part, at);
    if (part.kind.case !== "toolCall") {
      continue;
    }
    refuseIf(message.role !== Role.ASSISTANT, `${at}.tool_call`, "must be on ASSISTANT messages only");
    calls++;
    if (calls > LIMITS.calls) {
      throw new FieldError(`${path}.parts`, `must hold at most ${String(LIMITS.calls)} tool calls`, "limit");
    }
  }
}

function validatePart(part: Part, path: string): void {
  known(part, path);
  switch (part.kind.case) {
    case "text":
      wellFormed(`${path}.text`, part.kind.value);
      break;
    case "reasoning":
      reasoning(part.kind.value, `${path}.reasoning`);
      break;
    case "media":
      media(part.kind.value, `${path}.media`);
      break;
    case "json":
      wellFormed(`${path}.json`, part.kind.value);
      break;
    case "toolCall":
      toolCall(part.kind.value, `${path}.tool_call`);
      break;
    case "opaque":
      opaque(part.kind.value, `${path}.opaque`);
      break;
    case undefined:
      throw new FieldError(path, "must have a kind", "invalid");
  }
  extras(`${path}.extras`, part.extras);
}

function reasoning(part: Reasoning, path: string): void {
  known(part, path);
  wellFormed(`${path}.text`, part.text);
  wellFormed(`${path}.signature`, part.signature);
}

function media(part: Media, path: string): void {
  known(part, path);
  wellFormed(`${path}.media_type`, part.mediaType);
  if (part.source.case === "uri") {
    wellFormed(`${path}.uri`, part.source.value);
  }
  const rule = "must not be set where ServerInfo does not list the feature blobs: use inline or uri";
  refuseIf(part.source.case === "blobDigest", `${path}.blob_digest`, rule);
}

function toolCall(call: ToolCall, path: string): void {
  known(call, path);
  short(`${path}.id`, call.id, LIMITS.callIdBytes);
  short(`${path}.name`, call.name, LIMITS.nameBytes);
  wellFormed(`${path}.arguments`, call.arguments);
}

function opaque(part: Opaque, path: string): void {
  known(part, path);
  refuseIf(part.type === "", `${path}.type`, "must not be empty");
  short(`${path}.type`, part.type, LIMITS.opaqueTypeBytes);
  if (part.data.length > LIMITS.opaqueBytes) {
    throw new FieldError(`${path}.data`, `must be at most ${String(LIMITS.opaqueBytes)} bytes`, "limit");
  }
}

/** Judges a message with an opaque part: it has a role other than TOOL, that part, and nothing else. */
function alone(message: Message, path: string): void {
  const at = message.parts.findIndex((part) => part.kind.case === "opaque");
  if (at < 0) {
    return;
  }
  const field = `${path}.parts[${String(at)}].opaque`;
  refuseIf(!isOpaque(message), field, "must be the only part of its message");
  refuseIf(message.role === Role.TOOL, field, "must not be on TOOL messages");
  for (const [name, set] of [
    ["parts[0].extras", message.parts[0]?.extras !== ""],
    ["name", message.name !== undefined],
    ["state", message.state !== MessageState.UNSPECIFIED],
    ["content_form", message.contentForm !== ContentForm.UNSPECIFIED],
    ["joined", message.joined],
    ["extras", message.extras !== ""],
  ] as const) {
    refuseIf(set, `${path}.${name}`, "must not be set on an opaque message");
  }
}

/**
 * Refuses a form that the parts imply. Calls and reasoning aside, no part implies null, exactly one text part without extras a string,
 * anything else a list.
 */
function contentForm(message: Message, field: string): void {
  const content = message.parts.filter((part) => part.kind.case !== "toolCall" && part.kind.case !== "reasoning");
  const single = content.length === 1 && content[0]?.kind.case === "text" && content[0].extras === "";
  refuseIf(
    message.contentForm === ContentForm.PARTS && content.length > 0 && !single,
    field,
    "must not be PARTS where the parts imply a list",
  );
  refuseIf(
    message.contentForm === ContentForm.ABSENT && content.length > 0,
    field,
    "must not be ABSENT where there is content",
  );
}

/** Judges text of any length. */
function wellFormed(field: string, text: string): void {
  if (!isWellFormed(text)) {
    throw new FieldError(field, "must be valid UTF-8", "malformed");
  }
}

/** Judges an optional text of limited length. */
function short(field: string, text: string | undefined, limit: number): void {
  if (text === undefined) {
    return;
  }
  if (new TextEncoder().encode(text).length > limit) {
    throw new FieldError(field, `must be at most ${String(limit)} bytes`, "limit");
  }
  wellFormed(field, text);
}

/** Judges extras: empty, or an object with a member in the compact form. */
function extras(field: string, text: string): void {
  if (text === "") {
    return;
  }
  wellFormed(field, text);
  const value = text.startsWith("{") ? readCompactable(text) : undefined;
  if (value === undefined) {
    const rule = `must be a JSON object in compact form, at most ${String(MAX_JSON_DEPTH)} deep, or empty`;
    throw new FieldError(field, rule, "invalid");
  }
  refuseIf(
    write(value) !== text,
    field,
    "must be a JSON object in compact form, strings escaped as JSON.stringify does",
  );
  refuseIf(value.members.length === 0, field, "must not be an empty object");
}
