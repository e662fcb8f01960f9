// Media as providers write them.

import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";

/** Decodes standard base64 with padding; undefined unless encoding the result gives the same text again. */
export function fromBase64(text: string): Uint8Array | undefined {
  try {
    const data = base64Decode(text);
    return base64Encode(data) === text ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Standard base64 with padding. */
export function toBase64(data: Uint8Array): string {
  return base64Encode(data);
}

/**
 * Takes apart `data:TYPE;base64,DATA`; undefined unless TYPE is a plain lower-case media type and dataUrl gives the same URL again.
 */
export function fromDataUrl(url: string): { mediaType: string; data: Uint8Array } | undefined {
  const mark = url.indexOf(";base64,");
  if (!url.startsWith("data:") || mark < 0) {
    return undefined;
  }
  const mediaType = url.slice("data:".length, mark);
  const data = isMediaType(mediaType) ? fromBase64(url.slice(mark + ";base64,".length)) : undefined;
  return data && { mediaType, data };
}

/** The data: URL of some content. */
export function dataUrl(mediaType: string, data: Uint8Array): string {
  return `data:${mediaType};base64,${toBase64(data)}`;
}

/** Whether text is `type/subtype` of lower-case letters, digits and ".+-_", without parameters. */
export function isMediaType(text: string): boolean {
  return /^[a-z0-9.+_-]+\/[a-z0-9.+_-]+$/.test(text);
}

/** The text that stands for a piece of content that could not be written. */
export function placeholder(kind: string): string {
  return `[left out: ${/^[a-z0-9.+_/-]{1,64}$/.test(kind) ? kind : "a part"}]`;
}
