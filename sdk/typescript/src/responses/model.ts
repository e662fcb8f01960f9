// Messages for a model that speaks the Responses API.

import {
  Role,
  type Media,
  type Message,
  type Part,
  type Reasoning,
  type ToolCall,
} from "../gen/transcript/v1/message_pb.js";
import { allForProvider } from "../convert/framework.js";
import { Names, split, type Step } from "../convert/groups.js";
import { placeholder } from "../convert/media.js";
import {
  ConversionError,
  index,
  NoMessagesError,
  type Change,
  type ChangeKind,
  type Report,
} from "../convert/report.js";
import { readExtras } from "../convert/taker.js";
import { list, object, readAny, string, write, type Value } from "../json.js";
import { STUB_TEXT } from "../texts.js";
import { INNER } from "./format.js";
import {
  callOf,
  CUSTOM,
  FUNCTION,
  INPUT_FILE,
  INPUT_IMAGE,
  isImage,
  isWhole,
  ITEM,
  mediaItem,
  roleName,
  said,
  summaryOf,
  textItem,
  textsOf,
  typed,
  typeOf,
} from "./items.js";
import type { InputItem } from "./types.js";

// The API's limit on names and ids, and what stands for one of which nothing is left.
const MOST = 64;
const NO_NAME = "unknown";
const NO_ID = "call";

/**
 * Writes messages as a list of items that the Responses API accepts as input, from whatever provider they came: each call is followed by exactly one
 * result, behind the items of its group; call ids are unique and well-formed; no message is empty; each part is of a kind that its role may have.
 * Reasoning goes back where OpenAI encrypted it, and something follows it. Items have no ids, so that nothing need be stored at OpenAI; what its tools
 * did is left out. The report tells, by the paths of the given messages, all that was changed. Call arguments are never touched.
 *
 * What was written for the messages of a chain begins what is written for a longer chain, unless the chain ended within a group or in reasoning.
 *
 * @throws NoMessagesError where nothing is left to send; ConversionError, as format.
 */
export function forModel(messages: readonly Message[]): { items: InputItem[]; report: Report } {
  const { text, report } = forModelText(messages);
  return { items: JSON.parse(text) as InputItem[], report };
}

/** As forModel, as JSON text. */
export function forModelText(messages: readonly Message[]): { text: string; report: Report } {
  const report: Change[] = [];
  const model = new Model(allForProvider(messages, INNER, report), report);
  return { text: write(list(model.items())), report };
}

/** A call that was written. */
interface Given {
  readonly id: string;
  custom: boolean;
}

/** Gathers what one item is to hold. */
class Content {
  private readonly texts: string[] = [];
  private readonly items: Value[] = [];

  get isEmpty(): boolean {
    return this.items.length === 0;
  }

  add(item: Value): void {
    this.items.push(item);
  }

  /** Adds a text of what a role says; an empty one says nothing. */
  text(text: string, role: Role): void {
    if (text !== "") {
      this.texts.push(text);
      this.add(textItem(text, role));
    }
  }

  /** A string where all is one text, and where there is nothing; else a list. */
  get value(): Value {
    const [text = ""] = this.texts;
    return this.isEmpty || (this.texts.length === 1 && this.items.length === 1) ? string(text) : list(this.items);
  }
}

/** The state of one forModel. */
class Model {
  /** The ids given to calls, unique in the whole request. */
  private readonly ids = new Names(MOST, NO_ID);
  readonly names = new Names(MOST, NO_NAME);
  readonly out: Value[] = [];

  constructor(
    private readonly messages: readonly Message[],
    readonly report: Change[],
  ) {}

  items(): Value[] {
    const { steps, leftOut } = split(this.messages);
    for (const i of leftOut) {
      this.change(index("messages", i), "left_out", "answers no call of its group");
    }
    for (const step of steps) {
      this.step(step);
    }
    if (this.out.length === 0) {
      throw new NoMessagesError(this.report);
    }
    return this.out;
  }

  change(path: string, kind: ChangeKind, why: string): void {
    this.report.push({ path, kind, why });
  }

  renamed(path: string, from: string | undefined, to: string): void {
    if (from !== to) {
      this.report.push({ path, kind: "renamed", from: from ?? "", to });
    }
  }

  /** Reports a part's other members, unless it has just the one that is kept. */
  partExtras(path: string, extras: Value | undefined, kept?: string): void {
    const isKept = kept !== undefined && extras?.members.length === 1 && extras.member(kept) !== undefined;
    if (extras !== undefined && !isKept) {
      this.change(`${path}.extras`, "left_out", "only documented members are written");
    }
  }

  private message(i: number): Message {
    const message = this.messages[i];
    if (message === undefined) {
      throw new RangeError(`there is no message ${String(i)}`);
    }
    return message;
  }

  private step(step: Step): void {
    if (step.calls.length > 0) {
      this.group(step);
    } else if (this.message(step.message).role === Role.ASSISTANT) {
      this.turn(step.message, new Map());
    } else {
      this.speaks(step.message);
    }
  }

  /** Writes a message of the system, the developer or the user. */
  private speaks(i: number): void {
    const path = index("messages", i);
    const role = roleName(this.message(i).role);
    if (role === undefined) {
      throw new ConversionError(`${path}.role`, "is not a role");
    }
    const content = this.input(i);
    this.others(i);
    if (content.isEmpty) {
      this.change(path, "left_out", "has no content");
      return;
    }
    this.out.push(object({ role: string(role), content: content.value }));
  }

  /** Reports a message's other members, none of which is written. */
  private others(i: number): void {
    const { name, extras } = this.message(i);
    if (name !== undefined) {
      this.change(`${index("messages", i)}.name`, "left_out", "items have no such member");
    }
    if (extras !== "" && extras !== '{"type":"message"}') {
      this.change(`${index("messages", i)}.extras`, "left_out", "only documented members are written");
    }
  }

  /** Writes a group: the items of its assistant messages, then a result for each of its calls. */
  private group(step: Step): void {
    const byPlace = new Map<number, Map<number, Given>>(step.assistants.map((i) => [i, new Map()]));
    const given = step.calls.map(({ message, part, call }): Given => {
      const id = this.ids.unique(call.id ?? "");
      this.renamed(`${index(`${index("messages", message)}.parts`, part)}.tool_call.id`, call.id, id);
      const one = { id, custom: false };
      byPlace.get(message)?.set(part, one);
      return one;
    });
    for (const i of step.assistants) {
      this.turn(i, byPlace.get(i) ?? new Map<number, Given>());
    }
    for (const k of step.answered) {
      const result = step.calls[k]?.result;
      const call = given[k];
      if (result !== undefined && call !== undefined) {
        this.result(result, call);
      }
    }
    for (const [k, { message, part, result }] of step.calls.entries()) {
      const call = given[k];
      if (result === undefined && call !== undefined) {
        this.change(index(`${index("messages", message)}.parts`, part), "added", "has no result");
        this.out.push(output(call, string(STUB_TEXT)));
      }
    }
  }

  /** Writes the result of a call. */
  private result(i: number, call: Given): void {
    const content = this.input(i);
    if (this.message(i).isError) {
      this.change(`${index("messages", i)}.is_error`, "left_out", "results have no such member");
    }
    this.others(i);
    this.out.push(output(call, content.value));
  }

  /** The content of a message that is not the assistant's. */
  private input(i: number): Content {
    const { parts, role } = this.message(i);
    const content = new Content();
    for (const [j, part] of parts.entries()) {
      const path = index(`${index("messages", i)}.parts`, j);
      const extras = readExtras(part.extras, `${path}.extras`);
      switch (part.kind.case) {
        case "text":
          content.text(part.kind.value, role);
          this.partExtras(path, extras);
          break;
        case "reasoning":
          this.change(path, "left_out", "only an assistant thinks");
          break;
        case "media": {
          const { item, kept } = modelMedia(part.kind.value, extras);
          this.part(content, role, path, item, part.kind.value.mediaType);
          this.partExtras(path, extras, kept);
          break;
        }
        case "json": {
          const { item, kind } = uploaded(part, part.kind.value);
          this.part(content, role, path, item, kind);
          break;
        }
        case "toolCall":
          this.change(path, "left_out", "only an assistant calls tools");
          break;
        default:
          throw new ConversionError(path, "has no kind");
      }
    }
    return content;
  }

  /** Adds a part that is not text, or what stands for it: the item is undefined where the API has nothing for it. */
  private part(content: Content, role: Role, path: string, item: Value | undefined, kind: string): void {
    const speaks = role === Role.USER || role === Role.TOOL;
    if (item !== undefined && speaks) {
      content.add(item);
    } else if (speaks) {
      const text = placeholder(kind);
      this.report.push({ path, kind: "replaced", to: text, why: "the API has no such part" });
      content.text(text, role);
    } else {
      this.change(path, "left_out", "messages of this role hold only text");
    }
  }

  /** Writes the items of an assistant's message; given is what was given to the calls of its parts. */
  private turn(i: number, given: ReadonlyMap<number, Given>): void {
    const turn = new Turn(this, given);
    for (const [j, part] of this.message(i).parts.entries()) {
      const path = index(`${index("messages", i)}.parts`, j);
      turn.part(part, j, readExtras(part.extras, `${path}.extras`), path);
    }
    const wrote = turn.end();
    this.others(i);
    if (!wrote) {
      this.change(index("messages", i), "left_out", "has no content");
    }
  }
}

/** The item of a call's result. */
function output(call: Given, content: Value): Value {
  const type = call.custom ? "custom_tool_call_output" : "function_call_output";
  return typed(type, { call_id: string(call.id), output: content });
}

/** What was written of an assistant's message so far. */
class Turn {
  /** The content of the item of type message that was begun, and the item's phase. */
  private said: Content | undefined;
  private phase: Value | undefined;
  /** Reasoning items that something has to follow, with their parts' paths. */
  private thought: { value: Value; path: string }[] = [];
  private wrote = false;

  constructor(
    private readonly model: Model,
    private readonly given: ReadonlyMap<number, Given>,
  ) {}

  part(part: Part, j: number, extras: Value | undefined, path: string): void {
    const item = extras?.member(ITEM);
    if (item !== undefined) {
      this.endMessage();
      const phase = item.member("phase");
      this.phase = /^(commentary|final_answer)$/.test(phase?.asString ?? "") ? phase : undefined;
    }
    switch (part.kind.case) {
      case "text":
        this.say().text(part.kind.value, Role.ASSISTANT);
        this.itemExtras(path, extras);
        return;
      case "reasoning":
        this.endMessage();
        this.reasoning(part.kind.value, extras, path);
        return;
      case "toolCall":
        this.call(part.kind.value, j, extras, path);
        return;
      case "media":
        this.model.change(path, "left_out", "messages of this role hold only text");
        this.model.partExtras(path, extras);
        return;
      case "json":
        this.json(part, part.kind.value, extras, path);
        return;
      default:
        throw new ConversionError(path, "has no kind");
    }
  }

  /** Ends the message, and tells whether something was written of it. */
  end(): boolean {
    this.endMessage();
    for (const { path } of this.thought) {
      this.model.change(path, "left_out", "nothing follows the reasoning");
    }
    return this.wrote;
  }

  private say(): Content {
    this.said ??= new Content();
    return this.said;
  }

  /** Writes the item of type message that was begun, if it says something. */
  private endMessage(): void {
    if (this.said?.isEmpty === false) {
      const value = said(this.said.value);
      this.write(this.phase === undefined ? value : value.with("phase", this.phase));
    }
    this.said = this.phase = undefined;
  }

  /** Writes an item, and before it the reasoning that it follows. */
  private write(value: Value): void {
    this.model.out.push(...this.thought.map((t) => t.value), value);
    this.thought = [];
    this.wrote = true;
  }

  /** Reports the other members of a text and of the item that it begins. What an answer tells of itself is no news to the model. */
  private itemExtras(path: string, extras: Value | undefined): void {
    const own = [ITEM, "annotations", "logprobs"];
    if (extras?.members.some((m) => !own.includes(m.name)) === true) {
      this.model.change(`${path}.extras`, "left_out", "only documented members are written");
    }
  }

  /** Keeps reasoning that OpenAI encrypted, until something follows it. */
  private reasoning({ text }: Reasoning, extras: Value | undefined, path: string): void {
    const encrypted = extras?.member("encrypted_content")?.asString ?? "";
    if (encrypted === "") {
      this.model.change(path, "left_out", "reasoning must be encrypted");
      return;
    }
    const given = extras?.member("summary");
    const texts = given === undefined ? (text === "" ? [] : [text]) : textsOf(given, "summary_text").texts;
    const value = typed("reasoning", { encrypted_content: string(encrypted), summary: list(summaryOf(texts)) });
    this.thought.push({ value, path });
  }

  /** Writes a call, of a function or of a custom tool. */
  private call(call: ToolCall, j: number, extras: Value | undefined, path: string): void {
    this.endMessage();
    const given = this.given.get(j) ?? { id: NO_ID, custom: false };
    const name = this.model.names.clean(call.name ?? "");
    this.model.renamed(`${path}.tool_call.name`, call.name, name);
    const type = extras?.member("type")?.asString;
    const called = callOf(type);
    given.custom = called === CUSTOM || type === "custom"; // as this API has it, and as chat completions do
    if (!given.custom && called !== undefined) {
      this.model.change(path, "replaced", "a function stands for the tool");
    }
    const space = extras?.member("namespace")?.asString ?? "";
    const namespaced = space !== "" && this.model.names.clean(space) === space;
    if (given.custom || called === undefined || called === FUNCTION) {
      this.callExtras(path, extras, namespaced);
    }
    this.write(
      typed(given.custom ? "custom_tool_call" : "function_call", {
        call_id: string(given.id),
        name: string(name),
        ...(namespaced && { namespace: string(space) }),
        [given.custom ? "input" : "arguments"]: string(call.arguments),
      }),
    );
  }

  /** Reports the other members of a call. That an answer has an id and a status is no news to the model. */
  private callExtras(path: string, extras: Value | undefined, namespaced: boolean): void {
    const own = ["type", "id", "status", ...(namespaced ? ["namespace"] : [])];
    if (extras?.members.some((m) => !own.includes(m.name)) === true) {
      this.model.change(`${path}.extras`, "left_out", "only documented members are written");
    }
  }

  /** Writes what the API takes back: a refusal, and what stands for compacted items. */
  private json(part: Part, text: string, extras: Value | undefined, path: string): void {
    const value = readAny(text);
    const refusal = value?.member("refusal")?.asString ?? "";
    const encrypted = value?.member("encrypted_content")?.asString ?? "";
    if (typeOf(value) === "refusal" && refusal !== "") {
      this.say().add(typed("refusal", { refusal: string(refusal) }));
      this.itemExtras(path, extras);
    } else if (typeOf(value) === "compaction" && encrypted !== "" && isWhole(part)) {
      this.endMessage();
      this.write(typed("compaction", { encrypted_content: string(encrypted) }));
    } else {
      this.model.change(path, "left_out", "the API has no such item here");
    }
  }
}

/** The item that the API has for a piece of media, and which of its extras stands in it. */
function modelMedia(media: Media, extras: Value | undefined): { item: Value | undefined; kept?: string } {
  switch (mediaClass(media)) {
    case INPUT_IMAGE:
      return { item: mediaItem(media, { detail: detail(extras) }), kept: "detail" };
    case INPUT_FILE: {
      if (media.source.case === "uri") {
        return { item: mediaItem(media) };
      }
      const name = extras?.member("filename")?.asString ?? "";
      return { item: mediaItem(media, { filename: string(name === "" ? "document.pdf" : name) }), kept: "filename" };
    }
    default:
      return { item: undefined };
  }
}

/** How closely the model looks at an image. */
function detail(extras: Value | undefined): Value {
  const own = extras?.member("detail")?.asString ?? "";
  // Else of a message of chat completions.
  const given = own === "" ? (extras?.member("image_url")?.member("detail")?.asString ?? "") : own;
  return string(["low", "high", "original"].includes(given) ? given : "auto");
}

/** The type of item that holds a piece of media; undefined where the API takes none of its type or source. */
function mediaClass({ mediaType, source }: Media): string | undefined {
  if (source.case === "inline" && source.value.length > 0) {
    if (/^image\/(png|jpeg|gif|webp)$/.test(mediaType)) {
      return INPUT_IMAGE;
    }
    return mediaType === "application/pdf" ? INPUT_FILE : undefined;
  }
  if (source.case === "uri" && /^https?:\/\//.test(source.value)) {
    if (isImage(mediaType)) {
      return INPUT_IMAGE;
    }
    return ["file", "document", "application/pdf"].includes(mediaType) ? INPUT_FILE : undefined;
  }
  return undefined;
}

/** The item of a json part that names a file by its id; and the part's own type. */
function uploaded(part: Part, text: string): { item: Value | undefined; kind: string } {
  const value = readAny(text);
  const kind = typeOf(value);
  const id = value?.member("file_id")?.asString ?? "";
  const others = ["image_url", "file_url", "file_data"].some((name) => value?.member(name) !== undefined);
  if (id === "" || isWhole(part) || others) {
    return { item: undefined, kind };
  }
  if (kind === INPUT_IMAGE) {
    return { item: typed(INPUT_IMAGE, { file_id: string(id), detail: detail(value) }), kind };
  }
  return { item: kind === INPUT_FILE ? typed(INPUT_FILE, { file_id: string(id) }) : undefined, kind };
}
