// Blocks of tools that the provider's servers run within an answer.

import type { Names } from "../convert/groups.js";
import type { Value } from "../json.js";
import type { Change } from "../convert/report.js";
import type { Block } from "./modelblocks.js";

const CALL = "server_tool_use";

/** The type of the results of each tool; a tool that needs a beta header, or is unknown, is not there. */
const RESULTS = new Map([
  ["web_search", "web_search_tool_result"],
  ["web_fetch", "web_fetch_tool_result"],
  ["code_execution", "code_execution_tool_result"],
  ["bash_code_execution", "bash_code_execution_tool_result"],
  ["text_editor_code_execution", "text_editor_code_execution_tool_result"],
  ["tool_search_tool_regex", "tool_search_tool_result"],
  ["tool_search_tool_bm25", "tool_search_tool_result"],
]);

/** What ties a server tool's call and its result: the id that they share, and on the call the type of the result. */
export interface ServerTie {
  readonly id: string;
  readonly answer?: string;
}

/** The tie of a server tool's call, whose id it takes, or of a result; undefined where the API does not take the block. */
export function serverTie(value: Value, kind: string, ids: Names): ServerTie | undefined {
  if (kind === CALL) {
    const id = serverId(value, "id");
    const answer = RESULTS.get(value.member("name")?.asString ?? "");
    const documented = value.member("input")?.kind === "object" && hasOnly(value, ["id", "name", "input"]);
    return id !== undefined && answer !== undefined && documented && ids.take(id) ? { id, answer } : undefined;
  }
  if (
    [...RESULTS.values()].includes(kind) &&
    value.member("content") !== undefined &&
    hasOnly(value, ["tool_use_id", "content"])
  ) {
    const id = serverId(value, "tool_use_id");
    return id === undefined ? undefined : { id };
  }
  return undefined;
}

function serverId(value: Value, member: string): string | undefined {
  const id = value.member(member)?.asString ?? "";
  return /^srvtoolu_[^-]+$/s.test(id) ? id : undefined;
}

/** Whether a block has no members but these, those of every block, and who called. */
function hasOnly(value: Value, names: readonly string[]): boolean {
  return value.members.every((m) => [...names, "type", "cache_control", "caller"].includes(m.name));
}

/** Leaves out the calls of server tools without a result in the same message, and the results without a call before them. */
export function paired(blocks: readonly Block[], report: Change[]): Block[] {
  const open = new Map<string, { at: number; answer: string | undefined }>();
  const kept = new Set<number>();
  for (const [i, { kind, server }] of blocks.entries()) {
    if (server === undefined) {
      kept.add(i);
    } else if (kind === CALL) {
      open.set(server.id, { at: i, answer: server.answer });
    } else {
      const call = open.get(server.id);
      if (call?.answer === kind) {
        kept.add(call.at).add(i);
        open.delete(server.id);
      }
    }
  }
  return blocks.filter((block, i) => {
    if (!kept.has(i)) {
      report.push({ path: block.path, kind: "left_out", why: "a server tool's call and result come in pairs" });
    }
    return kept.has(i);
  });
}
