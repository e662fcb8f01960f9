// Groups of tool calls, for what a provider accepts: each call with its one result directly after. Calls and results are paired as the
// server's repair does.

import { Role, type Message, type ToolCall } from "../gen/transcript/v1/message_pb.js";
import { isOpaque } from "../messages.js";

/** A call of a group. */
export interface GroupCall {
  /** Where it stands. */
  readonly message: number;
  readonly part: number;
  readonly call: ToolCall;
  /** The message that answers it. */
  result?: number;
}

/** A message by itself, or a group. */
export interface Step {
  /** The message, or the group's first. */
  readonly message: number;
  /** The group's messages with calls; none for a message by itself. */
  readonly assistants: number[];
  /** The group's calls, in order. */
  readonly calls: GroupCall[];
  /** Indices of the calls that have results, in the order of the results. */
  readonly answered: number[];
}

/**
 * Cuts messages into steps, in order. leftOut are the results that answer no call of their group; they are in no step, and nor are opaque
 * messages.
 */
export function split(messages: readonly Message[]): { steps: Step[]; leftOut: number[] } {
  const steps: Step[] = [];
  const leftOut: number[] = [];
  let group: Step | undefined; // the open group, the last of steps
  for (const [i, message] of messages.entries()) {
    if (isOpaque(message)) {
      continue;
    }
    if (message.role === Role.TOOL) {
      if (group === undefined || !answer(group, message, i)) {
        leftOut.push(i);
      }
      continue;
    }
    const calls = callsOf(message, i);
    if (calls.length === 0) {
      steps.push({ message: i, assistants: [], calls: [], answered: [] });
      group = undefined;
      continue;
    }
    if (group === undefined || group.answered.length > 0) {
      group = { message: i, assistants: [], calls: [], answered: [] };
      steps.push(group);
    }
    group.assistants.push(i);
    group.calls.push(...calls);
  }
  return { steps, leftOut };
}

/** The calls of an assistant; others have none, whatever their parts are. */
function callsOf(message: Message, at: number): GroupCall[] {
  if (message.role !== Role.ASSISTANT) {
    return [];
  }
  return message.parts.flatMap((part, i) =>
    part.kind.case === "toolCall" ? [{ message: at, part: i, call: part.kind.value }] : [],
  );
}

/** Gives the first unanswered call with the result's id its result, if there is one. */
function answer(group: Step, result: Message, at: number): boolean {
  const k = group.calls.findIndex((c) => c.result === undefined && c.call.id === result.toolCallId);
  const call = group.calls[k];
  if (call === undefined) {
    return false;
  }
  call.result = at;
  group.answered.push(k);
  return true;
}

/** Makes names that a provider accepts: of letters, digits, "_" and "-", at most `most` characters. */
export class Names {
  private readonly used = new Set<string>();
  /** The last end that was tried for a clean name. */
  private readonly last = new Map<string, number>();

  /** @param none - Stands for a name of which nothing is left. */
  constructor(
    private readonly most: number,
    private readonly none: string,
  ) {}

  /** The name itself where it is accepted; else it with "_" for each byte of UTF-8 that is not, cut. */
  clean(name: string): string {
    const clean = name.replace(/[^0-9A-Za-z_-]/gu, (c) => "_".repeat(new TextEncoder().encode(c).length));
    return clean === "" ? this.none : clean.slice(0, this.most);
  }

  /** Gives a name out, if it is accepted and was not given before. */
  take(name: string): boolean {
    return name !== "" && this.clean(name) === name && !this.used.has(name) && this.unique(name) === name;
  }

  /** The clean name, or, where it was given before, it with the first of "_2", "_3", … that was not. */
  unique(name: string): string {
    const clean = this.clean(name);
    let unique = clean;
    for (let i = Math.max(2, (this.last.get(clean) ?? 0) + 1); this.used.has(unique); i++) {
      const end = `_${String(i)}`;
      unique = clean.slice(0, this.most - end.length) + end;
      this.last.set(clean, i);
    }
    this.used.add(unique);
    return unique;
  }
}
