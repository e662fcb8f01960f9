// The client: threads, and all that the service has.

import { scopeOf, type CallOptions, type Scope } from "../call.js";
import { advised, fault, isReason, mayHaveHappened } from "../errors.js";
import type { Message } from "../gen/transcript/v1/message_pb.js";
import { newSalt, type Pending } from "../ledger.js";
import { chatAlias } from "../names.js";
import { byAlias, byId, headIs, mustBeObject, mustBeString, mustNotExist } from "../refs.js";
import type { Outcome } from "../runs.js";
import { repeatablePut } from "../retry.js";
import { aliasOf, asList, ended } from "../thread/appends.js";
import { taken } from "../thread/lost.js";
import { ThreadState } from "../thread/state.js";
import { Thread } from "../thread/thread.js";
import { wireNode, type NodeInit, type NoteInit, type PutResult } from "../writes.js";
import { Administration } from "./admin.js";
import type { AliasRun, AliasScope } from "./aliases.js";

/** A message that arrived and is to be answered. */
export interface Turn {
  /** The message's id where it came from. The alias msg/MESSAGEID is the thread's. */
  readonly messageId: string;
  /**
   * The id of the message that it replies to: the chain of msg/REPLYTO goes on. Where that is absent, "" or not known, a conversation begins.
   */
  readonly replyTo?: string | undefined;
  /**
   * The conversation that the message is part of: each commit of the thread also points the alias chat/CHAT to what it wrote, whichever branch
   * that is in.
   */
  readonly chat?: string | undefined;
  /** What a new conversation begins with, in a root of its own, so that equal prompts share it; where that was erased, this one gets a salt. */
  readonly system?: Message | readonly Message[] | undefined;
  /** What was said, as a rule one user's message. */
  readonly messages: Message | readonly Message[];
  /** As in NodeInit. */
  readonly notes?: readonly NoteInit[] | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** A run that was ended. */
export interface EndedRun {
  /** The node with the outcome. */
  readonly nodeId: string;
  /** The aliases that point to it now, and pointed to the head of the run before. */
  readonly aliases: readonly string[];
  /** Whether more point to the head, or may: one of them moved meanwhile, or they are too many to be found. */
  readonly moreAliases: boolean;
}

/**
 * Calls a transcriptd on behalf of one namespace: connect makes one. It has a method for each rpc; threads wrap them into what an agent does in
 * a turn: start from the message it answers, read the messages to send, append what was said, finish.
 *
 * Ids of nodes are 64 lower-case hex digits; byId and byAlias name a node. Every method takes CallOptions last. Every error of a call is a
 * TranscriptError, but for the reason of the caller's own AbortSignal and errors of the caller's own functions; arguments of a wrong type are a
 * TypeError or a RangeError. While the server is unavailable or overloaded calls are repeated until their deadline, with growing pauses. Of an
 * attempt that was never sent, or refused as OVERLOADED or DRAINING, it is known that it has done nothing: then any call is repeated. Where a
 * reply was lost the call may have taken place, and only those are that can do no harm: every read, and what the methods say of themselves.
 */
export class Client extends Administration {
  /**
   * Puts a message that arrived and gives the thread that ends in it. It may be called again with the same Turn, by any worker: until the thread
   * went on, that gives the same thread, whose isNew tells that it was there; afterwards it is ALIAS_EXISTS: use resume. Of all callers one is
   * told isNew, also one whose reply was lost, if it calls again on the same Client. Two replies to the same message are two branches.
   */
  async start(turn: Turn, options?: CallOptions): Promise<Thread> {
    const scope = scopeOf(options);
    mustBeObject("turn", turn, "with messageId and messages");
    const { replyTo = "", chat = "", notes, metadata } = turn;
    const system = asList(turn.system ?? []);
    const state = new ThreadState(aliasOf(turn.messageId), chat === "" ? "" : chatAlias(chat));
    const node: NodeInit = {
      messages: asList(turn.messages),
      notes,
      metadata,
      aliases: state.aliases(mustNotExist()),
      previous: system.length > 0 || replyTo !== "", // no root, at first
    };
    const other = "messageId is taken: resume gives the thread it has; another message needs an id of its own";
    if (replyTo === "") {
      return this.begin(state, node, scope, other, (salted) => this.putFirst(system, salted, scope));
    }
    const parent = aliasOf(replyTo);
    state.at = this.cache.headOf(parent);
    return this.begin(state, node, scope, other, async (salted, pending) => {
      try {
        // It may be repeated, wherever the parent points to by then: the message's alias must not exist.
        const below = wireNode({ ...salted, parent: byAlias(parent), previous: false });
        return await this.putWire(below, true, scope);
      } catch (error) {
        if (!isReason(error, "PARENT_NOT_FOUND")) {
          throw error;
        }
        pending.unsure ||= mayHaveHappened(error);
        return this.putFirst(system, salted, scope);
      }
    });
  }

  /** Puts the first messages of a conversation, behind a root of system messages where there are some. */
  private async putFirst(system: readonly Message[], node: NodeInit, scope: Scope): Promise<PutResult> {
    if (system.length === 0) {
      return this.putRoot({ ...node, previous: false }, scope);
    }
    const root: NodeInit = { messages: system };
    const below: NodeInit = { ...node, previous: true };
    let results: PutResult[];
    try {
      results = await this.putEach([root, below], scope);
    } catch (error) {
      if (isReason(error, "PAYLOAD_ERASED") && !error.violations.some(({ field }) => field.startsWith("nodes[0]."))) {
        throw error;
      }
      results = await this.putEach([this.salted(root, error), below], scope);
    }
    const [, result] = results;
    if (result === undefined) {
      throw fault("BAD_REPLY", "one node in place of two");
    }
    return result;
  }

  /** Puts a root. */
  private async putRoot(root: NodeInit, scope: Scope): Promise<PutResult> {
    try {
      return await this.putScoped(root, scope);
    } catch (error) {
      return this.putScoped(this.salted(root, error), scope);
    }
  }

  /** A root without a salt with one, where the equal one that everybody shares was erased. Of any other, refused stays the error. */
  private salted(root: NodeInit, refused: unknown): NodeInit {
    if (!isReason(refused, "PAYLOAD_ERASED") || (root.salt?.length ?? 0) > 0 || this.deterministic) {
      throw refused;
    }
    return { ...root, salt: newSalt() };
  }

  /** @internal put. */
  async putScoped(node: NodeInit, scope: Scope): Promise<PutResult> {
    const wire = wireNode(node);
    return this.putWire(wire, repeatablePut([wire]), scope);
  }

  /**
   * @internal Puts the first node of a thread, whose alias must not exist, or finds it.
   *
   * @param other - What an error says where the alias is another's.
   */
  async begin(
    state: ThreadState,
    given: NodeInit,
    scope: Scope,
    other: string,
    put: (node: NodeInit, pending: Pending) => Promise<PutResult>,
  ): Promise<Thread> {
    const { node, pending } = this.taken(this.unsure, given);
    try {
      try {
        const result = await put(node, pending);
        started(state, result, pending.unsure);
      } catch (error) {
        const told = pending.told(error);
        if (!isReason(told, "ALIAS_EXISTS")) {
          throw told;
        }
        await taken(this, state, node, told, scope);
      }
    } catch (error) {
      this.unsure.failed(pending, error);
      throw advised(error, "ALIAS_EXISTS", other);
    }
    state.ran(node);
    return new Thread(this, state);
  }

  /**
   * Gives the thread of a message that was started before, at the head it has come to, for example after a crash. Tool calls that are open there
   * (Thread.openCalls) may have run: it is the caller's to check each and append its result, or to answer it as unknown; nothing is ever run
   * again by itself. Error: ALIAS_NOT_FOUND.
   */
  async resume(messageId: string, options?: CallOptions): Promise<Thread> {
    const absent = "messageId is of no message that was started: start puts one";
    return this.opened(aliasOf(messageId), scopeOf(options), absent);
  }

  /** Gives a thread that goes on from an alias and moves it. Error: ALIAS_NOT_FOUND. */
  async open(alias: string, options?: CallOptions): Promise<Thread> {
    return this.opened(alias, scopeOf(options), "alias");
  }

  /** Gives the thread of an alias; absent is what an error says where there is none. */
  private async opened(alias: string, scope: Scope, absent: string): Promise<Thread> {
    const state = new ThreadState(mustBeString("alias", alias));
    state.at = this.cache.headOf(alias);
    const thread = new Thread(this, state);
    try {
      await thread.refreshed(scope);
    } catch (error) {
      throw advised(error, "ALIAS_NOT_FOUND", absent);
    }
    return thread;
  }

  /**
   * Gives the thread of the conversation chat/NAME, which it begins with a root of system messages where it is not there; then at least one is
   * needed, else ALIAS_NOT_FOUND.
   */
  async chat(name: string, system: Message | readonly Message[] = [], options?: CallOptions): Promise<Thread> {
    const scope = scopeOf(options);
    if (mustBeString("name", name) === "") {
      throw fault("NO_NAME");
    }
    const alias = chatAlias(name);
    const messages = asList(system);
    const absent = "name is of no chat that was begun: give system messages to begin it";
    try {
      return await this.opened(alias, scope, absent);
    } catch (error) {
      if (!isReason(error, "ALIAS_NOT_FOUND") || messages.length === 0) {
        throw error;
      }
    }
    const state = new ThreadState(alias);
    try {
      const result = await this.putRoot({ messages, aliases: state.aliases(mustNotExist()) }, scope);
      started(state, result, false);
      return new Thread(this, state);
    } catch (error) {
      if (isReason(error, "ALIAS_EXISTS")) {
        return this.opened(alias, scope, absent); // somebody else began it meanwhile
      }
      throw error;
    }
  }

  /**
   * Lists the aliases whose last run loop is open, and that are idle for longer than staleMs (AliasRun.idleMs). What nobody asked for (a lead-in)
   * is not among them: no outcome ends it.
   */
  async *staleRuns(
    which: AliasScope,
    staleMs: number,
    options?: CallOptions,
  ): AsyncGenerator<AliasRun, void, undefined> {
    for await (const run of this.aliasRuns({ ...which, openOnly: true }, options)) {
      if (run.loop?.leadIn !== true && run.idleMs > staleMs) {
        yield run;
      }
    }
  }

  /**
   * Ends a run that nobody works on any more: it puts a node without messages and with an outcome behind the head, and moves to it, in one
   * commit, run's alias and 100 others that point to the head, whatever their names: a thread's own and that of its chat are two of them. Where
   * more point there, further commits move those. It does so on condition that each points there still, so it loses to whoever works on:
   * ALIAS_MOVED, and nothing was written. May be repeated.
   */
  async endRun(run: AliasRun, outcome: Outcome, options?: CallOptions): Promise<EndedRun> {
    const scope = scopeOf(options);
    let done = await this.endSome(run, outcome, scope);
    while (done.moreAliases) {
      let next: EndedRun;
      try {
        next = await this.endSome(run, outcome, scope);
      } catch (error) {
        if (isReason(error, "ALIAS_MOVED")) {
          return done; // what was ended stays so
        }
        throw error;
      }
      if (next.aliases.length === 1) {
        return done;
      }
      const others = next.aliases.filter((name) => name !== run.name);
      done = { ...done, aliases: [...done.aliases, ...others], moreAliases: next.moreAliases };
    }
    return done;
  }

  /** Makes one commit of endRun: it moves run's alias, unless it was moved before, with those others that are told of the head. */
  private async endSome(run: AliasRun, outcome: Outcome, scope: Scope): Promise<EndedRun> {
    const head = await this.getNode(byId(run.nodeId), true, scope);
    // One of more than are told, or it moved and is refused.
    const names = head.aliases.includes(run.name) ? head.aliases : [run.name, ...head.aliases];
    const aliases = names.map((name) => ({ name, if: headIs(run.nodeId) }));
    const { nodeId } = await this.putScoped({ ...ended(outcome, []), parent: byId(run.nodeId), aliases }, scope);
    return { nodeId, aliases: names, moreAliases: head.hasMoreAliases };
  }
}

/** Makes the thread that of the node that was put. */
function started(state: ThreadState, result: PutResult, unsure: boolean): void {
  state.moved(result.nodeId, result.counters);
  state.isNew = result.retried || unsure || (result.aliases[0]?.changed ?? false);
}
