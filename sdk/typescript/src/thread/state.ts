// What a thread knows: where it has come to, and what moves along with its run.

import { isReason, TranscriptError } from "../errors.js";
import { Role } from "../gen/transcript/v1/message_pb.js";
import type { ChainCounters, Counters, ResolveAliasResponse } from "../gen/transcript/v1/transcript_service_pb.js";
import { Ledger } from "../ledger.js";
import { isOpaque } from "../messages.js";
import { messageAlias } from "../names.js";
import type { Condition } from "../refs.js";
import { isOpen, NO_RUN, OUTCOME_KEY, stepBy, type Run, type Step } from "../runs.js";
import type { AliasUpdate, NodeInit } from "../writes.js";

// A message that is seen inside a run is the run: its alias moves along with each append, until the run ends. Which aliases do is kept where a
// crash leaves it, in labels of the thread's alias: "sent/ID" has the id of the node that msg/ID was moved to last.
const SENT_LABEL = "sent/";
/** How many messages of a run move along. */
const MAX_SENT = 16;
/** How many aliases a call of the service sets. */
const MAX_ALIASES = 1000;
/** The service's limits on labels. */
const MAX_LABELS = 64;
const MAX_LABEL_KEY = 256;

/** A message whose alias moves along. */
interface Sent {
  /** The node that its alias points to. */
  readonly at: string;
  /** Whether a label says so. */
  readonly saved: boolean;
}

/** What moves along with a node. */
export interface Moving extends Step {
  readonly sent: Map<string, Sent>;
  /** Whether the node sets the labels that tell of it. */
  readonly labels: boolean;
}

/** Nothing. */
export const NOTHING: Moving = { run: NO_RUN, part: false, ended: false, sent: new Map(), labels: false };

/** Where the last run stands at a head; and how many runs had ended by then. */
export interface Standing {
  readonly head: string;
  readonly run: Run;
  readonly ends: number;
}

export class ThreadState {
  isNew = false;
  head = "";
  depth = 0;
  /**
   * The effective view's totals at the head, as replies told them (where the thread went on past a compaction of another writer, until its next
   * put: before that); compactAt is its bytes from which on compactWhen looks again whether enough would go.
   */
  size: Counters | undefined;
  compactAt = 0n;
  /** The head of the view that was kept last: most likely an ancestor of head, or it. */
  at = "";
  /** The head whose messages the caller was given last; "": none were. */
  read = "";
  /** How often head was set. */
  moves = 0;
  /** Where the last run stands at the head, where that is known; how many were seen to end, and the node in which the last did. */
  run: Run | undefined;
  ends = 0;
  end = "";
  /** By message id: what moves along with the run. */
  readonly sent = new Map<string, Sent>();
  /** Whether the alias has labels that tell of some. */
  labelled = false;
  /** Appends that may have taken place. */
  readonly unsure = new Ledger();

  /** @param chat - The alias that is pointed along; "" for none. */
  constructor(
    readonly alias: string,
    readonly chat = "",
  ) {}

  /** The state of a thread that goes on from the same head under another alias. */
  forked(alias: string): ThreadState {
    const fork = new ThreadState(alias);
    const { head, depth, size, at, read, run } = this;
    return Object.assign(fork, { head, depth, size, at, read, run });
  }

  /** The aliases that each of the thread's commits sets: its own on that condition, first. */
  aliases(condition: Condition): AliasUpdate[] {
    const own: AliasUpdate[] = [{ name: this.alias, if: condition }];
    return this.chat === "" ? own : [...own, { name: this.chat }];
  }

  /** Makes the thread go on from a head. */
  moved(head: string, counters: ChainCounters | undefined): void {
    const size = counters?.effective;
    if ((size?.bytes ?? 0n) < (this.size?.bytes ?? 0n)) {
      this.compactAt = 0n; // it was compacted, or is another branch: what was looked at is no more
    }
    this.head = head;
    this.depth = counters?.full?.depth ?? 0;
    this.size = size;
    this.moves++;
  }

  /** Takes over where the alias points, unless the thread moved since, which may have been later. */
  refreshed({ alias, counters }: ResolveAliasResponse, moves: number): boolean {
    if (this.moves !== moves || alias === undefined) {
      return false;
    }
    if (this.head !== alias.nodeId) {
      this.run = undefined;
    }
    this.moved(alias.nodeId, counters);
    this.load(alias.labels);
    return true;
  }

  /** Notes what a node that was put at the head did to the run. */
  ran(node: NodeInit): void {
    const { messages = [] } = node;
    // A question tells where a run stands, whatever was before.
    const asks = messages.some((m) => m.role === Role.USER && !isOpaque(m));
    const run = this.run ?? (asks ? NO_RUN : undefined);
    if (run === undefined) {
      return;
    }
    const step = stepBy(run, messages, node.metadata?.[OUTCOME_KEY]);
    if (isOpen(run) && step.ended) {
      this.ends++;
      this.end = step.part ? this.head : node.parent?.kind === "id" ? node.parent.name : "";
    }
    this.run = step.run;
  }

  /** Takes over what labels tell, beside what none tells yet. */
  private load(labels: Readonly<Record<string, string>>): void {
    for (const [replyId, { saved }] of this.sent) {
      if (saved) {
        this.sent.delete(replyId);
      }
    }
    this.labelled = false;
    for (const [key, at] of Object.entries(labels)) {
      if (key.startsWith(SENT_LABEL) && key !== SENT_LABEL && /^[0-9a-f]{64}$/.test(at)) {
        this.labelled = true;
        this.move(key.slice(SENT_LABEL.length), { at, saved: true });
      }
    }
  }

  /** Makes a message move along, if there is room. */
  private move(replyId: string, sent: Sent): void {
    if (this.sent.has(replyId) || this.sent.size < MAX_SENT) {
      this.sent.set(replyId, sent);
    }
  }

  /** Makes the alias of a message move along from a head on. Where the run has ended since, gives the last node of it. */
  moveAlong(replyId: string, from: Standing): string | undefined {
    if (this.ends !== from.ends) {
      return this.end;
    }
    this.move(replyId, { at: from.head, saved: false });
    return undefined;
  }

  /** What moves along with a node, but for messages whose aliases the node sets itself. */
  movingWith(node: NodeInit): Moving {
    const sent = new Map([...this.sent].filter(([replyId]) => !names(node, messageAlias(replyId))));
    return { ...NOTHING, sent, labels: sent.size > 0 || this.labelled };
  }

  /**
   * Takes from what moves along the aliases that somebody else moved, as the refusal of a node tells whose own aliases come first, and tells
   * whether it was refused for nothing else. Where it was, whoever moved the thread's alias may have moved them along, and they stay.
   */
  drop(error: unknown, node: NodeInit, own: number): boolean {
    if (!(error instanceof TranscriptError) || !refusedForAnAlias(error) || error.conflicts.length === 0) {
      return false;
    }
    const along = new Map(
      (node.aliases ?? []).map((a, i) => [`aliases[${String(i)}]`, a.name]).slice(own) as [string, string][],
    );
    const others = new Set(error.conflicts.flatMap((c) => along.get(c.field) ?? []));
    error.conflicts = error.conflicts.filter((c) => !along.has(c.field));
    if (error.conflicts.length > 0) {
      return false;
    }
    for (const replyId of [...this.sent.keys()]) {
      if (others.has(messageAlias(replyId))) {
        this.sent.delete(replyId);
      }
    }
    return true;
  }

  /** Notes what moved along with a node. */
  movedAlong(id: string, node: NodeInit, moving: Moving): void {
    for (const replyId of [...this.sent.keys()]) {
      if (names(node, messageAlias(replyId))) {
        this.sent.delete(replyId);
      }
    }
    if (moving.labels) {
      this.labelled = !moving.ended && moving.sent.size > 0;
    }
    for (const replyId of moving.sent.keys()) {
      if (!this.sent.has(replyId)) {
        continue;
      }
      if (moving.ended) {
        this.sent.delete(replyId);
      } else {
        this.sent.set(replyId, { at: id, saved: true });
      }
    }
  }
}

/** Whether a node sets an alias. */
function names(node: NodeInit, alias: string): boolean {
  return node.aliases?.some((a) => a.name === alias) ?? false;
}

/** Leaves behind, until the next append, what a call has no room for beside so many aliases. */
export function fitted(moving: Moving, own: number): Moving {
  return { ...moving, sent: new Map([...moving.sent].sort().slice(0, Math.max(0, MAX_ALIASES - own))) };
}

/** The labels of the thread's alias at a node, others kept. */
export function labelled(moving: Moving, now: Readonly<Record<string, string>>, id: string): Record<string, string> {
  const labels = Object.fromEntries(Object.entries(now).filter(([key]) => !key.startsWith(SENT_LABEL)));
  for (const replyId of moving.ended ? [] : moving.sent.keys()) {
    const key = SENT_LABEL + replyId;
    if (new TextEncoder().encode(key).length <= MAX_LABEL_KEY && Object.keys(labels).length < MAX_LABELS) {
      labels[key] = id;
    }
  }
  return labels;
}

/** Whether nothing was put since an alias is not where it should be. */
export function refusedForAnAlias(error: unknown): error is TranscriptError {
  return isReason(error, "ALIAS_MOVED", "ALIAS_EXISTS");
}
