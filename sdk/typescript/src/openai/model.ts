// Messages for a model that speaks chat completions.

import { type Message, type Part } from "../gen/transcript/v1/message_pb.js";
import { allForProvider } from "../convert/framework.js";
import { Names, split, type Step } from "../convert/groups.js";
import { index, NoMessagesError, type Change, type ChangeKind, type Report } from "../convert/report.js";
import { readExtras } from "../convert/taker.js";
import { list, NULL, object, string, write, type Value } from "../json.js";
import { STUB_TEXT } from "../texts.js";
import { calledKind } from "./calls.js";
import { Content, gather } from "./modelcontent.js";
import { roleName } from "./parts.js";
import type { ChatMessage } from "./types.js";

// The API's limits on names and ids, and what stands for one of which nothing is left.
const MAX_NAME = 64;
const MAX_ID = 40;
const NO_NAME = "unknown";
const NO_ID = "call";

/**
 * Writes messages as a list that the chat-completions API accepts, from whatever provider they came: each assistant message with calls is
 * followed by exactly one result for each call, the assistant messages of a group are one, call ids are unique and well-formed, no message is
 * empty, and each part is of a kind that its role may have. The report tells, by the paths of the given messages, all that was changed. Call
 * arguments are never touched.
 *
 * What was written for the messages of a chain begins what is written for a longer chain, unless the chain ended within a group.
 *
 * @throws NoMessagesError where nothing is left to send; ConversionError, as format.
 */
export function forModel(messages: readonly Message[]): { messages: ChatMessage[]; report: Report } {
  const { text, report } = forModelText(messages);
  return { messages: JSON.parse(text) as ChatMessage[], report };
}

/** As forModel, as JSON text. */
export function forModelText(messages: readonly Message[]): { text: string; report: Report } {
  const report: Change[] = [];
  const model = new Model(allForProvider(messages, {}, report), report);
  const { steps, leftOut } = split(model.messages);
  for (const i of leftOut) {
    model.change(index("messages", i), "left_out", "answers no call of its group");
  }
  for (const step of steps) {
    model.step(step);
  }
  if (model.out.length === 0) {
    throw new NoMessagesError(report);
  }
  return { text: write(list(model.out)), report };
}

/** The state of one forModel. */
class Model {
  /**
   * The ids given to calls, unique in the whole request: the API may take one again that was answered, but servers that have its form may
   * not.
   */
  private readonly ids = new Names(MAX_ID, NO_ID);
  private readonly names = new Names(MAX_NAME, NO_NAME);
  readonly out: Value[] = [];

  constructor(
    readonly messages: readonly Message[],
    private readonly report: Change[],
  ) {}

  change(path: string, kind: ChangeKind, why: string): void {
    this.report.push({ path, kind, why });
  }

  step(step: Step): void {
    if (step.calls.length > 0) {
      this.group(step);
    } else {
      this.plain(step.message);
    }
  }

  private message(i: number): Message {
    const message = this.messages[i];
    if (message === undefined) {
      throw new RangeError(`there is no message ${String(i)}`);
    }
    return message;
  }

  /** Writes a message that is in no group, if it has content. */
  private plain(i: number): void {
    const path = index("messages", i);
    const role = string(roleName(this.message(i).role, path));
    const content = new Content();
    this.gather(i, content);
    if (content.isEmpty) {
      this.change(path, "left_out", "has no content");
      return;
    }
    this.out.push(object({ role, content: content.value, name: this.name(i) }));
  }

  /** Adds a message's content; its other members are not written. */
  private gather(i: number, content: Content): void {
    const message = this.message(i);
    gather(message, index("messages", i), content, this.report);
    if (message.extras !== "") {
      this.change(`${index("messages", i)}.extras`, "left_out", "only documented members are written");
    }
  }

  /** Writes a group: one assistant message, a result for each of its calls, and what the results cannot hold. */
  private group(step: Step): void {
    const content = new Content();
    for (const [k, i] of step.assistants.entries()) {
      if (k > 0) {
        this.change(index("messages", i), "joined", "one assistant message comes before the results");
        this.noName(i, "the message has the first one's");
      }
      this.gather(i, content);
    }
    const name = this.name(step.message);
    const { calls, ids } = this.calls(step);
    this.out.push(object({ role: string("assistant"), content: content.value, name, tool_calls: list(calls) }));
    this.results(step, ids);
  }

  /** The calls of a group, and the ids given to them. */
  private calls(step: Step): { calls: Value[]; ids: string[] } {
    const ids: string[] = [];
    const calls = step.calls.map(({ message, part, call }) => {
      const path = `${index(`${index("messages", message)}.parts`, part)}.tool_call`;
      const id = this.ids.unique(call.id ?? "");
      this.renamed(`${path}.id`, call.id, id);
      ids.push(id);
      const name = this.names.clean(call.name ?? "");
      this.renamed(`${path}.name`, call.name, name);
      return modelCall(this.message(message).parts[part], id, name, call.arguments);
    });
    return { calls, ids };
  }

  private renamed(path: string, from: string | undefined, to: string): void {
    if (from !== to) {
      this.report.push({ path, kind: "renamed", from: from ?? "", to });
    }
  }

  /**
   * Writes the results of a group in the order in which they came, then a stub for each call without one, then a user's message with the
   * media that results cannot hold.
   */
  private results(step: Step, ids: readonly string[]): void {
    const media: Value[] = [];
    for (const k of step.answered) {
      const i = step.calls[k]?.result ?? -1;
      const content = new Content(ids[k]);
      this.gather(i, content);
      if (this.message(i).isError) {
        this.change(`${index("messages", i)}.is_error`, "left_out", "results have no such member");
      }
      this.noName(i, "results have no such member");
      this.result(ids[k], content.value);
      media.push(...content.moved);
    }
    for (const [k, call] of step.calls.entries()) {
      if (call.result === undefined) {
        this.change(index(`${index("messages", call.message)}.parts`, call.part), "added", "has no result");
        this.result(ids[k], string(STUB_TEXT));
      }
    }
    if (media.length > 0) {
      this.out.push(object({ role: string("user"), content: list(media) }));
    }
  }

  private result(id: string | undefined, content: Value): void {
    this.out.push(object({ role: string("tool"), tool_call_id: id === undefined ? NULL : string(id), content }));
  }

  /** The name of a speaker that is not a tool. */
  private name(i: number): Value | undefined {
    const path = `${index("messages", i)}.name`;
    const name = this.message(i).name;
    if (name === undefined) {
      return undefined;
    }
    if (name === "") {
      this.change(path, "left_out", "is empty");
      return undefined;
    }
    const clean = this.names.clean(name);
    this.renamed(path, name, clean);
    return string(clean);
  }

  /** Reports a name that is not written. */
  private noName(i: number, why: string): void {
    if (this.message(i).name !== undefined) {
      this.change(`${index("messages", i)}.name`, "left_out", why);
    }
  }
}

/** A call as the API documents it, of a function or of a custom tool. */
function modelCall(part: Part | undefined, id: string, name: string, text: string): Value {
  const { kind, member } = calledKind(readExtras(part?.extras ?? "", ""));
  return object({
    id: string(id),
    type: string(kind),
    [kind]: object({ name: string(name), [member]: string(text) }),
  });
}
