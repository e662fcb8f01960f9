// The world: a folder with inbox.jsonl, outbox.jsonl, ledger.jsonl, bell.jsonl and notes/.

import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { basename, join } from "node:path";

/** A line of inbox.jsonl. */
export interface Letter {
  readonly id: string;
  readonly reply_to?: string;
  readonly text: string;
}

/** A line of outbox.jsonl. */
export interface Reply {
  readonly id: string;
  readonly in_reply_to: string;
  readonly text: string;
  readonly depth: number;
}

/** A line of ledger.jsonl. */
export interface Payment {
  readonly key: string;
  readonly to: string;
  readonly amount: number;
}

export function replyId(letter: Letter): string {
  return `re-${letter.id}`;
}

/**
 * Names the i-th call of the message at a depth in the world: no other call has such a name. The call's own id would not do: models give
 * the same one in several rounds, or none.
 */
export function callKey(letter: Letter, depth: number, i: number): string {
  return `${letter.id}/${depth}.${i}`;
}

/** The files of a folder. Lines are on the disk when a method returns. */
export class Files {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  inbox(): Letter[] {
    if (this.#read("inbox.jsonl") === undefined) {
      throw new Error(`there is no inbox to read in ${this.#folder} (--dir names its folder)`);
    }
    return this.#lines<Letter>("inbox.jsonl");
  }

  outbox(): Reply[] {
    return this.#lines<Reply>("outbox.jsonl");
  }

  send(reply: Reply): void {
    this.#add("outbox.jsonl", reply);
  }

  pay(payment: Payment): string {
    this.#add("ledger.jsonl", payment);
    return told(payment);
  }

  /** Looks a payment up, and tells of it as pay does. */
  paid(key: string): string | undefined {
    const found = this.#lines<Payment>("ledger.jsonl").find((payment) => payment.key === key);
    return found && told(found);
  }

  /** Rings the bell. bell.jsonl is the bell's own: the agent cannot ask it. */
  ring(key: string): string {
    this.#add("bell.jsonl", { key });
    return "rang";
  }

  note(name: string): string {
    try {
      return readFileSync(join(this.#folder, "notes", `${basename(name)}.txt`), "utf8");
    } catch {
      return "There is no such note.";
    }
  }

  #lines<Line>(name: string): Line[] {
    const lines = (this.#read(name) ?? "").split("\n").filter((line) => line !== "");
    return lines.map((line) => JSON.parse(line) as Line);
  }

  #read(name: string): string | undefined {
    try {
      return readFileSync(join(this.#folder, name), "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") {
        return undefined;
      }
      throw error;
    }
  }

  #add(name: string, line: object): void {
    const data = Buffer.from(`${JSON.stringify(line)}\n`);
    const file = openSync(join(this.#folder, name), "a", 0o600);
    try {
      const written = writeSync(file, data);
      if (written < data.length) {
        // A line that is not whole, as on a full disk, would spoil the next one.
        ftruncateSync(file, fstatSync(file).size - written);
        throw new Error(`there is no room for a line of ${name}`);
      }
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }
}

function told(payment: Payment): string {
  return `paid ${payment.amount} to ${payment.to}`;
}
