// Replies that were lost: finding out what took place.

import { create } from "@bufbuild/protobuf";

import type { Scope } from "../call.js";
import type { Client } from "../client/client.js";
import { happened, isReason, TranscriptError } from "../errors.js";
import {
  AliasResultSchema,
  PutNodeResponseSchema,
  type GetNodeResponse,
} from "../gen/transcript/v1/transcript_service_pb.js";
import { byId } from "../refs.js";
import { identify, wireNode, type NodeInit, type PutResult } from "../writes.js";
import type { ThreadState } from "./state.js";

/**
 * Where a thread's alias points to, if all that kept a node from being put is that the chain was compacted meanwhile; else undefined.
 */
export function onlyCompacted(error: unknown): string | undefined {
  if (!(error instanceof TranscriptError) || error.reason !== "ALIAS_MOVED" || error.conflicts.length !== 1) {
    return undefined;
  }
  const [conflict] = error.conflicts;
  return conflict?.onlyCompacted === true && conflict.field === "aliases[0]" ? conflict.nodeId : undefined;
}

/**
 * Finds a node of which it is not known whether it was put, below a node that is named by its id; undefined: it was not. A node and its aliases
 * are put together, so that where the node is the aliases were set, whoever moved them since.
 */
export async function find(c: Client, node: NodeInit, scope: Scope): Promise<PutResult | undefined> {
  const id = idOf(node);
  if (id === undefined) {
    return undefined;
  }
  try {
    const found = await c.getNode(byId(id), true, scope);
    const reply = create(PutNodeResponseSchema, {
      nodeId: id,
      ...(found.counters !== undefined && { counters: found.counters }),
      aliases: (node.aliases ?? []).map(({ name }) => create(AliasResultSchema, { name })),
    });
    return { ...reply, retried: true };
  } catch (error) {
    if (isReason(error, "NODE_NOT_FOUND")) {
      return undefined;
    }
    throw happened(error, true);
  }
}

/** The id of a node below a parent that is named by its id, or of a root. */
export function idOf(node: NodeInit): string | undefined {
  return identify(wireNode(node), node.parent?.kind === "id" ? node.parent.name : "");
}

/**
 * Begins the thread whose first node was refused because its alias exists: with its own node, which its salt tells, or with the same as another
 * put it. Where the alias names something else, refused stays the error.
 */
export async function taken(
  c: Client,
  state: ThreadState,
  node: NodeInit,
  refused: TranscriptError,
  scope: Scope,
): Promise<void> {
  const unsure = refused.retried;
  if (refused.head === "") {
    throw refused;
  }
  let found: GetNodeResponse;
  let own = false;
  try {
    found = await c.getNode(byId(refused.head), true, scope);
    own = isOfAppend(node, found);
    if (!own && unsure) {
      const first = await firstOf(c, state.alias, scope);
      own = first !== undefined && isOfAppend(node, first);
      found = own && first !== undefined ? first : found;
    }
  } catch (error) {
    throw happened(error, unsure);
  }
  if (!own && !isEqual(node, found)) {
    throw happened(refused, false);
  }
  state.moved(found.info?.nodeId ?? "", found.counters);
  state.isNew = own || (unsure && (node.salt?.length ?? 0) === 0);
}

/** Whether a node is that of the append, which its salt tells. */
function isOfAppend({ salt }: NodeInit, found: GetNodeResponse): boolean {
  const there = found.info?.envelope?.salt;
  return salt !== undefined && salt.length > 0 && there !== undefined && isSame(salt, there);
}

/** Whether two salts are the same. */
export function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Whether a node says the same, in any place and with any salt. */
function isEqual(node: NodeInit, found: GetNodeResponse): boolean {
  const there = found.info?.envelope;
  const own = wireNode({ ...node, parent: undefined, salt: there?.salt });
  return identify(own, there?.parentId ?? "") === found.info?.nodeId;
}

/** The node with which an alias was created, as far as its history tells. */
async function firstOf(c: Client, alias: string, scope: Scope): Promise<GetNodeResponse | undefined> {
  let first = "";
  for await (const state of c.historyOf(alias, scope)) {
    if (state.nodeId === "") {
      break; // it was deleted before
    }
    first = state.nodeId;
  }
  return first === "" ? undefined : c.getNode(byId(first), true, scope);
}

/** The error of a writer whose very node another writer put first. */
export function overtaken(nodeId: string): TranscriptError {
  return new TranscriptError("ABORTED", "ALIAS_MOVED", "ALIAS_MOVED: another writer put the same first", {
    conflicts: [{ field: "aliases[0]", nodeId, revision: 0n, onlyCompacted: false }],
  });
}
