// Files that hold tokens.

import { readFileSync } from "node:fs";

import { faultOf } from "../token.js";

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
