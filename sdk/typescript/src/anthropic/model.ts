// Messages for a model that speaks the Messages API.

import type { Message } from "../gen/transcript/v1/message_pb.js";
import { allForProvider } from "../convert/framework.js";
import { Names, split, type Step } from "../convert/groups.js";
import { placeholder } from "../convert/media.js";
import { ConversionError, index, NoMessagesError, type Change, type Report } from "../convert/report.js";
import { list, object, string, TRUE, write, type Value } from "../json.js";
import { STUB_TEXT, trimEnd } from "../texts.js";
import { block } from "./blocks.js";
import { roleName } from "./format.js";
import { Blocks, textOf, type Block } from "./modelblocks.js";
import { MESSAGE } from "./parse.js";
import { paired } from "./server.js";
import type { ModelRequest } from "./types.js";

// The API's limits on names and ids, and what stands for one of which nothing is left.
const MAX_NAME = 128;
const MAX_ID = 64;
const NO_NAME = "unknown";
const NO_ID = "call";

/**
 * Writes messages as `{"system": …, "messages": […]}` that the Messages API accepts, from whatever provider they came: the user speaks first,
 * roles alternate, each assistant message with calls is followed by a user's message that begins with exactly one result for each call, call
 * ids are unique and well-formed, inputs are objects, thinking is signed, and no text is blank. The report tells, by the paths of the given
 * messages, all that was changed. A request of the caller's adds model, max_tokens and the like, and declares the server tools whose blocks it
 * holds.
 *
 * What was written for the messages of a chain begins what is written for a longer chain, unless the chain ended within a group or with an
 * assistant message.
 *
 * @throws NoMessagesError where nothing is left to send; ConversionError, as format.
 */
export function forModel(messages: readonly Message[]): { request: ModelRequest; report: Report } {
  const { text, report } = forModelText(messages);
  return { request: JSON.parse(text) as ModelRequest, report };
}

/** As forModel, as JSON text. */
export function forModelText(messages: readonly Message[]): { text: string; report: Report } {
  const report: Change[] = [];
  const model = new Model(allForProvider(messages, { message: MESSAGE }, report), report);
  return { text: write(model.request()), report };
}

/** One message to be written. */
interface Turn {
  readonly role: "user" | "assistant";
  readonly blocks: Block[];
}

/** The state of one forModel. */
class Model {
  private readonly ids = new Names(MAX_ID, NO_ID);
  private readonly blocks: Blocks;
  private readonly system: Block[] = [];
  private turns: Turn[] = [];

  constructor(
    private readonly messages: readonly Message[],
    private readonly report: Change[],
  ) {
    this.blocks = new Blocks(this.ids, new Names(MAX_NAME, NO_NAME), report);
  }

  /** What is to be sent: contents of one text are strings, all others lists. */
  request(): Value {
    const { steps, leftOut } = split(this.messages);
    for (const i of leftOut) {
      this.blocks.change(index("messages", i), "left_out", "answers no call of its group");
    }
    for (const step of steps) {
      this.step(step);
    }
    this.finish();
    if (this.turns.length === 0) {
      throw new NoMessagesError(this.report);
    }
    return object({
      system: this.system.length === 0 ? undefined : contentOf(this.system),
      messages: list(this.turns.map((turn) => object({ role: string(turn.role), content: contentOf(turn.blocks) }))),
    });
  }

  private message(i: number): Message {
    const message = this.messages[i];
    if (message === undefined) {
      throw new RangeError(`there is no message ${String(i)}`);
    }
    return message;
  }

  /** Writes a message or a group. Until a user has spoken, only what the system says is written. */
  private step(step: Step): void {
    const message = this.message(step.message);
    switch (roleName(message)) {
      case undefined:
        throw new ConversionError(`${index("messages", step.message)}.role`, "is not a role");
      case "system":
        this.instruction(step.message);
        return;
      case "user":
        this.plain("user", step.message);
        return;
      case "assistant":
        if (this.turns.length === 0) {
          this.leadIn(step);
        } else if (step.calls.length === 0) {
          this.plain("assistant", step.message);
        } else {
          this.group(step);
        }
    }
  }

  /** Reports what comes before any user. */
  private leadIn(step: Step): void {
    const messages = step.assistants.length === 0 ? [step.message] : step.assistants;
    const results = step.answered.flatMap((k) => step.calls[k]?.result ?? []);
    for (const i of [...messages, ...results]) {
      this.blocks.change(index("messages", i), "left_out", "comes before the first user's message");
    }
  }

  /** The blocks of a message that has no calls; its other members are not written. */
  private plainBlocks(i: number): Block[] {
    const blocks = this.blocks.of(this.message(i), index("messages", i));
    this.others(i);
    return blocks;
  }

  /** Reports a message's members that no request has. */
  private others(i: number): void {
    const { name, extras } = this.message(i);
    if (name !== undefined) {
      this.blocks.change(`${index("messages", i)}.name`, "left_out", "messages have no such member");
    }
    if (extras !== "" && extras !== '{"role":"system"}') {
      this.blocks.change(`${index("messages", i)}.extras`, "left_out", "only documented members are written");
    }
  }

  /**
   * Writes what the system or developer says: to the member system before any user has spoken, else as marked text of the user's.
   */
  private instruction(i: number): void {
    const path = index("messages", i);
    const blocks = this.plainBlocks(i);
    if (blocks.length === 0) {
      this.blocks.change(path, "left_out", "has no content");
    } else if (this.turns.length === 0) {
      this.system.push(...blocks);
    } else {
      this.blocks.change(path, "replaced", "the system speaks only before all others");
      this.append(
        "user",
        blocks.map((b) => textOf(`<system>\n${b.text ?? ""}\n</system>`, b.path)),
      );
    }
  }

  /** Writes a message that is in no group, if it has content. */
  private plain(role: Turn["role"], i: number): void {
    const blocks = this.plainBlocks(i);
    if (blocks.length === 0) {
      this.blocks.change(index("messages", i), "left_out", "has no content");
      return;
    }
    this.appendReported(role, blocks, i);
  }

  /** Adds blocks to the last turn, if it is the role's, else a turn. Whether it was. */
  private append(role: Turn["role"], blocks: readonly Block[]): boolean {
    const last = this.turns.at(-1);
    if (last?.role === role) {
      last.blocks.push(...blocks);
      return true;
    }
    this.turns.push({ role, blocks: [...blocks] });
    return false;
  }

  private appendReported(role: Turn["role"], blocks: readonly Block[], i: number): void {
    if (this.append(role, blocks) && !this.message(i).joined) {
      this.blocks.change(index("messages", i), "joined", "roles alternate");
    }
  }

  /** Writes a group: one assistant message, then one of the user's with a result for each call. */
  private group(step: Step): void {
    const order: string[] = [];
    const ids = new Map<number, Map<number, string>>(step.assistants.map((i) => [i, new Map()]));
    for (const { message, part, call } of step.calls) {
      const id = this.ids.unique(call.id ?? "");
      this.blocks.renamed(`${index(`${index("messages", message)}.parts`, part)}.tool_call.id`, call.id, id);
      ids.get(message)?.set(part, id);
      order.push(id);
    }
    for (const i of step.assistants) {
      const blocks = this.blocks.of(this.message(i), index("messages", i), ids.get(i));
      this.others(i);
      this.appendReported("assistant", blocks, i);
    }
    this.results(step, order);
  }

  /** Writes the results of a group in the order in which they came, then a stub for each call without one. */
  private results(step: Step, ids: readonly string[]): void {
    const results = step.answered.flatMap((k) => {
      const result = step.calls[k]?.result;
      return result === undefined ? [] : [this.result(result, ids[k] ?? "")];
    });
    for (const [k, { message, part, result }] of step.calls.entries()) {
      if (result === undefined) {
        const path = index(`${index("messages", message)}.parts`, part);
        this.blocks.change(path, "added", "has no result");
        const value = block("tool_result", { tool_use_id: string(ids[k] ?? ""), content: string(STUB_TEXT) });
        results.push({ value, kind: "tool_result", path });
      }
    }
    this.append("user", results);
  }

  /** The tool_result block of a result. One that failed holds text, and nothing else. */
  private result(i: number, id: string): Block {
    const path = index("messages", i);
    const { isError } = this.message(i);
    const blocks = isError ? this.failed(this.plainBlocks(i), path) : this.plainBlocks(i);
    const value = block("tool_result", {
      tool_use_id: string(id),
      content: blocks.length === 0 ? undefined : contentOf(blocks),
      is_error: isError ? TRUE : undefined,
    });
    return { value, kind: "tool_result", path };
  }

  /** The content of a result that failed: text, and not none. */
  private failed(blocks: readonly Block[], path: string): Block[] {
    const replaced = (path: string, to: string, why: string): Block => {
      this.report.push({ path, kind: "replaced", to, why });
      return textOf(to, path);
    };
    if (blocks.length === 0) {
      return [replaced(path, "[the call failed]", "an error says something")];
    }
    return blocks.map((b) =>
      b.kind === "text" ? b : replaced(b.path, placeholder(b.kind), "an error holds only text"),
    );
  }

  /**
   * Makes hold what only the whole can tell: server tools' calls and results come in pairs, an assistant message has its calls last and does
   * not end in thinking, none is empty, and the last does not end in white space.
   */
  private finish(): void {
    const turns = this.turns;
    this.turns = [];
    for (const { role, blocks } of turns) {
      const left =
        role === "assistant" ? this.withoutLastThinking(this.callsLast(paired(blocks, this.report))) : blocks;
      if (left.length > 0) {
        this.append(role, left);
      }
    }
    this.trimEnd();
  }

  /** Moves what stands behind a call before the calls: the results must come directly after them. */
  private callsLast(blocks: readonly Block[]): Block[] {
    const others: Block[] = [];
    const calls: Block[] = [];
    for (const one of blocks) {
      if (one.kind === "tool_use") {
        calls.push(one);
        continue;
      }
      if (calls.length > 0) {
        this.blocks.change(one.path, "moved", "calls come last");
      }
      others.push(one);
    }
    return [...others, ...calls];
  }

  /** Leaves out the thinking that an assistant message ends in. */
  private withoutLastThinking(blocks: Block[]): Block[] {
    for (let last = blocks.at(-1); last?.kind.endsWith("thinking") === true; last = blocks.at(-1)) {
      this.blocks.change(last.path, "left_out", "an assistant message cannot end in thinking");
      blocks.pop();
    }
    return blocks;
  }

  /** Takes the white space off the end of a last message that is the assistant's. */
  private trimEnd(): void {
    const turn = this.turns.at(-1);
    const last = turn?.blocks.at(-1);
    if (turn?.role !== "assistant" || last?.text === undefined) {
      return;
    }
    const trimmed = trimEnd(last.text);
    if (trimmed !== last.text) {
      this.blocks.change(last.path, "replaced", "the last message cannot end in white space");
      turn.blocks[turn.blocks.length - 1] = textOf(trimmed, last.path);
    }
  }
}

/** The content of a message: a string where all is one text. */
function contentOf(blocks: readonly Block[]): Value {
  const [first] = blocks;
  return blocks.length === 1 && first?.text !== undefined ? string(first.text) : list(blocks.map((b) => b.value));
}
