// The real transcripts, which lie outside the repository: docs/data.md.

import { createReadStream } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createGunzip } from "node:zlib";

import { read, write } from "../src/json.js";

/** Where they are: the folder that TRANSCRIPTS_DIR names. */
export const FOLDER = process.env.TRANSCRIPTS_DIR ?? "";

/** Why tests of real transcripts do not run; false where they do. */
export const SKIP =
  FOLDER === "" && "TRANSCRIPTS_DIR is not set: the real transcripts are not part of the repository, see docs/data.md";

/** The files of conversations in OpenAI's form. */
const FILES = ["claude-code", "tau-airline", "api-wire", "oasst-paths", "swe-agent", "glaive-zh", "gemini-cli"];

/** A conversation: the JSON text of its messages. */
export interface Conversation {
  readonly id: string;
  readonly messages: string;
}

/** The lines of a file, unpacked where its name ends in .gz. */
export async function* lines(name: string): AsyncGenerator<string> {
  const file = createReadStream(join(FOLDER, name));
  const input = name.endsWith(".gz") ? file.pipe(createGunzip()) : file;
  file.on("error", (error) => input.destroy(error));
  yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
}

/** A member of a JSON object as it is spelled; undefined where it is not there. */
export function member(object: string, ...path: string[]): string | undefined {
  let value: ReturnType<typeof read> | undefined = read(object, "", []);
  for (const name of path) {
    value = value?.member(name);
  }
  return value && write(value);
}

/** All conversations. */
export async function* conversations(): AsyncGenerator<Conversation> {
  for (const file of FILES) {
    for await (const line of lines(`${file}.jsonl.gz`)) {
      yield { id: (JSON.parse(line) as { id: string }).id, messages: member(line, "messages") ?? "" };
    }
  }
}
