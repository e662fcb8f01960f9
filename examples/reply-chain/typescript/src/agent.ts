// An agent that answers messages. All that it has to know after a crash is in the service and in the ledger.

import {
  assistant,
  calls,
  isReason,
  result,
  system,
  text,
  user,
  Role,
  type Client,
  type Message,
  type Thread,
  type ToolCall,
} from "transcriptd";

import { callKey, replyId, type Files, type Letter, type Reply } from "./files.js";
import type { Model } from "./model.js";
import { toolsOf, type Tool } from "./tools.js";

const PROMPT = "You answer messages. Use the tools when you need them. Be brief.";
const SUMMARIZE =
  "Summarize this conversation for yourself: what was asked and answered, and each tool call with its name, its id and its result.";
const MAX_ROUNDS = 30; // of tools, for one message

/** Answers messages with a model, which is sent up to about compactAt bytes. */
export class Agent {
  readonly #client: Client;
  readonly #model: Model;
  readonly #files: Files;
  readonly #compactAt: number;

  constructor(client: Client, model: Model, files: Files, compactAt: number) {
    this.#client = client;
    this.#model = model;
    this.#files = files;
    this.#compactAt = compactAt;
  }

  /** Gives the reply to a message, from wherever an earlier process left it. */
  async answer(letter: Letter): Promise<Reply> {
    const thread = await this.#begin(letter);
    let said: Message | undefined;
    if (!thread.isNew) {
      await this.#settle(thread, letter);
      said = await replied(thread);
    }
    if (said === undefined) {
      said = await this.#work(thread, letter);
      await thread.reply(replyId(letter), [said]);
    }
    return { id: replyId(letter), in_reply_to: letter.id, text: thread.replyText(said), depth: thread.depth };
  }

  async #begin(letter: Letter): Promise<Thread> {
    try {
      return await this.#client.start({
        messageId: letter.id,
        replyTo: letter.reply_to ?? "",
        system: [system(PROMPT)],
        messages: [user(letter.text)],
      });
    } catch (error) {
      if (isReason(error, "ALIAS_EXISTS")) {
        return await this.#client.resume(letter.id); // it was begun before, and went on
      }
      throw error;
    }
  }

  /** Asks the model, and runs the tools that it asks for, until it says what to reply. */
  async #work(thread: Thread, letter: Letter): Promise<Message> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const said = await this.#ask(thread);
      if (calls(said).length === 0) {
        return said;
      }
      await thread.append([said]); // before the tools run: after a crash the calls are open, and not forgotten
      const results = [];
      for (const [i, call] of calls(said).entries()) {
        results.push(await this.#run(thread, callKey(letter, thread.depth, i), call));
      }
      await thread.appendResults(results);
    }
    return assistant(`I stopped after ${MAX_ROUNDS} rounds of tools.`);
  }

  /** Gives what the model says next. What it is sent is made shorter first where it has grown. */
  async #ask(thread: Thread): Promise<Message> {
    await thread.compactWhen({
      bytes: this.#compactAt,
      compaction: { summaryOnly: true },
      summarize: async (all) => text(await this.#model([...all, user(SUMMARIZE)], [])),
    });
    return await this.#model(await thread.messages(), this.#tools(thread, ""));
  }

  /** Runs a call under its key. What the tool says goes to the model; an error is one of the service or the disk. */
  async #run(thread: Thread, key: string, call: ToolCall): Promise<Message> {
    const tool = this.#tools(thread, key).find(({ name }) => name === call.name);
    return result(call, tool === undefined ? "There is no such tool." : await tool.run(call.arguments));
  }

  /**
   * Ends the calls that a crash left open. Each may have run, and none is just run again: a payment is looked up in the ledger, and nobody
   * knows whether the bell rang. The other tools only read.
   */
  async #settle(thread: Thread, letter: Letter): Promise<void> {
    const results = [];
    // They are all of the round: its results are put at once, but for the bell's, which is not looked up.
    for (const [i, call] of (await thread.openCalls()).entries()) {
      if (call.name !== "ring") {
        const key = callKey(letter, thread.depth, i);
        const paid = this.#files.paid(key);
        results.push(paid === undefined ? await this.#run(thread, key, call) : result(call, paid));
      }
    }
    if (results.length > 0) {
      await thread.appendResults(results);
    }
    await thread.answerUnknown();
  }

  #tools(thread: Thread, key: string): Tool[] {
    return [...toolsOf(this.#files, key), thread.recallTool()];
  }
}

/** The reply that a thread ends in; undefined: it has none yet. */
async function replied(thread: Thread): Promise<Message | undefined> {
  const last = (await thread.messages()).at(-1);
  return last?.role === Role.ASSISTANT && calls(last).length === 0 ? last : undefined;
}
