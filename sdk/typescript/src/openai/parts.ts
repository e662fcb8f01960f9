// Parts of content, as chat completions have them.

import { Role, type Media, type Part } from "../gen/transcript/v1/message_pb.js";
import { inlineMedia, jsonPart, jsonValue, uriMedia } from "../convert/content.js";
import { dataUrl, fromBase64, fromDataUrl, isMediaType, placeholder, toBase64 } from "../convert/media.js";
import { ConversionError } from "../convert/report.js";
import { readExtras, Taker } from "../convert/taker.js";
import { merged, object, string, type Value } from "../json.js";
import { textPart } from "../messages.js";

/** OpenAI's names of the parts; the first two are also the media types of what is kept by URL. */
export const IMAGE = "image_url";
export const FILE = "file";
export const AUDIO = "input_audio";

/**
 * Makes a part of one item of a content list. What has not the form of a part that has a kind of its own is a json part, whole.
 */
export function parsePart(value: Value): Part {
  const taker = new Taker(value);
  const part = parseKind(taker, value.member("type")?.asString);
  if (part === undefined) {
    return jsonPart(value);
  }
  taker.take("type");
  part.extras = taker.extras();
  return part;
}

function parseKind(taker: Taker, type: string | undefined): Part | undefined {
  switch (type) {
    case "text": {
      const text = taker.ifString("text");
      return text === undefined ? undefined : textPart(text);
    }
    case IMAGE: {
      const url = takeInner(taker, IMAGE, "url");
      return url === undefined ? undefined : (inlineOf(url, /^image\//) ?? uriMedia(IMAGE, url));
    }
    case AUDIO:
      return parseAudio(taker);
    case FILE: {
      const url = takeInner(taker, FILE, "file_data");
      return url === undefined ? undefined : (inlineOf(url, /^(?!image\/|audio\/)/) ?? uriMedia(FILE, url));
    }
    default:
      return undefined;
  }
}

/** The part of a data: URL with a media type of this form. */
function inlineOf(url: string, form: RegExp): Part | undefined {
  const found = fromDataUrl(url);
  return found !== undefined && form.test(found.mediaType) ? inlineMedia(found.mediaType, found.data) : undefined;
}

function parseAudio(taker: Taker): Part | undefined {
  const audio = taker.look(AUDIO);
  const format = audio?.member("format")?.asString;
  const text = audio?.member("data")?.asString;
  if (audio === undefined || format === undefined || text === undefined || !isMediaType(`audio/${format}`)) {
    return undefined;
  }
  const data = fromBase64(text);
  const rest = taker.sub(AUDIO, audio);
  rest.take("data");
  rest.take("format");
  return data && inlineMedia(`audio/${format}`, data);
}

/** Takes a string member of a member that is an object; the rest of the object stays. */
function takeInner(taker: Taker, object: string, member: string): string | undefined {
  const inner = taker.look(object);
  const text = inner?.member(member)?.asString;
  if (inner !== undefined && text !== undefined) {
    taker.sub(object, inner).take(member);
  }
  return text;
}

/** The item of a content list that a content part stands for. */
export function formatPart(part: Part, path: string): Value {
  const extras = readExtras(part.extras, `${path}.extras`);
  switch (part.kind.case) {
    case "text":
      return merged(textItem(part.kind.value), extras);
    case "media":
      return merged(mediaItem(part.kind.value), extras);
    case "json":
      return jsonValue(part.kind.value);
    default:
      throw new ConversionError(path, "has no kind");
  }
}

/** The item of a text. */
export function textItem(text: string): Value {
  return object({ type: string("text"), text: string(text) });
}

/** Whether a media type is an image's, by whatever provider's name. */
export function isImage(mediaType: string): boolean {
  return mediaType === IMAGE || mediaType === "image" || mediaType.startsWith("image/");
}

/** The item that OpenAI has for a piece of media; a text where it has none. */
export function mediaItem(media: Media, others: Record<string, Value> = {}): Value {
  const { mediaType, source } = media;
  const image = isImage(mediaType);
  switch (source.case) {
    case "uri":
      return image
        ? item(IMAGE, { url: string(source.value), ...others })
        : item(FILE, { file_data: string(source.value), ...others });
    case "inline": {
      if (mediaType.startsWith("audio/")) {
        const format = mediaType.slice("audio/".length);
        return item(AUDIO, { data: string(toBase64(source.value)), format: string(format), ...others });
      }
      const url = string(dataUrl(mediaType, source.value));
      return image ? item(IMAGE, { url, ...others }) : item(FILE, { file_data: url, ...others });
    }
    default:
      return textItem(placeholder(mediaType));
  }
}

/** `{"type":KIND,KIND:MEMBERS}`. */
export function item(kind: string, members: Record<string, Value>): Value {
  return object({ type: string(kind), [kind]: object(members) });
}

/** What an answer that refuses says. */
export function refusalItem(text: string): Value {
  return object({ type: string("refusal"), refusal: string(text) });
}

/** OpenAI's names of the roles. The deprecated role "function" is TOOL with `{"role":"function"}` in extras. */
export const ROLES: Readonly<Record<string, Role>> = {
  system: Role.SYSTEM,
  developer: Role.DEVELOPER,
  user: Role.USER,
  assistant: Role.ASSISTANT,
  tool: Role.TOOL,
};

/** OpenAI's name of a role. */
export function roleName(role: Role, path: string): string {
  const name = Object.keys(ROLES).find((key) => ROLES[key] === role);
  if (name === undefined) {
    throw new ConversionError(`${path}.role`, "is not a role");
  }
  return name;
}
