// Tokens, and the files that hold them.

import { readFileSync } from "node:fs";

import { TranscriptError, undone } from "../errors.js";

/** How often a file of a token is looked at, in milliseconds. */
const TOKEN_EVERY = 1000;

/** A file with a token. */
export class TokenFile {
  private last: string | undefined;
  private looked = Number.NEGATIVE_INFINITY;

  constructor(private readonly file: string) {}

  /**
   * What the file holds, but for blanks around it. It is looked at again once a second at most; while there is no token in it, the last one is
   * given. An error where there never was one; it says nothing of what is in the file.
   */
  token(): string {
    const now = performance.now();
    if (this.last !== undefined && now - this.looked < TOKEN_EVERY) {
      return this.last;
    }
    this.looked = now;
    const read = this.read();
    if (typeof read === "string") {
      this.last = read;
    } else if (this.last === undefined) {
      throw read;
    }
    return this.last;
  }

  private read(): string | Error {
    let token: string;
    try {
      token = readFileSync(this.file, "utf8").trim();
    } catch (error) {
      return new Error(`the file of the token cannot be read: ${error instanceof Error ? error.message : "unknown"}`);
    }
    const fault = faultOf(token);
    return fault === undefined ? token : new Error(`the file ${this.file} has no token: ${fault}`);
  }
}

/** The header of a call with the token that give gives. UNAUTHENTICATED, of a call that is not sent, where it gives none. */
export async function bearer(give: () => string | Promise<string>): Promise<string> {
  let token: unknown;
  try {
    token = await give();
  } catch (error) {
    throw noToken("the function of the token failed", error); // whose message may have a secret in it
  }
  const fault = faultOf(token);
  if (fault !== undefined) {
    throw noToken(fault);
  }
  return `Bearer ${String(token)}`;
}

function noToken(what: string, cause?: unknown): unknown {
  const message = `UNAUTHENTICATED: the call was not sent: ${what}`;
  return undone(new TranscriptError("UNAUTHENTICATED", "UNAUTHENTICATED", message, {}, { cause }));
}

/** Why a value is no token; it tells nothing of it. */
export function faultOf(token: unknown): string | undefined {
  if (typeof token !== "string") {
    return "a token is a string";
  }
  if (token === "") {
    return "a token is not empty";
  }
  return /^[!-~]+$/.test(token) ? undefined : "a token is one word of ASCII letters, digits and signs";
}
