// How messages and conversations are named.

import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

import { isWellFormed } from "./json.js";
import { sha256 } from "./sha256.js";

/** The most bytes of an alias, in UTF-8. */
export const MAX_ALIAS_BYTES = 512;

/**
 * The alias of a message: `msg/ID`, or where that is no alias (over 512 bytes of UTF-8, or with control characters) `msg/sha256:HEX` with
 * the SHA-256 of the id in 64 lower-case hex digits. So it is, too, where ID begins with "sha256:", so that no two ids meet.
 * RangeError for an id with half a surrogate pair, which UTF-8 has no bytes for.
 */
export function messageAlias(id: string): string {
  if (!isWellFormed(id)) {
    throw new RangeError("the id of a message must be well-formed Unicode, without half a surrogate pair");
  }
  const alias = "msg/" + id;
  if (utf8ToBytes(alias).length <= MAX_ALIAS_BYTES && !/\p{Cc}/u.test(id) && !id.startsWith("sha256:")) {
    return alias;
  }
  return "msg/sha256:" + bytesToHex(sha256(utf8ToBytes(id)));
}

/** The alias of a conversation: `chat/NAME`. Choose a name of at most 507 bytes of UTF-8, without control characters. */
export function chatAlias(name: string): string {
  return "chat/" + name;
}
