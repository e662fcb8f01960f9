// What is written: nodes, and aliases.

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { Role, type Message } from "./gen/transcript/v1/message_pb.js";
import {
  AliasMoveSchema,
  AliasUpdateSchema,
  MessageNoteSchema,
  NewNodeSchema,
  SpawnedFromRefSchema,
  type AliasMove as WireMove,
  type AliasPrecondition,
  type AliasUpdate as WireUpdate,
  type Labels,
  type NewNode,
  type PutNodeResponse,
} from "./gen/transcript/v1/transcript_service_pb.js";
import { nodeId } from "./identity.js";
import { labels, mustBeString, nodeRef, precondition, textEntries, type Condition, type Ref } from "./refs.js";
import { mustBeMessages } from "./validate.js";

/** What a message cost, and when it was sent; not hashed. */
export type NoteInit = MessageInitShape<typeof MessageNoteSchema>;

/** The call that started a chain: `nodeId` and `toolCallId`. */
export type SpawnedFromInit = MessageInitShape<typeof SpawnedFromRefSchema>;

/**
 * A node to put. Its id is a hash of parent, messages, metadata, salt and spawnedFrom: putting an equal one again writes nothing.
 */
export interface NodeInit {
  /** The node to append to; absent: a root. */
  readonly parent?: Ref | undefined;
  /** In putAll: makes the node before this one the parent. Not together with parent. */
  readonly previous?: boolean | undefined;
  /** 1 to 1,000, or none where there is metadata: each at most 3 MiB, together at most 4 MiB - 128 KiB. */
  readonly messages?: readonly Message[] | undefined;
  /** None, or one for each message. They are not hashed; those of the first put stay. */
  readonly notes?: readonly NoteInit[] | undefined;
  /** At most 64 entries: keys of 1 to 256 bytes, values of at most 4 KiB. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** 0 or 16 to 32 bytes. It makes an otherwise equal sibling a node of its own. A Thread makes one where it is absent. */
  readonly salt?: Uint8Array | undefined;
  /** The call that started the chain that this node begins. */
  readonly spawnedFrom?: SpawnedFromInit | undefined;
  /** Set to the node, or deleted, in the same commit: at most 1,000 in a call, each named once. */
  readonly aliases?: readonly AliasUpdate[] | undefined;
}

/** Sets an alias to the node that is put, or deletes it. */
export interface AliasUpdate {
  readonly name: string;
  /** What must be true of the alias. */
  readonly if?: Condition | undefined;
  /** Replace the alias's labels; absent: they stay as they are. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Deletes the alias instead; then there are no labels. */
  readonly delete?: boolean | undefined;
}

/** Sets an alias to a node that is there, or deletes it. */
export interface AliasMove extends AliasUpdate {
  /** The node; an alias stands for the node it pointed to before the call. Absent on a delete. */
  readonly target?: Ref | undefined;
}

/** What became of a node. */
export interface PutResult extends PutNodeResponse {
  /**
   * Whether an earlier attempt of the call, of which no reply came, may have taken place: where created, changed or revised are false, it may
   * have been what created and changed. Where a Thread found its node by the salt, aliases have no revision: 0.
   */
  readonly retried: boolean;
}

/** The node as a request has it. TypeError for what is no node. */
export function wireNode(node: NodeInit): NewNode {
  const { parent, previous = false, messages = [], notes = [], metadata = {}, salt, spawnedFrom, aliases = [] } = node;
  mustBeMessages(messages);
  if (salt !== undefined && !(salt instanceof Uint8Array)) {
    throw new TypeError("salt must be a Uint8Array");
  }
  return create(NewNodeSchema, {
    ...(parent !== undefined && { parent: nodeRef(parent) }),
    previous,
    messages: [...messages],
    notes: [...notes],
    metadata: textEntries("metadata", metadata)
      .map(([key, value]) => ({ key, value }))
      .sort((a, b) => (a.key < b.key ? -1 : 1)),
    ...(salt !== undefined && { salt }),
    ...(spawnedFrom !== undefined && { spawnedFrom }),
    aliases: aliases.map(wireUpdate),
  });
}

/** The alias as a request has it. */
export function wireUpdate(update: AliasUpdate): WireUpdate {
  return create(AliasUpdateSchema, { ...common(update) });
}

/** The move as a request has it. */
export function wireMove(move: AliasMove): WireMove {
  return create(AliasMoveSchema, {
    ...common(move),
    ...(move.target !== undefined && { target: nodeRef(move.target) }),
  });
}

function common(update: AliasUpdate): {
  name: string;
  precondition?: AliasPrecondition;
  labels?: Labels;
  delete: boolean;
} {
  const condition = precondition(update.if);
  const replaced = labels(update.labels);
  return {
    name: mustBeString("an alias's name", update.name),
    ...(condition !== undefined && { precondition: condition }),
    ...(replaced !== undefined && { labels: replaced }),
    delete: update.delete ?? false,
  };
}

/** The id of a node below a parent, "" for none; undefined where an id in it has another form. */
export function identify(node: NewNode, parentId: string): string | undefined {
  try {
    return nodeId({ ...node, parentId });
  } catch (error) {
    if (error instanceof RangeError) {
      return undefined;
    }
    throw error;
  }
}

/** Whether the node is a root of system and developer messages alone, which those who begin equally share. */
export function isPrompt(node: NodeInit): boolean {
  const { messages = [] } = node;
  const alone = node.parent === undefined && node.previous !== true && node.spawnedFrom === undefined;
  return alone && messages.length > 0 && messages.every((m) => m.role === Role.SYSTEM || m.role === Role.DEVELOPER);
}
