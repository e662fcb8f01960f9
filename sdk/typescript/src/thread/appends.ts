// What a thread puts.

import { scopeOf, type CallOptions, type Scope } from "../call.js";
import type { Client } from "../client/client.js";
import { advised, fault, happened, isReason, mayHaveHappened, undone } from "../errors.js";
import { Role, type Message } from "../gen/transcript/v1/message_pb.js";
import type { Pending } from "../ledger.js";
import { messageAlias } from "../names.js";
import { byId, headIs, mustBeString, mustNotExist } from "../refs.js";
import { described, isOpen, OUTCOME_KEY, stepBy, type Outcome } from "../runs.js";
import type { NodeInit, PutResult } from "../writes.js";
import { find, idOf, onlyCompacted, overtaken } from "./lost.js";
import { fitted, labelled, NOTHING, refusedForAnAlias, type Moving, type Standing, type ThreadState } from "./state.js";

const TAKEN = "replyId is taken by another message: give each its own";

/** The appends of a thread. */
export abstract class Appends {
  /** @internal */
  constructor(
    /** @internal */
    protected readonly c: Client,
    /** @internal */
    protected readonly s: ThreadState,
  ) {}

  /**
   * Puts messages below the head as one node and moves the alias to it. An assistant's message with calls is put before its tools run. Errors:
   * ALIAS_MOVED where another writer was first; nothing was put then.
   */
  async append(messages: Message | readonly Message[], options?: CallOptions): Promise<void> {
    await this.appendNode({ messages: asList(messages) }, options);
  }

  /** Puts the results of tool calls as one node; NOT_A_RESULT for any other message. */
  async appendResults(results: Message | readonly Message[], options?: CallOptions): Promise<void> {
    const all = asList(results);
    if (all.some((m) => m.role !== Role.TOOL)) {
      throw fault("NOT_A_RESULT");
    }
    await this.append(all, options);
  }

  /**
   * append with all that a node can have but a parent, which is PARENT_GIVEN. Its aliases are set beside the thread's, which is the first of the
   * result's.
   */
  async appendNode(node: NodeInit, options?: CallOptions): Promise<PutResult> {
    return this.put(node, scopeOf(options));
  }

  /**
   * Ends the run with an outcome, and puts the last messages of it in the same commit; there may be none. Calls without a result are ended with
   * it: views give each a stand-in, and a result that comes later changes nothing. Also for a run that resume found dead, whoever began it. What
   * is appended afterwards goes on with the run, and takes the outcome back; a user's message begins the next one. Errors: those of append;
   * INVALID_FIELD for another outcome.
   */
  async finish(outcome: Outcome, messages: Message | readonly Message[] = [], options?: CallOptions): Promise<void> {
    await this.put(ended(outcome, asList(messages)), scopeOf(options));
  }

  /**
   * finish with "replied", and in the same commit gives the reply the alias msg/REPLYID, by which later messages reply to it; ALIAS_EXISTS where
   * that is taken, unless by sent in this run. Where the id is known only once the reply was sent, call finish and then sent.
   */
  async reply(replyId: string, reply: Message | readonly Message[], options?: CallOptions): Promise<void> {
    const alias = aliasOf(replyId);
    const node = ended("replied", asList(reply));
    const names = this.s.sent.has(replyId) ? [] : [{ name: alias, if: mustNotExist() }];
    try {
      await this.put({ ...node, aliases: names }, scopeOf(options));
    } catch (error) {
      throw advised(error, "ALIAS_EXISTS", TAKEN);
    }
    this.remember(alias);
  }

  /**
   * Gives the head the alias msg/REPLYID, by which later messages reply to it; ALIAS_EXISTS where that names another node. While the run is
   * open, what was sent is not all of it: the alias then moves along with each append, the last of which is the one that ends the run, also over
   * a crash (the thread's alias has a label "sent/REPLYID" until then). So a later reply finds the run as it ended. At most 16 messages of a run
   * move along; others stay where they are, and so does an alias that somebody else moves.
   */
  async sent(replyId: string, options?: CallOptions): Promise<void> {
    const scope = scopeOf(options);
    const alias = aliasOf(replyId);
    if (this.s.sent.has(replyId)) {
      return;
    }
    const at = await this.standing(scope);
    try {
      await this.c.moveAliases([{ name: alias, target: byId(at.head), if: mustNotExist() }], scope);
    } catch (error) {
      throw advised(error, "ALIAS_EXISTS", TAKEN);
    }
    this.remember(alias);
    if (alias === this.s.alias || alias === this.s.chat || !isOpen(at.run)) {
      return;
    }
    const last = this.s.moveAlong(replyId, at);
    if (last !== undefined) {
      // An append ended the run meanwhile.
      await this.moveUnlessMoved(alias, at.head, last, scope);
    }
  }

  /** @internal Notes that what was assembled is the beginning of an alias's chain, for threads that go on from there. */
  protected remember(alias: string): void {
    this.c.cache.name(alias, this.s.at);
  }

  /** Moves an alias on from a head; whether it was, or somebody else had moved it. */
  private async moveUnlessMoved(alias: string, from: string, to: string, scope: Scope): Promise<boolean> {
    try {
      await this.c.moveAliases([{ name: alias, target: byId(to), if: headIs(from) }], scope);
      return true;
    } catch (error) {
      if (refusedForAnAlias(error)) {
        return false;
      }
      throw error;
    }
  }

  private async put(given: NodeInit, scope: Scope): Promise<PutResult> {
    if (given.parent !== undefined || given.previous === true) {
      throw fault("PARENT_GIVEN");
    }
    const { head } = this.s;
    const { node, pending } = this.c.taken(this.s.unsure, { ...given, parent: byId(head) });
    try {
      return await this.appendBelow(head, node, pending, scope);
    } catch (error) {
      this.s.unsure.failed(pending, error);
      throw error;
    }
  }

  /** Puts a node below a head that the thread has seen, unless an earlier attempt put it below another. */
  private async appendBelow(first: string, node: NodeInit, pending: Pending, scope: Scope): Promise<PutResult> {
    if (pending.unsure && pending.parent !== first) {
      // The alias has left that parent, so what is not there will not be.
      const aliases = [...this.s.aliases(headIs(pending.parent)), ...(node.aliases ?? [])];
      const found = await find(this.c, { ...node, parent: byId(pending.parent), aliases }, scope);
      if (found !== undefined) {
        return found;
      }
      pending.unsure = false;
    }
    for (let head = first; ;) {
      pending.parent = head;
      try {
        return await this.appendTo(head, node, pending, scope);
      } catch (error) {
        const compacted = onlyCompacted(error);
        if (compacted === undefined || scope.signal?.aborted === true) {
          throw error;
        }
        pending.unsure = false;
        if (this.s.head === head) {
          this.s.head = compacted;
          this.s.moves++;
        }
        head = compacted;
      }
    }
  }

  /** Puts a node below a head, and finds it where it was put before. What moves along is moved with it. */
  private async appendTo(head: string, given: NodeInit, pending: Pending, scope: Scope): Promise<PutResult> {
    const own = [...this.s.aliases(headIs(head)), ...(given.aliases ?? [])];
    const node: NodeInit = { ...given, parent: byId(head), aliases: own };
    for (;;) {
      const { full, moving } = await this.withSent(node, pending, scope);
      try {
        const result = await this.putKnown(full, moving, pending, scope);
        if (this.s.head === head) {
          // Else it was refreshed, which told what moves along.
          this.s.moved(result.nodeId, result.counters);
          this.s.ran(node);
          this.s.movedAlong(result.nodeId, node, moving);
        }
        return { ...result, aliases: result.aliases.slice(0, own.length) };
      } catch (error) {
        if (!this.s.drop(error, full, own.length)) {
          throw error;
        }
        // Somebody else moved a message's alias: that refuses nothing.
      }
    }
  }

  /** Puts a node, or finds that it is there. */
  private async putKnown(node: NodeInit, moving: Moving, pending: Pending, scope: Scope): Promise<PutResult> {
    let result: PutResult;
    try {
      result = await this.c.putScoped(node, scope);
    } catch (error) {
      const told = pending.told(error);
      if (!refusedForAnAlias(told) || !mayHaveHappened(told)) {
        throw told;
      }
      const found = await find(this.c, node, scope);
      if (found === undefined) {
        throw happened(told, false);
      }
      await this.settle(found.nodeId, moving, scope);
      result = found;
    }
    const [own] = result.aliases;
    if (own === undefined || result.counters === undefined) {
      throw fault("BAD_REPLY", "a node without its alias or counters");
    }
    const retried = result.retried || pending.unsure;
    if (!own.changed && !retried) {
      throw overtaken(result.nodeId);
    }
    return { ...result, retried };
  }

  /** A node of a thread with the aliases that move along with it, and the labels that tell which do. */
  private async withSent(node: NodeInit, pending: Pending, scope: Scope): Promise<{ full: NodeInit; moving: Moving }> {
    const along = this.s.movingWith(node);
    if (!along.labels) {
      return { full: node, moving: NOTHING };
    }
    try {
      const { run } = await this.standing(scope);
      const step = stepBy(run, node.messages ?? [], node.metadata?.[OUTCOME_KEY]);
      const moving = fitted({ ...along, ...step }, node.aliases?.length ?? 0);
      const labels = labelled(moving, await this.labelsNow(scope), idOf(node) ?? "");
      const [first, ...others] = node.aliases ?? [];
      const sent = moving.part
        ? [...moving.sent].map(([id, { at }]) => ({ name: messageAlias(id), if: headIs(at) }))
        : [];
      return { full: { ...node, aliases: [...(first ? [{ ...first, labels }] : []), ...others, ...sent] }, moving };
    } catch (error) {
      throw pending.told(undone(happened(error, false))); // it was only looked at what moves along
    }
  }

  /** The labels that the thread's alias has. */
  private async labelsNow(scope: Scope): Promise<Readonly<Record<string, string>>> {
    try {
      return (await this.c.resolved(this.s.alias, scope)).alias.labels;
    } catch (error) {
      if (isReason(error, "ALIAS_NOT_FOUND")) {
        return {};
      }
      throw error;
    }
  }

  /** Moves what moves along to a node of which it is not known what was moved with it. */
  private async settle(id: string, moving: Moving, scope: Scope): Promise<void> {
    if (!moving.part) {
      return;
    }
    for (const [replyId, { at }] of moving.sent) {
      try {
        const moved = await this.moveUnlessMoved(messageAlias(replyId), at, id, scope);
        if (!moved && this.s.sent.get(replyId)?.at === at) {
          this.s.sent.delete(replyId); // else an append of this thread moved it along since
        }
      } catch (error) {
        throw happened(error, true); // the node is there: that may be asked again
      }
    }
  }

  /** Where the last run stands at the head, which the service is asked where the thread has not seen it. */
  private async standing(scope: Scope): Promise<Standing> {
    for (;;) {
      const { head, run, ends } = this.s;
      if (run !== undefined) {
        return { head, run, ends };
      }
      const { loop } = await this.c.described(byId(head), { maxItems: 1 }, scope);
      if (this.s.head === head) {
        this.s.run ??= described(loop);
      }
    }
  }
}

/** The alias of a message; NO_NAME without an id. */
export function aliasOf(messageId: string): string {
  if (mustBeString("the id of a message", messageId) === "") {
    throw fault("NO_NAME");
  }
  return messageAlias(messageId);
}

/** The last node of a run. */
export function ended(outcome: Outcome, messages: readonly Message[]): NodeInit {
  return { messages, metadata: { [OUTCOME_KEY]: outcome } };
}

/** One message, or several. */
export function asList(messages: Message | readonly Message[]): readonly Message[] {
  return Array.isArray(messages) ? (messages as readonly Message[]) : [messages as Message];
}
