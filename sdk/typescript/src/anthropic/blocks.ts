// Blocks of content, as the Messages API has them.

import { create } from "@bufbuild/protobuf";

import {
  PartSchema,
  Role,
  type Media,
  type Part,
  type Reasoning,
  type ToolCall,
} from "../gen/transcript/v1/message_pb.js";
import { inlineMedia, jsonPart, jsonValue, uriMedia } from "../convert/content.js";
import { fromBase64, isMediaType, placeholder, toBase64 } from "../convert/media.js";
import { ConversionError } from "../convert/report.js";
import { readExtras, Taker } from "../convert/taker.js";
import { compact, merged, object, readCompactable, string, type Value } from "../json.js";
import { textPart } from "../messages.js";

/** Anthropic's names of the blocks of media; also the media types of what is kept by URL. */
export const IMAGE = "image";
export const DOCUMENT = "document";

/**
 * Makes parts of the blocks of a message of some role. A block that has not the form of a block that has a kind of its own is a json part,
 * whole.
 */
export function blockParser(role: Role): (value: Value) => Part {
  return (value) => {
    const taker = new Taker(value);
    const part = parseBlock(taker, value.member("type")?.asString, role);
    if (part === undefined) {
      return jsonPart(value);
    }
    taker.take("type");
    part.extras = taker.extras();
    return part;
  };
}

/** The part of a block; undefined of one without a kind of its own. */
function parseBlock(taker: Taker, type: string | undefined, role: Role): Part | undefined {
  switch (type) {
    case "text": {
      const text = taker.ifString("text");
      return text === undefined ? undefined : textPart(text);
    }
    case "thinking":
      return parseThinking(taker);
    case "redacted_thinking": {
      const text = taker.ifString("data") ?? "";
      const redactedData = text === "" ? undefined : fromBase64(text);
      return redactedData && reasoningPart({ redactedData });
    }
    case "tool_use":
      return role === Role.ASSISTANT ? parseCall(taker) : undefined;
    case IMAGE:
    case DOCUMENT:
      return parseMedia(taker, type);
    default:
      return undefined;
  }
}

function reasoningPart(value: { text?: string; signature?: string; redactedData?: Uint8Array }): Part {
  return create(PartSchema, { kind: { case: "reasoning", value } });
}

function parseThinking(taker: Taker): Part | undefined {
  const text = taker.ifString("thinking");
  if (text === undefined) {
    return undefined;
  }
  const signature = taker.look("signature")?.asString ?? "";
  if (signature !== "") {
    taker.take("signature");
  }
  return reasoningPart({ text, signature });
}

/** Makes a call of a tool_use block. The arguments are the input as JSON text, empty where there is none. */
function parseCall(taker: Taker): Part {
  const id = taker.string("id");
  const name = taker.string("name");
  const input = taker.look("input");
  taker.take("input");
  return create(PartSchema, {
    kind: {
      case: "toolCall",
      value: {
        ...(id !== undefined && { id }),
        ...(name !== undefined && { name }),
        arguments: input === undefined ? "" : compact(input, input.path),
      },
    },
  });
}

/** Makes media of an image or document with a source by URL, or as base64 of a type that tells the two kinds of block apart. */
function parseMedia(taker: Taker, type: string): Part | undefined {
  const source = taker.look("source");
  if (source === undefined) {
    return undefined;
  }
  const rest = taker.sub("source", source);
  switch (rest.ifString("type")) {
    case "url": {
      const url = rest.ifString("url");
      return url === undefined ? undefined : uriMedia(type, url);
    }
    case "base64": {
      const mediaType = rest.ifString("media_type") ?? "";
      const text = rest.ifString("data");
      if (text === undefined || !isMediaType(mediaType) || isImage(mediaType) !== (type === IMAGE)) {
        return undefined;
      }
      const data = fromBase64(text);
      return data && inlineMedia(mediaType, data);
    }
    default:
      return undefined;
  }
}

/** Whether a media type is an image's; OpenAI's name for one by URL counts. */
export function isImage(mediaType: string): boolean {
  return mediaType === IMAGE || mediaType === "image_url" || mediaType.startsWith("image/");
}

/** The block that a part stands for. */
export function formatBlock(part: Part, path: string): Value {
  const extras = readExtras(part.extras, `${path}.extras`);
  switch (part.kind.case) {
    case "text":
      return merged(textBlock(part.kind.value), extras);
    case "reasoning":
      return merged(thinkingBlock(part.kind.value), extras);
    case "toolCall":
      // The input is the model's, whole: an input of the extras does not mix with it.
      return merged(callBlock(part.kind.value), part.kind.value.arguments === "" ? extras : extras?.without("input"));
    case "media":
      return merged(mediaBlock(part.kind.value), extras);
    case "json":
      return jsonValue(part.kind.value);
    default:
      throw new ConversionError(path, "has no kind");
  }
}

/** A block of a type with the members that are there. */
export function block(type: string, members: Record<string, Value | undefined>): Value {
  return object({ type: string(type), ...members });
}

/** The block of a text. */
export function textBlock(text: string): Value {
  return block("text", { text: string(text) });
}

/** Whether reasoning is nothing but what Anthropic encrypted. */
export function isRedacted(reasoning: Reasoning): boolean {
  return reasoning.redactedData.length > 0 && reasoning.text === "" && reasoning.signature === "";
}

/** The block of reasoning. */
export function thinkingBlock(reasoning: Reasoning): Value {
  if (isRedacted(reasoning)) {
    return block("redacted_thinking", { data: string(toBase64(reasoning.redactedData)) });
  }
  return block("thinking", {
    thinking: string(reasoning.text),
    signature: reasoning.signature === "" ? undefined : string(reasoning.signature),
  });
}

function callBlock(call: ToolCall): Value {
  return block("tool_use", {
    id: optional(call.id),
    name: optional(call.name),
    input: call.arguments === "" ? undefined : (readCompactable(call.arguments) ?? string(call.arguments)),
  });
}

/** A string that may be absent. */
export function optional(text: string | undefined): Value | undefined {
  return text === undefined ? undefined : string(text);
}

/** The block that Anthropic has for a piece of media; a text where it has none. */
export function mediaBlock({ mediaType, source }: Media): Value {
  const type = isImage(mediaType) ? IMAGE : DOCUMENT;
  switch (source.case) {
    case "uri":
      return block(type, { source: object({ type: string("url"), url: string(source.value) }) });
    case "inline":
      return block(type, {
        source: object({ type: string("base64"), media_type: string(mediaType), data: string(toBase64(source.value)) }),
      });
    default:
      return textBlock(placeholder(mediaType));
  }
}
