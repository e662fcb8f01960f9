// An append has a salt: 16 random bytes, chosen once and kept over its repeats. So equal appends are different nodes, and a node with the
// salt was put by that append, whoever asks and whatever came behind it.

import { toBinary, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { bytesToHex } from "@noble/hashes/utils.js";

import { happened, mayHaveHappened, TranscriptError } from "./errors.js";
import { sha256 } from "./sha256.js";

/** Makes 16 random bytes. */
export function newSalt(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(16));
}

/** An append under way, or one of which it is not known whether it took place. */
export class Pending {
  /** The node below which it was last sent; "" where an alias or no node was the parent. */
  parent = "";
  /** Whether it may have taken place. */
  unsure = false;

  /** @param of - A hash of all that was asked for, but for the place in the chain. */
  constructor(
    readonly of: string,
    readonly salt: Uint8Array | undefined,
  ) {}

  /** Adds to an error what is known of attempts before. */
  told(error: unknown): unknown {
    return this.unsure ? happened(error, true) : error;
  }
}

/** How many appends a ledger remembers. */
const MAX_UNSURE = 1000;

/** Remembers appends that may have taken place although they failed, so that their repeats have the same salt. Each is taken by one repeat. */
export class Ledger {
  private open: Pending[] = []; // oldest first

  /** Begins an append: an earlier attempt of the same, or one with a salt. */
  take<Desc extends DescMessage>(schema: Desc, asked: MessageShape<Desc>, salt: () => Uint8Array | undefined): Pending {
    const of = bytesToHex(sha256(toBinary(schema, asked)));
    const at = this.open.findIndex((pending) => pending.of === of);
    const [found] = at < 0 ? [] : this.open.splice(at, 1);
    return found ?? new Pending(of, salt());
  }

  /** Ends an append that failed: it is remembered where it may have taken place all the same. What the caller aborted may have. */
  failed(pending: Pending, error: unknown): void {
    if (error instanceof TranscriptError && !mayHaveHappened(error)) {
      return;
    }
    pending.unsure = true;
    this.open.push(pending);
    if (this.open.length > MAX_UNSURE) {
      this.open.shift();
    }
  }
}
