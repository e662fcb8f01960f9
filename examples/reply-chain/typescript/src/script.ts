// A model without a network: what it says follows from what it is sent, by the rules in examples/reply-chain/README.md.

import { createHash } from "node:crypto";

import { assistant, call, calls, text, Role, type Message, type ToolCall } from "transcriptd";

const SUMMARY_LINES = 40; // that a summary keeps, the last ones

/** A call with the last line of its result. */
interface Result {
  readonly tool: string;
  readonly id: string;
  readonly text: string;
}

/** What the model says to messages: calls of tools, or a text. No messages are an empty text. */
export function answer(messages: readonly Message[]): Message {
  const last = messages.findLastIndex((m) => m.role === Role.USER);
  const asked = last < 0 ? "" : lastText(messages[last]!);
  if (last < 0) {
    return assistant("");
  }
  if (asked.startsWith("Summarize")) {
    return assistant(summary(messages.slice(0, last)));
  }
  const known = results(messages);
  const byId = new Map(known.map((r) => [r.id, r]));
  const prefix = `call_${createHash("sha256").update(asked).digest("hex").slice(0, 8)}`;
  const earlier = known.filter((r) => !r.id.startsWith(prefix));
  const told: string[] = [];
  let number = 0;
  for (const round of asked.split("; ")) {
    const wanted: ToolCall[] = [];
    for (const words of round.split(" & ")) {
      const one = callOf(`${prefix}_${number}`, words.split(" "), earlier);
      if (one !== undefined) {
        number++;
        wanted.push(one);
      }
    }
    const found = wanted.map((one) => byId.get(one.id ?? ""));
    if (found.includes(undefined)) {
      return assistant("", wanted);
    }
    told.push(...found.map((r) => `${r!.tool}: ${r!.text}`));
  }
  return assistant(told.length > 0 ? told.join("; ") : `You said: ${asked}`);
}

function callOf(id: string, words: readonly string[], earlier: readonly Result[]): ToolCall | undefined {
  const [verb, a = "", b = "", c = ""] = words;
  if (verb === "call" && words.length > 2) {
    return call(id, a, words.slice(2).join(" "));
  }
  switch (`${verb} ${words.length - 1}`) {
    case "read 1":
      return jsonCall(id, "read_note", { name: a });
    case "calc 3":
      return jsonCall(id, "calculate", { a: whole(a), op: b, b: whole(c) });
    case "pay 2":
      return jsonCall(id, "pay", { to: a, amount: whole(b) });
    case "ring 0":
      return jsonCall(id, "ring", {});
    case "recall 1":
      return jsonCall(id, "recall_tool_call", { call_id: earlier.findLast((r) => r.tool === a)?.id ?? "none" });
    default:
      return undefined;
  }
}

function jsonCall(id: string, name: string, toolArguments: object): ToolCall {
  return call(id, name, JSON.stringify(toolArguments));
}

function whole(word: string): number {
  return /^-?[0-9]{1,9}$/.test(word) ? Number(word) : 0;
}

/** The results in messages, also those that a summary tells of, in order. */
function results(messages: readonly Message[]): Result[] {
  const names = new Map<string, string>();
  return messages.flatMap((m) => {
    remember(names, m);
    if (m.role === Role.TOOL) {
      return [resultOf(m, names)];
    }
    return summaryLines(m).flatMap((line) => {
      const [, tool, id, told] = /^- (\w+) (call_[0-9a-f]{8}_[0-9]+): (.*)$/.exec(line) ?? [];
      return tool !== undefined && id !== undefined && told !== undefined ? [{ tool, id, text: told }] : [];
    });
  });
}

function remember(names: Map<string, string>, m: Message): void {
  for (const one of calls(m)) {
    names.set(one.id ?? "", one.name ?? "");
  }
}

function resultOf(m: Message, names: ReadonlyMap<string, string>): Result {
  const id = m.toolCallId ?? "";
  return { tool: names.get(id) ?? "", id, text: text(m).replace(/\n+$/, "").split("\n").at(-1) ?? "" };
}

function summaryLines(m: Message): string[] {
  const texts =
    m.role === Role.USER ? m.parts.flatMap((part) => (part.kind.case === "text" ? [part.kind.value] : [])) : [];
  return texts.filter((t) => t.startsWith("- ")).flatMap((t) => t.split("\n"));
}

/** Tells of messages, a line each, and repeats the summary that is among them. */
function summary(messages: readonly Message[]): string {
  const names = new Map<string, string>();
  const lines = messages.flatMap((m) => {
    remember(names, m);
    switch (m.role) {
      case Role.TOOL: {
        const r = resultOf(m, names);
        return [`- ${r.tool} ${r.id}: ${r.text}`];
      }
      case Role.USER:
        return [...summaryLines(m), ...(lastText(m).startsWith("- ") ? [] : [`- user: ${lastText(m)}`])];
      case Role.ASSISTANT:
        return text(m) === "" ? [] : [`- assistant: ${text(m)}`];
      default:
        return [];
    }
  });
  return lines.slice(-SUMMARY_LINES).join("\n");
}

function lastText(m: Message): string {
  return m.parts.flatMap((part) => (part.kind.case === "text" ? [part.kind.value] : [])).at(-1) ?? "";
}
