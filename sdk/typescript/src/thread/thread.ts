// The thread: a conversation that an agent goes on with.

import { create } from "@bufbuild/protobuf";

import type { PolicyInit } from "../assembly.js";
import { HeldView } from "../cache.js";
import { scopeOf, type CallOptions, type Scope } from "../call.js";
import { advised, fault, isReason, TranscriptError } from "../errors.js";
import type { Message, ToolCall } from "../gen/transcript/v1/message_pb.js";
import { RecallToolCallRequestSchema, View, type MessagePlace } from "../gen/transcript/v1/transcript_service_pb.js";
import { openCalls, text, unknownResult } from "../messages.js";
import { byId, mustBeObject, mustBeString, mustNotExist, nodeRef } from "../refs.js";
import { withDepth } from "../texts.js";
import type { NodeInit } from "../writes.js";
import { asList } from "./appends.js";
import { Compacting } from "./compacting.js";
import { ThreadState } from "./state.js";
import { recallTool, searchTool, type Tool, type ToolOptions } from "./tools.js";

/** The metadata key that holds an Inherited. */
export const INHERITS_KEY = "spawn/inherits";

/**
 * What a subagent has of the thread that spawns it: nothing; the arguments of the call, which the caller puts in its messages; or all that was
 * said on the thread: the subagent's chain goes on from its head.
 */
export type Inherited = "none" | "arguments" | "prefix";

/** The conversation of a subagent that a tool call starts. */
export interface Spawn {
  /** The id of the call that starts it, the latest with that id. It is on the thread already. */
  readonly callId: string;
  /** The subagent's thread. */
  readonly alias: string;
  /** What the subagent begins with: as a rule its own system messages and a user's message with its task. */
  readonly messages: Message | readonly Message[];
  /** What it has of the thread, which describe tells. Absent: nothing is said, and its chain begins anew. */
  readonly inherit?: Inherited | undefined;
  /** Further metadata of its first node: variables that it begins with, say. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/**
 * A chain that an agent goes on with: a head, and the alias that moves with it. Client.start, resume, open and chat make one.
 *
 * Everything is put below the head that the thread has seen, on condition that the alias still points there. If another writer was first, that
 * is ALIAS_MOVED, with the winning head in the error's `head`; nothing was put and the thread stays where it was. refresh goes on from the winner,
 * fork beside it. Where the winners only compacted the chain, the thread goes on by itself below the compaction: nothing was said that it has not
 * seen. Of several writers of the same one goes on.
 *
 * Each append has a salt, by which the thread knows its node again. A put whose reply was lost succeeds if it took place, also where another
 * writer went on below it since; then it is the next put that finds the alias moved. Where that could not be found out (mayHaveHappened), append
 * the same again on the same Thread, until it succeeds or is refused: the thread keeps the salt, whatever is appended and refreshed meanwhile, and
 * the next append of the same node with the same aliases, whoever makes it, is the repeat. Who gives it up instead goes on with a new Thread
 * (Client.open), which knows nothing of it.
 *
 * All methods may run at once; of two puts at once one succeeds.
 */
export class Thread extends Compacting {
  /**
   * Whether the call that made the thread put its first message, or named it first. False: it was there before; whoever put it may be at work on
   * it. Of all callers of start, or spawn, with one message one is told true. Only where the service cannot tell who was first, and a reply was
   * lost, it may be two: of fork, of chat with equal prompts, and of a deterministic Client.
   */
  get isNew(): boolean {
    return this.s.isNew;
  }

  /** The alias that moves with the thread. */
  get alias(): string {
    return this.s.alias;
  }

  /** The id of the node that the thread has come to. */
  get head(): string {
    return this.s.head;
  }

  /** The number of user's and assistant's messages through the head. */
  get depth(): number {
    return this.s.depth;
  }

  /**
   * The text of a reply that was put, as it is handed to people: "[depth:N] ", where N is the depth by then, and the text. What is stored has no
   * prefix.
   */
  replyText(reply: Message): string {
    return withDepth(this.depth, text(reply));
  }

  /**
   * Gives what to send to a model: the conversation view of the head, bounded by a policy, in which absent fields have the server's defaults;
   * without one the effective view, of which only what the Client's cache does not hold is asked for. That is one call, also where the cache holds
   * all of it: it may be erased since. The caller owns the messages. Errors: those of Client.assemble.
   */
  async messages(policy?: PolicyInit, options?: CallOptions): Promise<Message[]> {
    const { head, messages } = await this.read(policy, scopeOf(options));
    this.s.read = head;
    return messages;
  }

  private async read(policy: PolicyInit | undefined, scope: Scope): Promise<{ head: string; messages: Message[] }> {
    if (policy === undefined) {
      const view = await this.view(scope);
      return { head: view.head, messages: view.messages() };
    }
    const { headId, messages } = await this.c.assembled(byId(this.head), { view: View.CONVERSATION, policy }, scope);
    return { head: headId, messages };
  }

  /** Gives the effective view of the head and keeps it. */
  private async view(scope: Scope): Promise<HeldView> {
    const { head, at, alias } = this.s;
    const held = await this.extended(head, this.c.cache.get(head) ?? this.c.cache.get(at), scope);
    if (!this.c.cache.put(held)) {
      return held; // what is kept of its beginning stays what the next one goes on from
    }
    this.c.cache.name(alias, head);
    this.s.at = head;
    return held;
  }

  /**
   * Asks for what the view of head adds to a view that is held, or for all of it. It asks also where that is the view of head, which may be erased
   * since.
   */
  private async extended(head: string, held: HeldView | undefined, scope: Scope): Promise<HeldView> {
    try {
      const query = { after: held?.head, afterErasures: held?.erasures };
      const { baseId, messages, erasures } = await this.c.assembled(byId(head), query, scope);
      if (baseId === "") {
        return HeldView.of(head, undefined, messages, erasures); // the whole view came: it replaces what was held
      }
      return held?.head === head ? held : HeldView.of(head, held, messages, erasures);
    } catch (error) {
      if (held !== undefined && isReason(error, "NOT_AN_ANCESTOR", "NODE_NOT_FOUND")) {
        return this.extended(head, undefined, scope); // the guess at an ancestor was wrong
      }
      throw error;
    }
  }

  /** Makes the thread go on from where its alias points now. Error: ALIAS_NOT_FOUND. */
  async refresh(options?: CallOptions): Promise<void> {
    await this.refreshed(scopeOf(options));
  }

  /** @internal */
  async refreshed(scope: Scope): Promise<void> {
    let moves: number;
    do {
      ({ moves } = this.s);
    } while (!this.s.refreshed(await this.c.resolved(this.s.alias, scope), moves));
  }

  /**
   * Gives a thread that goes on from the same head under an alias of its own, which must not exist (ALIAS_EXISTS) unless it points there already;
   * then isNew is false.
   */
  async fork(alias: string, options?: CallOptions): Promise<Thread> {
    if (mustBeString("alias", alias) === "") {
      throw fault("NO_NAME");
    }
    const state = this.s.forked(alias);
    const move = { name: alias, target: byId(state.head), if: mustNotExist() };
    try {
      const { set, unsure } = await this.c.moveAliases([move], scopeOf(options));
      state.isNew = unsure || (set[0]?.changed ?? false);
    } catch (error) {
      const taken = "alias is taken: open gives its thread; another branch needs an alias of its own";
      throw advised(error, "ALIAS_EXISTS", taken);
    }
    return new Thread(this.c, state);
  }

  /** Gives the tool calls that have no result yet at the head, in order. After resume they may have run. */
  async openCalls(options?: CallOptions): Promise<ToolCall[]> {
    return openCalls((await this.read(undefined, scopeOf(options))).messages);
  }

  /**
   * Puts, for each open call, a result that says that it is unknown whether the call ran (unknownResult), as one node; nothing where no call is
   * open. Call it after the results that could be found out were put.
   */
  async answerUnknown(options?: CallOptions): Promise<void> {
    const open = await this.openCalls(options);
    if (open.length > 0) {
      await this.appendResults(open.map(unknownResult), options);
    }
  }

  /**
   * Begins a subagent's thread, linked to the call that starts it: describe tells of it on both sides. The subagent works in its own chain; what
   * it comes to is put here by the caller as the result of the call (appendResults), and nothing else of it is seen here.
   *
   * It may be called again, after a crash say: until the subagent went on that gives the same thread, whose isNew tells that it was there;
   * afterwards it is ALIAS_EXISTS: Client.open gives the thread. Errors: NO_NAME, TOOL_CALL_NOT_FOUND, ALIAS_EXISTS, INVALID_FIELD for another
   * inheritance, and others.
   */
  async spawn(spawn: Spawn, options?: CallOptions): Promise<Thread> {
    const scope = scopeOf(options);
    mustBeObject("spawn", spawn, "with alias and messages");
    const { alias, callId, inherit, metadata = {} } = spawn;
    if (mustBeString("alias", alias) === "") {
      throw fault("NO_NAME");
    }
    const { head, at } = this.s;
    const place = await this.callPlace(head, callId, scope);
    const state = new ThreadState(alias);
    const node: NodeInit = {
      messages: asList(spawn.messages),
      aliases: state.aliases(mustNotExist()),
      spawnedFrom: { nodeId: place.nodeId, toolCallId: callId },
      metadata: inherit === undefined ? metadata : { ...metadata, [INHERITS_KEY]: inherit },
      ...(inherit === "prefix" && { parent: byId(head) }),
    };
    if (inherit === "prefix") {
      state.at = at;
    }
    const other = "alias is taken: open gives its thread; another subagent needs an alias of its own";
    return this.c.begin(state, node, scope, other, (salted) => this.c.putScoped(salted, scope));
  }

  /** Where the latest call with an id was put. A result without its call is none. */
  private async callPlace(head: string, toolCallId: string, scope: Scope): Promise<MessagePlace> {
    const request = create(RecallToolCallRequestSchema, {
      namespace: this.c.namespace,
      head: nodeRef(byId(head)),
      toolCallId: mustBeString("callId", toolCallId),
      pageBytes: 1,
    });
    const { callPlace } = await this.c.caller.read(scope, (o) => this.c.rpc.recallToolCall(request, o));
    if (callPlace === undefined) {
      const message = "TOOL_CALL_NOT_FOUND: the chain has the result of that call, and not the call";
      throw new TranscriptError("NOT_FOUND", "TOOL_CALL_NOT_FOUND", message);
    }
    return callPlace;
  }

  /**
   * Gives the tool recall_tool_call, with which a model gets back a result, or the arguments of a call, that were left out of what it sees. A text
   * is given in parts of 20,000 characters, as it was put, or without secrets.
   */
  recallTool(options: ToolOptions = {}): Tool {
    return recallTool(this.c, this, options);
  }

  /**
   * Gives the tool search_history, with which a model finds what was said earlier in its conversation, also what it no longer sees. It gives at
   * most 10 messages, newest first, as they were put, or without secrets, and takes some 10 seconds at most.
   */
  searchTool(options: ToolOptions = {}): Tool {
    return searchTool(this.c, this, options);
  }
}
