// Items of the Responses API, and what they are of.

import { Role, type Part } from "../gen/transcript/v1/message_pb.js";
import { inlineMedia, jsonPart, jsonValue, uriMedia } from "../convert/content.js";
import { dataUrl, fromDataUrl, placeholder } from "../convert/media.js";
import { ConversionError } from "../convert/report.js";
import { Taker } from "../convert/taker.js";
import { merged, object, string, type Value } from "../json.js";
import { textPart } from "../messages.js";
import type { Media } from "../gen/transcript/v1/message_pb.js";

/**
 * The member of an assistant's content part's extras by which it begins an item of type message: an object with the item's other members; with
 * `"content":""` among them its content was a string. A part without it goes on with the item before, or is an item of nothing but its role and
 * its text, as a string. An item of content that has such a member is a json part, whole.
 */
export const ITEM = "item";

/** The extras of json parts that are more than an item of content: a whole item; what a result has as its output, where that is no content. */
export const WHOLE_ITEM = '{"json":"item"}';
export const WHOLE_OUTPUT = '{"json":"output"}';

/** How an item that calls a tool of the caller's has it. Each has a call_id. */
export interface Called {
  /** The types of the call and of its result. */
  readonly kind: string;
  readonly output: string;
  /** The call's member with the arguments, and the result's with its content. */
  readonly input: string;
  readonly result: string;
}

/** The call of a function, whose arguments, as a custom tool's, are a text that stands beside a name. */
export const FUNCTION: Called = {
  kind: "function_call",
  output: "function_call_output",
  input: "arguments",
  result: "output",
};
export const CUSTOM: Called = {
  kind: "custom_tool_call",
  output: "custom_tool_call_output",
  input: "input",
  result: "output",
};

/** All calls. Those without a name are named by their type. */
const CALLS: readonly Called[] = [
  FUNCTION,
  CUSTOM,
  { kind: "local_shell_call", output: "local_shell_call_output", input: "action", result: "output" },
  { kind: "shell_call", output: "shell_call_output", input: "action", result: "output" },
  { kind: "computer_call", output: "computer_call_output", input: "action", result: "output" },
  { kind: "apply_patch_call", output: "apply_patch_call_output", input: "operation", result: "output" },
  { kind: "tool_search_call", output: "tool_search_output", input: "arguments", result: "tools" },
];

/** The kind of call that an item of a type is. */
export function callOf(type: string | undefined): Called | undefined {
  return CALLS.find((c) => c.kind === type);
}

/** The kind of call that an item of a type is the result of. */
export function resultOf(type: string | undefined): Called | undefined {
  return CALLS.find((c) => c.output === type);
}

/** Whether calls of a kind have a name beside a text of arguments. */
export function isNamed(called: Called): boolean {
  return called === FUNCTION || called === CUSTOM;
}

/** The roles of messages. */
export const ROLES = new Map([
  ["system", Role.SYSTEM],
  ["developer", Role.DEVELOPER],
  ["user", Role.USER],
  ["assistant", Role.ASSISTANT],
]);

/** The name of a role; undefined of one that no message has. */
export function roleName(role: Role): string | undefined {
  return [...ROLES].find(([, r]) => r === role)?.[0];
}

/** The type of an item. */
export function typeOf(value: Value | undefined): string {
  return value?.member("type")?.asString ?? "";
}

/** Whether a part is a whole item. Part extras that parse makes are compact. */
export function isWhole(part: Part): boolean {
  return part.kind.case === "json" && part.extras === WHOLE_ITEM;
}

/** The texts of a list's items of a type; exact where it has nothing else. */
export function textsOf(list: Value | undefined, type: string): { texts: string[]; exact: boolean } {
  const items = list?.items ?? [];
  const isText = (item: Value): boolean => typeOf(item) === type && item.member("text")?.asString !== undefined;
  const texts = items.filter(isText).map((item) => item.member("text")?.asString ?? "");
  return { texts, exact: list !== undefined && items.every((item) => isText(item) && item.members.length === 2) };
}

/** A summary of one text, or of none. */
export function summaryOf(texts: readonly string[]): Value[] {
  return texts.map((text) => typed("summary_text", { text: string(text) }));
}

/** `{"type":TYPE}` and the members that are there. */
export function typed(type: string, members: Record<string, Value | undefined>): Value {
  return object({ type: string(type), ...members });
}

/** An item of type message of the assistant. */
export function said(content: Value): Value {
  return object({ role: string("assistant"), content });
}

/** OpenAI's names of items of content; the media types of what is kept by URL are those of chat completions. */
export const INPUT_IMAGE = "input_image";
export const INPUT_FILE = "input_file";

/** Makes a part of an item of what an assistant says. What is not text is a json part, whole. */
export function parseOutput(value: Value): Part {
  if (typeOf(value) !== "output_text" || value.member(ITEM) !== undefined) {
    return jsonPart(value);
  }
  return parseText(value);
}

function parseText(value: Value): Part {
  const taker = new Taker(value);
  const text = taker.ifString("text");
  if (text === undefined) {
    return jsonPart(value);
  }
  taker.take("type");
  return { ...textPart(text), extras: taker.extras() };
}

/**
 * Makes a part of an item of what anybody else says, or a tool. What has not the form of a part that has a kind of its own is a json part, whole.
 */
export function parseInput(value: Value): Part {
  const type = typeOf(value);
  if (type === "input_text") {
    return parseText(value);
  }
  const taker = new Taker(value);
  const media = parseMedia(taker, type);
  if (media === undefined) {
    return jsonPart(value);
  }
  taker.take("type");
  media.extras = taker.extras();
  return media;
}

function parseMedia(taker: Taker, type: string): Part | undefined {
  if (type === INPUT_IMAGE) {
    const url = taker.ifString("image_url");
    const found = url === undefined ? undefined : fromDataUrl(url);
    if (found?.mediaType.startsWith("image/") === true) {
      return inlineMedia(found.mediaType, found.data);
    }
    return url === undefined ? undefined : uriMedia("image_url", url);
  }
  if (type !== INPUT_FILE) {
    return undefined;
  }
  if (taker.look("file_data")?.asString !== undefined) {
    const found = fromDataUrl(taker.ifString("file_data") ?? "");
    // An image would be taken for one that is no file.
    return found === undefined || found.mediaType.startsWith("image/")
      ? undefined
      : inlineMedia(found.mediaType, found.data);
  }
  const url = taker.look("file_data") === undefined ? taker.ifString("file_url") : undefined;
  return url === undefined ? undefined : uriMedia("file", url);
}

/** The item of content that a part stands for, of what a role says; extras are those that are the item's. */
export function formatPart(part: Part, extras: Value | undefined, role: Role, path: string): Value {
  switch (part.kind.case) {
    case "text":
      return merged(textItem(part.kind.value, role), extras);
    case "media": {
      const { mediaType } = part.kind.value;
      return merged(mediaItem(part.kind.value) ?? textItem(placeholder(mediaType), role), extras);
    }
    case "json":
      return jsonValue(part.kind.value);
    default:
      throw new ConversionError(path, "has no kind");
  }
}

/** A text of what a role says. */
export function textItem(text: string, role: Role): Value {
  return typed(role === Role.ASSISTANT ? "output_text" : "input_text", { text: string(text) });
}

/** Whether a media type is an image's, by whatever provider's name. */
export function isImage(mediaType: string): boolean {
  return mediaType === "image_url" || mediaType === "image" || mediaType.startsWith("image/");
}

/** The item that OpenAI has for a piece of media, with further members; undefined where it has none. */
export function mediaItem({ mediaType, source }: Media, others: Record<string, Value> = {}): Value | undefined {
  const image = isImage(mediaType);
  switch (source.case) {
    case "uri":
      return typed(image ? INPUT_IMAGE : INPUT_FILE, {
        [image ? "image_url" : "file_url"]: string(source.value),
        ...others,
      });
    case "inline":
      return typed(image ? INPUT_IMAGE : INPUT_FILE, {
        [image ? "image_url" : "file_data"]: string(dataUrl(mediaType, source.value)),
        ...others,
      });
    default:
      return undefined;
  }
}
