// Calls of tools, as chat completions have them.

import { create } from "@bufbuild/protobuf";

import { PartSchema, Role, type Message, type Part, type ToolCall } from "../gen/transcript/v1/message_pb.js";
import { ConversionError } from "../convert/report.js";
import { readExtras, Taker } from "../convert/taker.js";
import { compact, merged, object, string, type Value } from "../json.js";

// Members of a call part's extras that say how the call was written. No call that is read as documented has members of the first two
// names, and a type only where it is "custom".

/** "untyped" where the item of tool_calls has no type and else the documented form; where it has another form, the whole item. */
const WHOLE = "tool_call";
const UNTYPED = "untyped";
/** The call was the deprecated member function_call; holds what else stood in it. */
const DEPRECATED = "function_call";
/** Also the type of a custom tool's call. */
const CUSTOM = "custom";

/** Takes tool_calls of an assistant; null, an empty list and other roles' stay in the extras. */
export function parseCalls(taker: Taker, role: Role): Part[] {
  const value = taker.look("tool_calls");
  if (value === undefined || value.kind === "null" || role !== Role.ASSISTANT) {
    return [];
  }
  if (value.kind !== "list") {
    throw new ConversionError(value.path, "is neither a list nor null");
  }
  if (value.items.length > 0) {
    taker.take("tool_calls");
  }
  return value.items.map(parseCall);
}

function callPart(
  call: { id?: string | undefined; name?: string | undefined; arguments: string },
  extras: string,
): Part {
  const { id, name } = call;
  return create(PartSchema, {
    extras,
    kind: {
      case: "toolCall",
      value: { ...(id !== undefined && { id }), ...(name !== undefined && { name }), arguments: call.arguments },
    },
  });
}

function parseCall(value: Value): Part {
  if (value.kind !== "object") {
    throw new ConversionError(value.path, "is not an object");
  }
  const type = value.member("type");
  const custom = type?.asString === CUSTOM;
  const kind = custom ? CUSTOM : "function";
  const member = custom ? "input" : "arguments";
  const id = new Taker(value).string("id");
  const called = parseCalled(value.member(kind), member);
  const call = { id, name: called?.name, arguments: called?.text ?? "" };
  const documented =
    called?.text !== undefined &&
    (type === undefined || type.asString === kind) &&
    value.member(WHOLE) === undefined &&
    value.member(DEPRECATED) === undefined;
  const extras = documented ? otherMembers(value, kind, member) : compact(object({ [WHOLE]: value }), value.path);
  return callPart(call, extras);
}

/** Name and text of what is called; the text is undefined where it is null or absent, all where the member is. */
function parseCalled(
  value: Value | undefined,
  member: string,
): { name: string | undefined; text: string | undefined } | undefined {
  if (value === undefined || value.kind === "null") {
    return undefined;
  }
  if (value.kind !== "object") {
    throw new ConversionError(value.path, "is not an object");
  }
  const taker = new Taker(value);
  return { name: taker.string("name"), text: taker.string(member) };
}

/** A documented call's other members. The type "custom" stays; "function" is implied. */
function otherMembers(value: Value, kind: string, member: string): string {
  const taker = new Taker(value);
  if (kind !== CUSTOM) {
    taker.take("type");
  }
  taker.string("id");
  const inner = value.member(kind);
  if (inner !== undefined) {
    const sub = taker.sub(kind, inner);
    sub.take(member);
    sub.string("name");
  }
  if (value.member("type") !== undefined) {
    return taker.extras();
  }
  return compact(merged(object({ [WHOLE]: string(UNTYPED) }), taker.rest()), value.path);
}

/** Takes the deprecated function_call of an assistant: a call without an id, after all others. */
export function parseFunctionCall(taker: Taker, role: Role): Part[] {
  const value = taker.look(DEPRECATED);
  if (value === undefined || value.kind === "null" || role !== Role.ASSISTANT) {
    return [];
  }
  const name = value.member("name")?.asString;
  const text = value.member("arguments")?.asString;
  if (name === undefined || text === undefined) {
    throw new ConversionError(value.path, "has not a string as name and as arguments");
  }
  taker.take(DEPRECATED);
  const rest = new Taker(value);
  rest.take("name");
  rest.take("arguments");
  const other = rest.extras();
  return [callPart({ name, arguments: text }, `{"${DEPRECATED}":${other === "" ? "{}" : other}}`)];
}

/** The item of tool_calls that a call part stands for; or, where deprecated, the member function_call. */
export function formatCall(part: Part, call: ToolCall, path: string): { value: Value; deprecated: boolean } {
  const extras = readExtras(part.extras, `${path}.extras`);
  const whole = extras?.member(WHOLE);
  if (whole?.kind === "object") {
    return { value: whole, deprecated: false };
  }
  const other = extras?.member(DEPRECATED);
  if (other !== undefined) {
    return { value: merged(formatCalled(call, "arguments"), other), deprecated: true };
  }
  const { kind, member } = calledKind(extras);
  const value = object({
    id: call.id === undefined ? undefined : string(call.id),
    type: whole === undefined ? string(kind) : undefined,
    [kind]: formatCalled(call, member),
  });
  return { value: merged(value, extras?.without(WHOLE)), deprecated: false };
}

/** The type of a call and the member that holds the arguments. */
export function calledKind(extras: Value | undefined): { kind: "custom" | "function"; member: "input" | "arguments" } {
  return extras?.member("type")?.asString === CUSTOM
    ? { kind: CUSTOM, member: "input" }
    : { kind: "function", member: "arguments" };
}

function formatCalled(call: ToolCall, member: string): Value {
  return object({ name: call.name === undefined ? undefined : string(call.name), [member]: string(call.arguments) });
}

/** Whether the message is the result of a function, as the deprecated role says. */
export function isFunctionResult(message: Message, extras: Value | undefined): boolean {
  return message.role === Role.TOOL && extras?.member("role") !== undefined;
}
