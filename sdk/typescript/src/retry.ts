// Which calls are repeated, and when.

import { mayHaveHappened, TranscriptError } from "./errors.js";
import type {
  AliasMove,
  AliasPrecondition,
  CompactRequest,
  DeleteAliasesRequest,
  NewNode,
} from "./gen/transcript/v1/transcript_service_pb.js";
import type { SetNamespaceRequest } from "./gen/transcript/v1/admin_service_pb.js";

/**
 * How a call that may be repeated is: until its deadline, or where it has none until the pauses between its attempts come to a minute.
 */
export interface Retry {
  /** How often a call is sent at most; 1: never again; absent: as often as there is time. */
  readonly attempts?: number | undefined;
  /**
   * About the pause after the first attempt, 100 without; each further one doubles it, up to maxMs. Pauses are drawn between half of that and
   * all of it, and are shorter where the deadline is near. Where the server says when a call is allowed, no pause is shorter than that.
   */
  readonly firstMs?: number | undefined;
  /** The longest pause: 2,000 without. */
  readonly maxMs?: number | undefined;
}

/** How long the pauses of a call without a deadline are together. */
const MAX_PAUSES_MS = 60_000;

/** The pauses between the attempts of one call. */
export class Pauses {
  private readonly first: number;
  private readonly max: number;
  private next: number;
  private left = MAX_PAUSES_MS;

  /** @param deadline - When the call has to be done, by performance.now(); undefined: it has no deadline. */
  constructor(
    retry: Retry,
    private readonly deadline: number | undefined,
  ) {
    const first = retry.firstMs ?? 100;
    this.max = retry.maxMs ?? Math.max(2000, first);
    this.first = Math.min(first, this.max);
    this.next = this.first;
  }

  /** How long to wait, at least some time; undefined: there is no time for another attempt. */
  take(least: number): number | undefined {
    const limit = Math.min(this.next, this.max);
    this.next = 2 * limit;
    const drawn = limit / 2 + Math.random() * (limit / 2);
    if (this.deadline !== undefined) {
      const left = this.deadline - performance.now();
      const wait = Math.max(Math.min(drawn, left / 2), least);
      return wait < this.first / 2 || wait >= left ? undefined : wait;
    }
    const wait = Math.max(drawn, least);
    if (wait > this.left) {
      return undefined;
    }
    this.left -= wait;
    return wait;
  }
}

/** Whether the same call may succeed a little later. A failed store needs its operator, and so does an audit. */
export function transient(error: unknown): boolean {
  if (!(error instanceof TranscriptError)) {
    return false;
  }
  switch (error.reason) {
    case "OVERLOADED":
    case "RATE_LIMITED":
      return true;
    case "STORE_FAILED":
    case "AUDIT_UNAVAILABLE":
      return false;
    default:
      return error.code === "UNAVAILABLE";
  }
}

/** transient for calls that may be repeated; others are sent again only where the attempt has done nothing for sure. */
export function when(repeatable: boolean): (error: unknown) => boolean {
  return (error) => transient(error) && (repeatable || !mayHaveHappened(error));
}

/**
 * Whether the put of these nodes may be sent again although it may have taken place. Each parent is absent, a node id, the node before, or an
 * alias that the call itself conditions on a head, and so always the same node. And where aliases are set, one is on a condition by which the
 * server knows a repeat, which leaves the aliases that it has set; none need be where all that is done to aliases are deletes that may be
 * repeated.
 */
export function repeatablePut(nodes: readonly Pick<NewNode, "parent" | "aliases">[]): boolean {
  const aliases = nodes.flatMap((n) => n.aliases);
  const conditioned = new Map(aliases.map((a) => [a.name, onHead(a.precondition)]));
  const known = aliases.some((a) => (guards(a.precondition) && !a.delete) || revised(a.precondition));
  const onlyDeletes = aliases.every((a) => a.delete && repeatableDelete(a.precondition));
  const stays = nodes.every((n) => n.parent?.ref.case !== "alias" || conditioned.get(n.parent.ref.value) === true);
  return stays && (known || onlyDeletes);
}

function onHead(condition: AliasPrecondition | undefined): boolean {
  return condition?.condition.case === "headId" && condition.condition.value !== "";
}

/** Whether the condition names a revision: no other call holds at it again once this one took place. */
function revised(condition: AliasPrecondition | undefined): boolean {
  return condition?.revision !== undefined;
}

/** Whether the condition is no longer met once the alias was moved on from where the call sets it. */
function guards(condition: AliasPrecondition | undefined): boolean {
  return onHead(condition) || (condition?.condition.case === "mustNotExist" && condition.condition.value);
}

/** Whether a delete may be sent again although it may have taken place. */
export function repeatableDelete(condition: AliasPrecondition | undefined): boolean {
  return onHead(condition) || revised(condition);
}

/** Whether a page of a deletion may be: the page, or the caller, says until when what goes was there. */
export function repeatableDeletion(request: DeleteAliasesRequest): boolean {
  return request.pageToken !== "" || request.movedBefore !== undefined;
}

/** Whether a change of settings may be. */
export function repeatableSettings(request: SetNamespaceRequest): boolean {
  return request.revision !== undefined;
}

/** Whether a compaction may be, once it was looked up that the chain does not have it. */
export function repeatableCompaction(request: CompactRequest): boolean {
  return request.dryRun || (request.throughId !== "" && (request.salt.length > 0 || request.summary === ""));
}

/**
 * Whether moves may be. Each is a delete that may be; or on condition of a revision, to a node id or to its own alias, which at the next
 * revision is where the move set it; or on another condition, so that it undoes no later move, to a node id, and without labels, which others
 * may have set since.
 */
export function repeatableMoves(moves: readonly AliasMove[]): boolean {
  return moves.every((m) => {
    const alias = m.target?.ref.case === "alias" ? m.target.ref.value : undefined;
    if (m.delete) {
      return repeatableDelete(m.precondition);
    }
    if (revised(m.precondition)) {
      return alias === undefined || alias === m.name;
    }
    return alias === undefined && m.labels === undefined && guards(m.precondition);
  });
}
