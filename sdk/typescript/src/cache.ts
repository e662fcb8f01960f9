// The effective views that threads assembled.

import { fromBinary } from "@bufbuild/protobuf";

import type { Message } from "./gen/transcript/v1/message_pb.js";
import { PayloadSchema } from "./gen/transcript/v1/node_pb.js";
import { encodePayload } from "./identity.js";

/** About what a view costs beside its payload, and a name beside its bytes. */
const VIEW_OVERHEAD = 512;
const NAME_OVERHEAD = 128;

/**
 * What the effective view of head adds to that of base, or all of it where there is no base. It is immutable, names aside. erasures is what
 * the reply told that it came with, and its base.
 */
export class HeldView {
  /** @internal The aliases whose chains begin with it; the cache's. */
  readonly names = new Set<string>();

  private constructor(
    readonly head: string,
    readonly base: HeldView | undefined,
    private readonly payload: Uint8Array,
    readonly erasures: bigint,
  ) {}

  static of(head: string, base: HeldView | undefined, messages: readonly Message[], erasures: bigint): HeldView {
    return new HeldView(head, base, encodePayload(messages), erasures);
  }

  /** The messages of the whole view, anew each time. */
  messages(): Message[] {
    const payloads = [this.payload];
    for (let { base } = this; base !== undefined; { base } = base) {
      payloads.push(base.payload);
    }
    return payloads.reverse().flatMap((payload) => fromBinary(PayloadSchema, payload).messages);
  }

  /** The same view without a base. */
  alone(): HeldView {
    return HeldView.of(this.head, undefined, this.messages(), this.erasures);
  }

  /** What it counts as, its bases aside. */
  get cost(): number {
    return [...this.names].reduce((sum, name) => sum + nameCost(name), this.payload.length + VIEW_OVERHEAD);
  }
}

function nameCost(alias: string): number {
  return alias.length + NAME_OVERHEAD;
}

/**
 * Keeps views, all together in at most so many bytes, those used last. A view is kept as the part that it adds to a base that is kept too, so
 * that a growing chain and its branches share what they have in common.
 *
 *     root..A   <- base -   A..B   <- base -   B..C        views of A, B and C
 *                         \ A..D                           view of D, a branch
 *
 * Whenever a view is used, so are its bases after it. So a base is always used later than what rests on it, and the least recently used view
 * is never a base.
 */
export class ViewCache {
  /** The bytes that are kept. */
  used = 0;
  /** That of all views that are kept. */
  private erasures = 0n;
  /** By head, the last used last: a Map keeps the order in which keys were set. */
  private readonly views = new Map<string, HeldView>();
  /** By alias: a view that its chain begins with. */
  private readonly named = new Map<string, HeldView>();

  constructor(private readonly maxBytes: number) {}

  /** The view of a head, if it is kept. */
  get(head: string): HeldView | undefined {
    const view = this.views.get(head);
    this.use(view);
    return view;
  }

  /**
   * Keeps a view, in place of those that were used least recently, and tells whether it is kept. One that with its bases is larger than the
   * cache is not, and drops nothing. One with other erasures drops all, since they may have what was erased.
   */
  put(given: HeldView): boolean {
    if (given.erasures !== this.erasures) {
      this.clear();
      this.erasures = given.erasures;
    }
    const kept = this.views.get(given.head);
    if (kept !== undefined) {
      this.use(kept);
      return true;
    }
    if (!this.fits(given, 0)) {
      this.use(given.base);
      return false;
    }
    const orphan = given.base !== undefined && this.views.get(given.base.head) !== given.base;
    const view = orphan ? given.alone() : given;
    this.views.set(view.head, view);
    this.used += view.cost;
    this.use(view);
    this.shrink();
    return true;
  }

  /** Remembers that the chain of an alias begins with the view of head, if that is kept. */
  name(alias: string, head: string): void {
    const view = this.views.get(head);
    if (view === undefined || this.named.get(alias) === view || !this.fits(view, nameCost(alias))) {
      return;
    }
    const before = this.named.get(alias);
    if (before?.names.delete(alias) === true) {
      this.used -= nameCost(alias);
    }
    view.names.add(alias);
    this.named.set(alias, view);
    this.used += nameCost(alias);
    this.shrink();
  }

  /** The head of the view that an alias's chain was seen to begin with; "": not known. */
  headOf(alias: string): string {
    return this.named.get(alias)?.head ?? "";
  }

  /** Whether there is room for a view with its bases and more bytes, if nothing else is kept. */
  private fits(view: HeldView, more: number): boolean {
    let cost = more;
    for (let v: HeldView | undefined = view; v !== undefined; v = v.base) {
      cost += v.cost;
    }
    return cost <= this.maxBytes;
  }

  /** Makes a view and its bases the last used. */
  private use(view: HeldView | undefined): void {
    for (let v = view; v !== undefined; v = v.base) {
      const kept = this.views.get(v.head);
      if (kept !== undefined) {
        this.views.delete(v.head);
        this.views.set(v.head, kept);
      }
    }
  }

  /** Drops the views used least recently until the rest fits. */
  private shrink(): void {
    for (const view of this.views.values()) {
      if (this.used <= this.maxBytes) {
        return;
      }
      this.drop(view);
    }
  }

  /** Drops everything. */
  clear(): void {
    for (const view of this.views.values()) {
      this.drop(view);
    }
  }

  /** Drops a view and its names. */
  private drop(view: HeldView): void {
    this.used -= view.cost;
    for (const alias of view.names) {
      this.named.delete(alias);
    }
    view.names.clear();
    this.views.delete(view.head);
  }
}
