// Tools that an agent can hand to its model, ready made.

import { timestampDate } from "@bufbuild/protobuf/wkt";
import { scopeOf, type CallOptions, type Scope } from "../call.js";
import type { Client } from "../client/client.js";
import type { SearchInit } from "../client/reads.js";
import { fault, isReason } from "../errors.js";
import { Role, type Part } from "../gen/transcript/v1/message_pb.js";
import {
  ToolCallState,
  type RecallToolCallResponse,
  type SearchHit,
} from "../gen/transcript/v1/transcript_service_pb.js";
import { isWellFormed, type JsonObject } from "../json.js";
import { byId } from "../refs.js";
import type { Thread } from "./thread.js";

/** How a tool of a thread works. */
export interface ToolOptions {
  /**
   * Takes secrets out of what is given and shown, and finds nothing by them. The model is told the same of the tool. Parts of a result are parted
   * by line feeds then, so that what is no secret by itself makes none together.
   */
  readonly redact?: boolean | undefined;
}

/** A tool: what a model is told of it, and what runs its calls. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of its arguments. */
  readonly parameters: JsonObject;
  /** The tool as OpenAI's chat completions take it in `tools`. */
  readonly openai: { type: "function"; function: { name: string; description: string; parameters: JsonObject } };
  /** The tool as OpenAI's Responses API takes it in `tools`. */
  readonly responses: { type: "function"; name: string; description: string; parameters: JsonObject; strict: false };
  /** The tool as Anthropic's messages take it in `tools`. */
  readonly anthropic: { name: string; description: string; input_schema: JsonObject & { type: "object" } };
  /**
   * Runs it with the arguments as the model wrote them, a text or the parsed object, and gives the text of the result. What the model can put
   * right, such as a call id that is not there, is a text too; an error is a failure of the service or the call.
   */
  readonly run: (toolArguments: unknown, options?: CallOptions) => Promise<string>;
}

const RECALL = "recall_tool_call";
const SEARCH = "search_history";

/** The characters of a result, or of arguments that it asks for, that a model is given at once; those of arguments beside a result. */
const TEXT_CHARS = 20_000;
const ARGUMENT_CHARS = 2_000;
/** The hits of a search; and the pages that are looked at for them: each is about half a second at most. */
const MOST_HITS = 10;
const MOST_PAGES = 20;
/** The digits of a node's id that name it in a place. */
const PLACE_DIGITS = 12;
/** What the server puts in a secret's place. */
const REDACTED = "[redacted]";

const RECALL_USAGE =
  "The arguments have to be a JSON object with call_id and, where the line has one, place, both texts; offset is a whole number, " +
  "arguments true or false.";
const SEARCH_USAGE = "The arguments have to be a JSON object with query, a text; regexp is true or false.";

/** The tool recall_tool_call of a thread. */
export function recallTool(c: Client, thread: Thread, { redact = false }: ToolOptions): Tool {
  const description =
    "Get back the full result of an earlier tool call of this conversation. Results that were left out are shown as a line " +
    "'[result of NAME, B bytes, left out; recall CALL_ID PLACE]'. Where arguments of a call show '[N bytes left out]', get them back " +
    "with its id and arguments true.";
  const properties = {
    call_id: {
      type: "string",
      description: "The id of the tool call, as the line names it after 'recall'. '-' where it has none.",
    },
    place: {
      type: "string",
      description: "What stands behind the id in the line, such as 3f2a9c0d1e4b.0: names exactly that result.",
    },
    arguments: {
      type: "boolean",
      description: "Whether to get the arguments of the call in place of its result. Default false.",
    },
    offset: { type: "integer", description: "Where to go on in a long text, in characters. Default 0." },
  };
  return tool(RECALL, description, properties, "call_id", (given, scope) => recall(c, thread, given, redact, scope));
}

/** The tool search_history of a thread. */
export function searchTool(c: Client, thread: Thread, { redact = false }: ToolOptions): Tool {
  const description =
    "Search everything that was said earlier in this conversation, also what is no longer shown. Newest first.";
  const properties = {
    query: {
      type: "string",
      description: "The text to find, in any case of its letters; or an RE2 pattern where regexp is true.",
    },
    regexp: { type: "boolean", description: "Whether query is an RE2 pattern. Default false." },
  };
  return tool(SEARCH, description, properties, "query", (given, scope) => search(c, thread, given, redact, scope));
}

function tool(
  name: string,
  description: string,
  properties: JsonObject,
  required: string,
  run: (given: Readonly<Record<string, unknown>>, scope: Scope) => Promise<string>,
): Tool {
  const parameters = { type: "object" as const, properties, required: [required] };
  return {
    name,
    description,
    parameters,
    openai: { type: "function", function: { name, description, parameters } },
    responses: { type: "function", name, description, parameters, strict: false },
    anthropic: { name, description, input_schema: parameters },
    run: (toolArguments, options) => run(membersOf(toolArguments), scopeOf(options)),
  };
}

/** The members of arguments that a model gave; none where they are no JSON object, or hold a text that UTF-8 cannot. */
function membersOf(given: unknown): Readonly<Record<string, unknown>> {
  let value = given;
  if (typeof given === "string") {
    try {
      value = JSON.parse(given);
    } catch {
      return {};
    }
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return {};
  }
  const members = Object.entries(value).filter(([, v]) => v !== null && v !== undefined);
  return members.every(([, v]) => typeof v !== "string" || isWellFormed(v)) ? Object.fromEntries(members) : {};
}

async function recall(
  c: Client,
  thread: Thread,
  given: Readonly<Record<string, unknown>>,
  redact: boolean,
  scope: Scope,
): Promise<string> {
  const { call_id: id = "", place = "", arguments: wantsArguments = false, offset = 0 } = given;
  if (
    typeof id !== "string" ||
    typeof place !== "string" ||
    typeof wantsArguments !== "boolean" ||
    !Number.isInteger(offset) ||
    (id === "" && place === "")
  ) {
    return RECALL_USAGE;
  }
  // An id without its secret is none; its place is exact.
  const isKnown = id !== "" && id !== "-" && !(redact && place !== "" && id.includes(REDACTED));
  let got: RecallToolCallResponse;
  try {
    got = await c.recalled(byId(thread.head), { id: isKnown ? id : undefined, place, redact }, scope);
  } catch (error) {
    if (isReason(error, "TOOL_CALL_NOT_FOUND")) {
      return "There is no such tool call in this conversation.";
    }
    if (isReason(error, "INVALID_FIELD", "LIMIT_EXCEEDED")) {
      return "That is not the id and place of a tool call: copy both from the line.";
    }
    throw error;
  }
  return wantsArguments ? recalledArguments(got, Number(offset)) : recalledResult(got, Number(offset), redact);
}

/** A recalled call as a model reads it, with the text of its result from an offset on. */
function recalledResult(got: RecallToolCallResponse, offset: number, redact: boolean): string {
  const call =
    got.call === undefined ? "" : `call: ${got.call.name ?? ""} ${clip(got.call.arguments, ARGUMENT_CHARS)}\n`;
  if (got.resultPlace === undefined) {
    return `${call}It has no result.`;
  }
  const what = got.state === ToolCallState.ERROR ? "result, an error:\n" : "result:\n";
  return call + what + from(got.parts.map(partText).join(redact ? "\n" : ""), offset);
}

/** A recalled call with its arguments from an offset on. */
function recalledArguments(got: RecallToolCallResponse, offset: number): string {
  if (got.call === undefined) {
    return "The call of this result is not in this conversation.";
  }
  return `call: ${got.call.name ?? ""}, with the arguments:\n${from(got.call.arguments, offset)}`;
}

/** What a model is given at once of a text, from an offset on. */
function from(text: string, offset: number): string {
  const whole = Array.from(text);
  if (offset > 0 && offset >= whole.length) {
    return `[it has ${String(whole.length)} characters: there is nothing at offset ${String(offset)}]`;
  }
  const begin = Math.max(offset, 0);
  const end = Math.min(whole.length, begin + TEXT_CHARS);
  const more =
    end < whole.length ? `\n[${String(whole.length - end)} more characters: ask again with offset ${String(end)}]` : "";
  return whole.slice(begin, end).join("") + more;
}

/** The text of a part; what is not text is named. */
function partText({ kind }: Part): string {
  switch (kind.case) {
    case "text":
    case "json":
      return kind.value;
    case "media":
      return `[${kind.value.mediaType}]`;
    default:
      return "";
  }
}

/** The first characters of a text. */
function clip(text: string, chars: number): string {
  const all = Array.from(text);
  return all.length > chars ? `${all.slice(0, chars).join("")}...` : text;
}

async function search(
  c: Client,
  thread: Thread,
  given: Readonly<Record<string, unknown>>,
  redact: boolean,
  scope: Scope,
): Promise<string> {
  const { query, regexp = false } = given;
  if (typeof query !== "string" || query === "" || typeof regexp !== "boolean") {
    return SEARCH_USAGE;
  }
  const request: SearchInit = {
    head: byId(thread.head),
    ...(regexp ? { regexp: query } : { text: query }),
    pageSize: 2 * MOST_HITS,
    redact,
  };
  try {
    const { hits, more } = await searchHits(c, request, scope);
    return hitsText(hits, more);
  } catch (error) {
    if (isReason(error, "INVALID_PATTERN")) {
      return "That is not an RE2 pattern, or one that is too large.";
    }
    if (isReason(error, "INVALID_FIELD", "LIMIT_EXCEEDED")) {
      return "That cannot be searched for: query has to be 1 byte to 1 KiB of text.";
    }
    throw error;
  }
}

/**
 * The first hits of a search, one more than are shown if there are so many, but for what matches only in calls and results of the tools
 * themselves: a model's search would always find itself; and, redacted, in secrets alone. more: not all was looked at.
 */
async function searchHits(c: Client, request: SearchInit, scope: Scope): Promise<{ hits: SearchHit[]; more: boolean }> {
  const hits: SearchHit[] = [];
  let token = "";
  for (let page = 0; page < MOST_PAGES; page++) {
    const found = await c.searched(request, token, scope);
    for (const hit of found.hits) {
      const alone = isOfTools(hit.toolName) || (request.redact === true && hit.matches.length === 0);
      const shown = alone ? await hitBehind(c, request, hit, scope) : hit;
      if (shown !== undefined) {
        hits.push(shown);
      }
    }
    token = found.nextPageToken;
    if (token === "" || hits.length > MOST_HITS) {
      break;
    }
  }
  return { hits, more: token !== "" };
}

/** Whether a tool is one of these. */
function isOfTools(name: string | undefined): boolean {
  return name === SEARCH || name === RECALL;
}

/**
 * What a message matches in besides calls of the tools themselves: a hit names only the first part that matches, and behind a call may come
 * another tool's, or a text. undefined: there is nothing else, as in a result of the tools, or it cannot be told here: of a redacted search,
 * since only the server knows what is a secret, and of a pattern, which a model wrote, and RegExp might match for years.
 */
async function hitBehind(c: Client, request: SearchInit, hit: SearchHit, scope: Scope): Promise<SearchHit | undefined> {
  const { text } = request;
  if (request.redact === true || text === undefined || (hit.role !== Role.ASSISTANT && isOfTools(hit.toolName))) {
    return undefined;
  }
  const pattern = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
  const parts = await partsOf(c, hit, scope);
  for (const part of parts.slice(hit.partIndex)) {
    const call = part.kind.case === "toolCall" ? part.kind.value : undefined;
    const excerpt = isOfTools(call?.name) ? undefined : around(part, pattern);
    if (excerpt !== undefined) {
      const { toolName: own, toolCallId, ...rest } = hit;
      const isResult = hit.role === Role.TOOL;
      const toolName = call?.name ?? (isResult ? own : undefined);
      return {
        ...rest,
        excerpt,
        ...(isResult && toolCallId !== undefined && { toolCallId }),
        ...(toolName !== undefined && { toolName }),
      };
    }
  }
  return undefined;
}

/** The parts of the message that a hit is in. */
async function partsOf(c: Client, { place, partIndex }: SearchHit, scope: Scope): Promise<readonly Part[]> {
  try {
    const { messages } = await c.getNode(byId(place?.nodeId ?? ""), false, scope);
    const parts = messages[place?.messageIndex ?? 0]?.parts ?? [];
    if (partIndex >= parts.length) {
      throw fault("BAD_REPLY", "a hit in what is not there");
    }
    return parts;
  } catch (error) {
    if (isReason(error, "USE_STREAM_ASSEMBLE")) {
      return []; // more than a model wants to find in
    }
    throw error;
  }
}

/** Some 200 characters of a part around its first match, a third of them before it, as the server's excerpts are. */
function around(part: Part, pattern: RegExp): string | undefined {
  const chars = 200;
  const third = Math.floor(chars / 3);
  for (const text of textsOf(part)) {
    const at = text.search(pattern);
    if (text !== "" && at >= 0) {
      const before = Array.from(text.slice(0, at));
      const behind = Array.from(text.slice(at));
      return before.slice(-third).join("") + behind.slice(0, chars - third).join("");
    }
  }
  return undefined;
}

/** What of a part is searched. */
function textsOf({ kind }: Part): string[] {
  switch (kind.case) {
    case "text":
    case "json":
      return [kind.value];
    case "reasoning":
      return [kind.value.text];
    case "toolCall":
      return [kind.value.name ?? "", kind.value.arguments];
    default:
      return [];
  }
}

/** What was found as a model reads it. */
function hitsText(hits: readonly SearchHit[], more: boolean): string {
  const shown = hits.slice(0, MOST_HITS).map(hitText).join("");
  if (hits.length > MOST_HITS) {
    return `${shown}[there is more: use a narrower query]\n`;
  }
  if (more) {
    return `${shown}[the oldest messages were not looked at: it would take too long]\n`;
  }
  return hits.length === 0 ? "Nothing was found." : shown;
}

/** A hit as a model reads it, with what recall_tool_call needs to give all of a result. */
function hitText(hit: SearchHit): string {
  const { nodeId = "", messageIndex = 0 } = hit.place ?? {};
  const words = [Role[hit.role].toLowerCase()];
  if (hit.toolName !== undefined) {
    words.push(hit.toolName);
  }
  if (hit.sentAt !== undefined) {
    words.push(timestampDate(hit.sentAt).toISOString().slice(0, 16).replace("T", " "));
  }
  if (hit.role === Role.TOOL && nodeId.length >= PLACE_DIGITS) {
    words.push(`(recall ${hit.toolCallId ?? "-"} ${nodeId.slice(0, PLACE_DIGITS)}.${String(messageIndex)})`);
  }
  return `- ${words.join(" ")}: ${hit.excerpt.split(/\s+/).filter(Boolean).join(" ")}\n`;
}
