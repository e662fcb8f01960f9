// Blocks for a model.

import {
  Role,
  type Media,
  type Message,
  type Part,
  type Reasoning,
  type ToolCall,
} from "../gen/transcript/v1/message_pb.js";
import type { Names } from "../convert/groups.js";
import { placeholder } from "../convert/media.js";
import { ConversionError, index, type Change, type ChangeKind } from "../convert/report.js";
import { readExtras } from "../convert/taker.js";
import { object, readAny, readCompactable, string, utf8, type Value } from "../json.js";
import { block, DOCUMENT, IMAGE, isImage, isRedacted, mediaBlock, textBlock, thinkingBlock } from "./blocks.js";
import { isBlank } from "../texts.js";
import { serverTie, type ServerTie } from "./server.js";

/** A block to be written, and the part that it came from. */
export interface Block {
  readonly value: Value;
  /** The block's type. */
  readonly kind: string;
  /** Of a text block. */
  readonly text?: string;
  /** Of a server tool's call or result. */
  readonly server?: ServerTie;
  readonly path: string;
}

/** A text block. */
export function textOf(text: string, path: string): Block {
  return { value: textBlock(text), kind: "text", text, path };
}

/** Makes the blocks of messages, each of which has a path, and tells what it changed. */
export class Blocks {
  /**
   * @param ids - Those given to calls, and taken by server tools' calls.
   * @param names - Clean tools' names.
   */
  constructor(
    private readonly ids: Names,
    private readonly names: Names,
    readonly report: Change[],
  ) {}

  change(path: string, kind: ChangeKind, why: string): void {
    this.report.push({ path, kind, why });
  }

  /** Notes a call id or a name that became another. */
  renamed(path: string, from: string | undefined, to: string): void {
    if (from !== to) {
      this.report.push({ path, kind: "renamed", from: from ?? "", to });
    }
  }

  /** The blocks of a message; callIds are those given to its calls, by the place of their parts. */
  of(message: Message, at: string, callIds: ReadonlyMap<number, string> = new Map()): Block[] {
    return message.parts.flatMap((part, i) => {
      const path = index(`${at}.parts`, i);
      const extras = readExtras(part.extras, `${path}.extras`);
      const made = this.part(part, path, message.role, callIds.get(i));
      return this.withExtras(made, path, extras);
    });
  }

  /** The block of a part; undefined where there is none. id is that given to a call. */
  private part(part: Part, path: string, role: Role, id: string | undefined): Block | undefined {
    switch (part.kind.case) {
      case "text":
        return this.text(part.kind.value, path);
      case "reasoning":
        return this.thinking(part.kind.value, path, role);
      case "toolCall":
        if (id === undefined) {
          this.change(path, "left_out", "only an assistant calls tools");
          return undefined;
        }
        return this.call(part.kind.value, path, id);
      case "media":
        return this.orPlaceholder(mediaOf(part.kind.value, path), path, role, part.kind.value.mediaType);
      case "json": {
        const value = readAny(part.kind.value);
        const kind = value?.member("type")?.asString ?? "";
        return this.orPlaceholder(value && this.own(value, kind, path, role), path, role, kind);
      }
      default:
        throw new ConversionError(path, "has no kind");
    }
  }

  /** A text that is empty says nothing, and goes unreported. */
  private text(text: string, path: string): Block | undefined {
    if (!isBlank(text)) {
      return textOf(text, path);
    }
    if (text !== "") {
      this.change(path, "left_out", "a text cannot be blank");
    }
    return undefined;
  }

  /** The block of reasoning that Anthropic signed or encrypted; no other is accepted. */
  private thinking(reasoning: Reasoning, path: string, role: Role): Block | undefined {
    if (role !== Role.ASSISTANT) {
      this.change(path, "left_out", "only an assistant thinks");
      return undefined;
    }
    if (!isRedacted(reasoning) && reasoning.signature === "") {
      this.change(path, "left_out", "thinking must be signed");
      return undefined;
    }
    return { value: thinkingBlock(reasoning), kind: isRedacted(reasoning) ? "redacted_thinking" : "thinking", path };
  }

  /** A tool_use block. Arguments that are no JSON object become one: {} where they are blank, else {"arguments": TEXT}. */
  private call(call: ToolCall, path: string, id: string): Block {
    const name = this.names.clean(call.name ?? "");
    this.renamed(`${path}.tool_call.name`, call.name, name);
    let input = readCompactable(call.arguments);
    if (input?.kind !== "object") {
      this.change(`${path}.tool_call.arguments`, "replaced", "the input is an object");
      input = object(isBlank(call.arguments) ? {} : { arguments: string(call.arguments) });
    }
    return { value: block("tool_use", { id: string(id), name: string(name), input }), kind: "tool_use", path };
  }

  /** The block of a json part that the API takes back from this role. */
  private own(value: Value, kind: string, path: string, role: Role): Block | undefined {
    if (role === Role.ASSISTANT) {
      const server = serverTie(value, kind, this.ids);
      return server && { value, kind, server, path };
    }
    const source = value.member("source");
    const data = source?.member("data")?.asString ?? "";
    if (kind === DOCUMENT && source?.member("type")?.asString === "text" && !isBlank(data)) {
      return plainDocument(data, path);
    }
    return undefined;
  }

  /** The block, if there is one; else a text that says what was left out, except of an assistant or the system, to whom no words are given. */
  private orPlaceholder(made: Block | undefined, path: string, role: Role, kind: string): Block | undefined {
    const speaks = role === Role.USER || role === Role.TOOL;
    const isMedia = made?.kind === IMAGE || made?.kind === DOCUMENT;
    if (made !== undefined && (speaks || !isMedia)) {
      return made;
    }
    if (speaks) {
      const text = placeholder(kind);
      this.report.push({ path, kind: "replaced", to: text, why: "the API has no such block" });
      return textOf(text, path);
    }
    this.change(path, "left_out", "the API has no such block here");
    return undefined;
  }

  /** Reports a part's other members, and writes those of a document that the model reads. */
  private withExtras(made: Block | undefined, path: string, extras: Value | undefined): Block[] {
    let value = made?.value;
    let written = 0;
    for (const name of ["title", "context"]) {
      const text = extras?.member(name)?.asString ?? "";
      if (made?.kind === DOCUMENT && !isBlank(text)) {
        value = value?.with(name, string(text));
        written++;
      }
    }
    if (extras !== undefined && written < extras.members.length) {
      this.change(`${path}.extras`, "left_out", "only documented members are written");
    }
    return made === undefined || value === undefined ? [] : [{ ...made, value }];
  }
}

/** The block that the API has for a piece of media; undefined where it takes none of its type or source. */
function mediaOf(media: Media, path: string): Block | undefined {
  const { mediaType, source } = media;
  const kind = isImage(mediaType) ? IMAGE : DOCUMENT;
  if (source.case === "inline") {
    if (source.value.length > 0 && /^(image\/(png|jpeg|gif|webp)|application\/pdf)$/.test(mediaType)) {
      return { value: mediaBlock(media), kind, path };
    }
    const text = mediaType === "text/plain" ? utf8(source.value) : undefined;
    return text === undefined || isBlank(text) ? undefined : plainDocument(text, path);
  }
  const known = kind === IMAGE || mediaType === DOCUMENT || mediaType === "application/pdf";
  if (known && source.case === "uri" && /^https?:\/\//.test(source.value)) {
    return { value: mediaBlock(media), kind, path };
  }
  return undefined;
}

function plainDocument(text: string, path: string): Block {
  const source = object({ type: string("text"), media_type: string("text/plain"), data: string(text) });
  return { value: block(DOCUMENT, { source }), kind: DOCUMENT, path };
}
