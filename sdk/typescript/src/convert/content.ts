// The content of messages, and what was lost in writing them.

import { create, equals } from "@bufbuild/protobuf";

import {
  ContentForm,
  MessageSchema,
  PartSchema,
  type Media,
  type Message,
  type Part,
} from "../gen/transcript/v1/message_pb.js";
import { compact, list, NULL, readCompactable, string, type Value } from "../json.js";
import { textPart } from "../messages.js";
import { FieldError, validateMessages } from "../validate.js";
import { ConversionError, index, type Change } from "./report.js";

/** Whether a part is content, that is, neither a call nor reasoning. */
export function isContent(part: Part): boolean {
  return part.kind.case !== "toolCall" && part.kind.case !== "reasoning";
}

/** Whether a part is text without extras. */
function isPlainText(part: Part): boolean {
  return part.kind.case === "text" && part.extras === "";
}

/**
 * Makes parts of a content member, undefined where it is absent: a string, null, or a list each item of which `part` makes a part of.
 */
export function parseContent(
  value: Value | undefined,
  path: string,
  part: (item: Value) => Part,
): { parts: Part[]; form: ContentForm } {
  switch (value?.kind) {
    case undefined:
      return { parts: [], form: ContentForm.ABSENT };
    case "null":
      return { parts: [], form: ContentForm.UNSPECIFIED };
    case "string":
      return { parts: [textPart(value.text)], form: ContentForm.UNSPECIFIED };
    case "list": {
      const parts = value.items.map(part);
      return { parts, form: listForm(parts) };
    }
    default:
      throw new ConversionError(path, "is neither a string nor a list nor null");
  }
}

/** The content form of a content that was a list of these parts. */
export function listForm(parts: readonly Part[]): ContentForm {
  const content = parts.filter(isContent);
  const implied = content.length > 1 || content.some((part) => !isPlainText(part));
  return implied ? ContentForm.UNSPECIFIED : ContentForm.PARTS;
}

/** The content member that parts, all content, and form stand for; undefined where it is absent. */
export function formatContent(
  parts: readonly Part[],
  form: ContentForm,
  part: (part: Part, i: number) => Value,
): Value | undefined {
  const first = parts[0];
  if (form !== ContentForm.PARTS) {
    if (first === undefined) {
      return form === ContentForm.ABSENT ? undefined : NULL;
    }
    if (parts.length === 1 && first.kind.case === "text" && isPlainText(first)) {
      return string(first.kind.value);
    }
  }
  return list(parts.map(part));
}

/** A part of the provider's own kind: the whole value. */
export function jsonPart(value: Value): Part {
  return create(PartSchema, { kind: { case: "json", value: compact(value, value.path) } });
}

/** What a json part's text stands for: itself where that is JSON, else a string that holds it. */
export function jsonValue(text: string): Value {
  return readCompactable(text) ?? string(text);
}

/** A part of media with its content. */
export function inlineMedia(mediaType: string, data: Uint8Array): Part {
  return mediaPart(mediaType, { case: "inline", value: data });
}

/** A part of media that lies elsewhere. */
export function uriMedia(mediaType: string, uri: string): Part {
  return mediaPart(mediaType, { case: "uri", value: uri });
}

function mediaPart(mediaType: string, source: Media["source"]): Part {
  return create(PartSchema, { kind: { case: "media", value: { mediaType, source } } });
}

/** ConversionError where a server would refuse the message: it names the provider's message and the field. */
export function check(message: Message, path: string): void {
  try {
    validateMessages([message]);
  } catch (error) {
    if (error instanceof FieldError) {
      const field = error.field.replace(/^messages\[0\]\.?/, "");
      throw new ConversionError(path, `is refused: ${`${field} ${error.rule}`.trim()}`);
    }
    throw error;
  }
}

/** Notes as inexact where got, read from what was written for want, is not want. */
export function differences(path: string, want: Message, got: Message, changes: Change[]): void {
  if (equals(MessageSchema, want, got)) {
    return;
  }
  const inexact = (field: string): void => {
    changes.push({ path: path + field, kind: "inexact" });
  };
  const other = want.parts.flatMap((part, i) => {
    const again = got.parts[i];
    return again !== undefined && equals(PartSchema, part, again) ? [] : [i];
  });
  for (const i of other) {
    inexact(index(".parts", i));
  }
  if (other.length === 0 && want.parts.length !== got.parts.length) {
    inexact(".parts");
  }
  for (const [field, same] of [
    [".role", want.role === got.role],
    [".tool_call_id", want.toolCallId === got.toolCallId],
    [".is_error", want.isError === got.isError],
    [".name", want.name === got.name],
    [".state", want.state === got.state],
    [".content_form", want.contentForm === got.contentForm],
    [".joined", want.joined === got.joined],
    [".origin", want.origin === got.origin],
    [".extras", want.extras === got.extras],
  ] as const) {
    if (!same) {
      inexact(field);
    }
  }
}
