// What names a node, and what must be true of an alias.

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import {
  AliasPreconditionSchema,
  NodeRefSchema,
  type AliasPrecondition,
  type Labels,
  LabelsSchema,
  type NodeRef,
} from "./gen/transcript/v1/transcript_service_pb.js";
import { isWellFormed } from "./json.js";

/** Names a node, by its id or by an alias: byId and byAlias make one. */
export class Ref {
  /** @internal */
  constructor(
    readonly kind: "id" | "alias",
    readonly name: string,
  ) {}
}

/** Names a node by its id: 64 lower-case hex digits; for Client.node a prefix of 6 digits or more. */
export function byId(id: string): Ref {
  return new Ref("id", mustBeString("id", id));
}

/** Names the node that an alias points to: 1 to 512 bytes of UTF-8 without control characters. */
export function byAlias(name: string): Ref {
  return new Ref("alias", mustBeString("name", name));
}

/** The reference as requests have it. TypeError for what is none. */
export function nodeRef(ref: Ref): NodeRef {
  if (!(ref instanceof Ref)) {
    throw new TypeError("a node must be named by byId(id) or byAlias(name)");
  }
  return create(NodeRefSchema, {
    ref: ref.kind === "id" ? { case: "nodeId", value: ref.name } : { case: "alias", value: ref.name },
  });
}

/**
 * What must be true of an alias for a call to take place. Without one a call takes place whatever the alias is. Except on a delete, any
 * condition without a revision is met too where the alias already points to the node that the call would set it to.
 */
export class Condition {
  /** @internal */
  constructor(readonly init: MessageInitShape<typeof AliasPreconditionSchema>) {}
}

/** Met where there is no such alias; else ALIAS_EXISTS. Refused on a delete. */
export function mustNotExist(): Condition {
  return new Condition({ condition: { case: "mustNotExist", value: true } });
}

/** Met where there is such an alias; else ALIAS_NOT_FOUND. */
export function mustExist(): Condition {
  return new Condition({ condition: { case: "mustExist", value: true } });
}

/** Met where the alias points to that node; else ALIAS_MOVED. */
export function headIs(id: string): Condition {
  return new Condition({ condition: { case: "headId", value: mustBeString("id", id) } });
}

/**
 * Met where the alias has that revision, 1 or more, also where this was a deletion; else ALIAS_MOVED. It is met too at the next revision
 * where the alias is exactly as the call leaves it: that is a repeat. Of two callers who set the same from the same revision both succeed;
 * AliasResult.revised is true for the one that changed it. resolve and every result tell revisions.
 */
export function revisionIs(revision: bigint): Condition {
  return new Condition({ revision: mustBeBigint("revision", revision) });
}

/**
 * headIs and revisionIs: the alias points to that node since that revision, or a later change of labels. A node that is appended to the alias
 * needs both for a repeat to be known.
 */
export function headAt(id: string, revision: bigint): Condition {
  return new Condition({ ...headIs(id).init, ...revisionIs(revision).init });
}

/** The condition as requests have it. */
export function precondition(condition: Condition | undefined): AliasPrecondition | undefined {
  if (condition === undefined) {
    return undefined;
  }
  if (!(condition instanceof Condition)) {
    throw new TypeError("a condition must be made by mustNotExist, mustExist, headIs, revisionIs or headAt");
  }
  return create(AliasPreconditionSchema, condition.init);
}

/** An alias's labels as requests have them: undefined leaves them as they are, anything else replaces them. */
export function labels(entries: Readonly<Record<string, string>> | undefined): Labels | undefined {
  return entries && create(LabelsSchema, { entries: Object.fromEntries(textEntries("labels", entries).sort()) });
}

/** The value, if it is a string that UTF-8 can hold; else a TypeError, or a RangeError, that names the argument. */
export function mustBeString(argument: string, value: unknown): string {
  if (typeof value !== "string") {
    throw new TypeError(`${argument} must be a string`);
  }
  if (!isWellFormed(value)) {
    throw new RangeError(`${argument} must be well-formed Unicode, without half a surrogate pair`);
  }
  return value;
}

/** Names and values, each of which must be a string. */
export function textEntries(argument: string, record: Readonly<Record<string, string>>): [string, string][] {
  return Object.entries(record).map(([key, value]) => [
    mustBeString(`a key of ${argument}`, key),
    mustBeString(`${argument}["${key}"]`, value),
  ]);
}

/** A TypeError that names the argument and says what it has, unless the value is an object. */
export function mustBeObject(argument: string, value: unknown, what: string): void {
  if (typeof value !== "object" || value === null) {
    throw new TypeError(`${argument} must be an object ${what}`);
  }
}

function mustBeBigint(argument: string, value: unknown): bigint {
  if (typeof value !== "bigint") {
    throw new TypeError(`${argument} must be a bigint, as results have it`);
  }
  return value;
}
