// Answers the messages of an inbox: examples/reply-chain/README.md tells what this does, and what it reads and writes.

import process from "node:process";
import { parseArgs } from "node:util";

import { connect } from "transcriptd";

import { Agent } from "./agent.js";
import { Files, replyId, type Letter } from "./files.js";
import { chosenModel } from "./model.js";

/**
 * Answers what is in the inbox and has no line in the outbox, several messages at once. A message waits for the one that it replies to, and
 * is left where that failed.
 */
async function answerAll(agent: Agent, files: Files, atOnce: number): Promise<boolean> {
  const done = new Set(files.outbox().map((reply) => reply.id));
  const answers = new Map<string, Promise<boolean>>(); // by the ids of the messages, and of the replies
  const waiting: (() => void)[] = [];
  let free = atOnce;

  async function inPlace<T>(work: () => Promise<T>): Promise<T> {
    if (free > 0) {
      free--;
    } else {
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) {
        free++;
      } else {
        next();
      }
    }
  }

  async function answer(letter: Letter, before: Promise<boolean> | undefined): Promise<boolean> {
    try {
      if (!((await before) ?? true)) {
        throw new Error("what it replies to was not answered");
      }
      await inPlace(async () => files.send(await agent.answer(letter)));
      return true;
    } catch (error) {
      console.error(`${letter.id}: ${error instanceof Error ? error.message : String(error)}`);
      return false;
    }
  }

  for (const letter of files.inbox()) {
    if (!done.has(replyId(letter))) {
      const answered = answer(letter, answers.get(letter.reply_to ?? ""));
      answers.set(letter.id, answered).set(replyId(letter), answered);
    }
  }
  return (await Promise.all(answers.values())).every(Boolean);
}

/** The options; one that is not known ends the agent. */
function options() {
  try {
    return parseArgs({
      options: {
        dir: { type: "string", default: "sample" }, // with inbox.jsonl and notes/; the others are written there
        server: { type: "string", default: "127.0.0.1:7420" },
        namespace: { type: "string", default: "reply-chain" },
        "at-once": { type: "string", default: "4" },
        "compact-at": { type: "string", default: "4000" },
      },
    }).values;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(2);
  }
}

const given = options();

/** An option that is a whole number above 0. */
function wholeNumber(option: "at-once" | "compact-at"): number {
  const value = Number(given[option]);
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new RangeError(`--${option} has to be a whole number above 0`);
  }
  return value;
}

try {
  const model = await chosenModel(process.env["MODEL"] ?? "");
  const files = new Files(given.dir);
  await using client = connect(given.server, { namespace: given.namespace, verify: true });
  const agent = new Agent(client, model, files, wholeNumber("compact-at"));
  process.exitCode = (await answerAll(agent, files, wholeNumber("at-once"))) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
