// SHA-256 is synchronous here, unlike WebCrypto's, so that verifying a stream of 100,000 nodes does not wait 100,000 times; and it is there in
// pages without HTTPS as well.

import { sha256 as portable } from "@noble/hashes/sha2.js";

/** The SHA-256 of parts, end to end: 32 bytes. */
export type Sha256 = (...parts: readonly Uint8Array[]) => Uint8Array;

let computed: Sha256 = (...parts) => {
  const hash = portable.create();
  for (const part of parts) {
    hash.update(part);
  }
  return hash.digest();
};

/** The SHA-256 of parts, end to end: 32 bytes. */
export function sha256(...parts: readonly Uint8Array[]): Uint8Array {
  return computed(...parts);
}

/** Has SHA-256 computed by another implementation from then on: that of the platform is several times as fast. */
export function computeSha256(by: Sha256): void {
  computed = by;
}
