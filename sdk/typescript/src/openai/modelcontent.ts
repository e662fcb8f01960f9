// The content of one message for a model.

import { Role, type Media, type Message, type Part } from "../gen/transcript/v1/message_pb.js";
import { placeholder } from "../convert/media.js";
import { ConversionError, index, type Change } from "../convert/report.js";
import { readExtras } from "../convert/taker.js";
import { list, NULL, readAny, string, type Value } from "../json.js";
import { AUDIO, FILE, IMAGE, isImage, item, mediaItem, refusalItem, textItem } from "./parts.js";

/** Gathers what one message is to hold. */
export class Content {
  private readonly texts: string[] = [];
  private readonly items: Value[] = [];
  /** The parts that a result cannot hold, after a text that says whose they are. */
  readonly moved: Value[] = [];

  /** @param id - That of the call which a result answers; absent on other messages. */
  constructor(private readonly id?: string) {}

  get isEmpty(): boolean {
    return this.items.length === 0;
  }

  /** Adds a text; an empty one says nothing. */
  text(text: string): void {
    if (text !== "") {
      this.texts.push(text);
      this.add(textItem(text));
    }
  }

  add(item: Value): void {
    this.items.push(item);
  }

  move(item: Value): void {
    if (this.moved.length === 0) {
      this.moved.push(textItem(`[media of the result of ${this.id ?? ""}]`));
    }
    this.moved.push(item);
  }

  /** A string where all is one text; without content "" on a result and null on other messages; else a list. */
  get value(): Value {
    const [text] = this.texts;
    if (this.isEmpty) {
      return this.id === undefined ? NULL : string("");
    }
    return text !== undefined && this.texts.length === 1 && this.items.length === 1 ? string(text) : list(this.items);
  }
}

/** Adds the content of a message. */
export function gather(message: Message, at: string, content: Content, report: Change[]): void {
  const leftOut = (path: string, why: string): void => {
    report.push({ path, kind: "left_out", why });
  };
  for (const [i, part] of message.parts.entries()) {
    const path = index(`${at}.parts`, i);
    const extras = readExtras(part.extras, `${path}.extras`);
    switch (part.kind.case) {
      case "text":
        content.text(part.kind.value);
        break;
      case "reasoning":
        leftOut(path, "reasoning is not sent back");
        continue;
      case "media":
        addPart(content, message.role, path, modelMedia(part.kind.value, extras), part.kind.value.mediaType, report);
        break;
      case "json": {
        const { item, kind } = jsonItem(part.kind.value, message.role);
        addPart(content, message.role, path, item, kind, report);
        continue;
      }
      case "toolCall":
        if (message.role !== Role.ASSISTANT) {
          leftOut(path, "only an assistant calls tools");
        }
        break;
      default:
        throw new ConversionError(path, "has no kind");
    }
    if (extras !== undefined && !isDocumented(part, extras)) {
      leftOut(`${path}.extras`, "only documented members are written");
    }
  }
  if (message.parts.length === 0 && message.role === Role.ASSISTANT) {
    const refusal = readExtras(message.extras, `${at}.extras`)?.member("refusal")?.asString ?? "";
    if (refusal !== "") {
      content.add(refusalItem(refusal));
    }
  }
}

/** Adds a part that is not text, or what stands for it: the item is undefined where the API has nothing for it. */
function addPart(
  content: Content,
  role: Role,
  path: string,
  item: Value | undefined,
  kind: string,
  report: Change[],
): void {
  const speaks = role === Role.USER || role === Role.TOOL;
  if (item !== undefined && role === Role.TOOL) {
    report.push({ path, kind: "moved", why: "results hold only text" });
    content.move(item);
  } else if (item !== undefined && (role === Role.USER || item.member("refusal") !== undefined)) {
    content.add(item);
  } else if (speaks) {
    report.push({ path, kind: "replaced", to: placeholder(kind), why: "the API has no such part" });
    content.text(placeholder(kind));
  } else {
    report.push({ path, kind: "left_out", why: "messages of this role hold only text" });
  }
}

/** Whether a part's extras are one member, which the API documents and is written. */
function isDocumented(part: Part, extras: Value): boolean {
  if (extras.members.length !== 1 || part.kind.case === "text") {
    return false;
  }
  if (part.kind.case === "toolCall") {
    return extras.member("type") !== undefined;
  }
  return (
    (extras.member(IMAGE)?.members.length === 1 && detail(extras) !== undefined) ||
    (extras.member(FILE)?.members.length === 1 && filename(extras) !== undefined)
  );
}

/** How closely the model looks at an image, where the extras say so. */
function detail(extras: Value | undefined): Value | undefined {
  const value = extras?.member(IMAGE)?.member("detail");
  return value?.asString !== undefined && ["auto", "low", "high"].includes(value.asString) ? value : undefined;
}

function filename(extras: Value | undefined): Value | undefined {
  const value = extras?.member(FILE)?.member("filename");
  return (value?.asString ?? "") === "" ? undefined : value;
}

/** The item that the API has for a piece of media. */
function modelMedia(media: Media, extras: Value | undefined): Value | undefined {
  switch (mediaClass(media)) {
    case IMAGE: {
      const looks = detail(extras);
      return mediaItem(media, looks && { detail: looks });
    }
    case FILE:
      return mediaItem(media, { filename: filename(extras) ?? string("document.pdf") });
    case AUDIO:
      return mediaItem(media);
    default:
      return undefined;
  }
}

/** The type of item that holds a piece of media; undefined where the API takes none of its type or source. */
function mediaClass({ mediaType, source }: Media): string | undefined {
  if (source.case === "inline" && source.value.length > 0) {
    return /^audio\/(wav|mp3)$/.test(mediaType) ? AUDIO : takenInline(mediaType);
  }
  if (source.case === "uri") {
    const inline = inlineClass(source.value);
    if (isImage(mediaType) && (/^https?:\/\//.test(source.value) || inline === IMAGE)) {
      return IMAGE;
    }
    if (mediaType === FILE && inline === FILE) {
      return FILE;
    }
  }
  return undefined;
}

function takenInline(mediaType: string): string | undefined {
  if (/^image\/(png|jpeg|gif|webp)$/.test(mediaType)) {
    return IMAGE;
  }
  return mediaType === "application/pdf" ? FILE : undefined;
}

/** The item for a data: URL of a type that the API takes, however it is spelled: in capitals, with parameters, without padding. */
function inlineClass(url: string): string | undefined {
  const mark = url.indexOf(";base64,");
  if (!url.startsWith("data:") || mark < 0) {
    return undefined;
  }
  const text = url.slice(mark + ";base64,".length).replace(/=+$/, "");
  if (!/^[A-Za-z0-9+/]+$/.test(text) || text.length % 4 === 1) {
    return undefined;
  }
  return takenInline(url.slice("data:".length, mark).toLowerCase().split(";", 1)[0] ?? "");
}

/** The item of a json part that the API takes back, an uploaded file of a user or a refusal of an assistant; and the part's own type. */
function jsonItem(text: string, role: Role): { item: Value | undefined; kind: string } {
  const value = readAny(text);
  const kind = value?.member("type")?.asString ?? "";
  const refusal = value?.member("refusal")?.asString ?? "";
  const id = value?.member(FILE)?.member("file_id")?.asString ?? "";
  if (kind === "refusal" && role === Role.ASSISTANT && refusal !== "") {
    return { item: refusalItem(refusal), kind };
  }
  if (kind === FILE && role !== Role.ASSISTANT && id !== "") {
    return { item: item(FILE, { file_id: string(id) }), kind };
  }
  return { item: undefined, kind };
}
