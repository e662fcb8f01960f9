// Views of chains.

import { Frames, assembleRequest, joined, type Assembly, type Query } from "../assembly.js";
import { scopeOf, type CallOptions, type Scope } from "../call.js";
import { fault } from "../errors.js";
import { View, type StreamAssembleResponse } from "../gen/transcript/v1/transcript_service_pb.js";
import { byId, type Ref } from "../refs.js";
import { transient } from "../retry.js";
import { mismatch, type Doubt } from "../verify.js";
import { Nodes } from "./nodes.js";

/** How many messages a page of back has where the query does not say. */
const BACK_MESSAGES = 100;

/** The methods for views. */
export abstract class Views extends Nodes {
  /**
   * Gives the messages of a chain of any length. Where the server goes away midway it begins again. Errors: NODE_NOT_FOUND, ALIAS_NOT_FOUND,
   * NOT_AN_ANCESTOR, NOT_IN_VIEW, VERIFICATION and others.
   */
  async assemble(head: Ref, query: Query = {}, options?: CallOptions): Promise<Assembly> {
    return this.assembled(head, query, scopeOf(options));
  }

  /** @internal */
  async assembled(head: Ref, query: Query, scope: Scope): Promise<Assembly> {
    const { reply } = await this.caller.run(scope, transient, async () => {
      const all: Assembly[] = [];
      for await (const frame of this.judged(head, query, scope, "once")) {
        all.push(frame);
      }
      return joined(all);
    });
    return reply;
  }

  /**
   * Gives the same in parts of whole nodes of about 64 KiB, for chains too long to hold: the first frame has headId, baseId, etag, notModified
   * and counters, the last the report. After an error what came before is not all; with verify only nodes that lead up to the head once all
   * frames came are verified.
   */
  frames(head: Ref, query: Query = {}, options?: CallOptions): AsyncGenerator<Assembly, void, undefined> {
    return this.judged(head, query, scopeOf(options), "again");
  }

  /** The frames of a stream, judged. Until the first came it is opened again where the server is unavailable, unless that is the caller's. */
  private async *judged(
    head: Ref,
    query: Query,
    scope: Scope,
    opens: "once" | "again",
  ): AsyncGenerator<Assembly, void, undefined> {
    const verify = query.verify ?? this.verifies;
    const request = assembleRequest(this.namespace, head, query, verify);
    const judge = new Frames(request, verify);
    const open = (options: { signal?: AbortSignal }): AsyncIterable<StreamAssembleResponse> =>
      this.rpc.streamAssemble(request, options);
    const stream = opens === "once" ? this.caller.receive(scope, open) : this.caller.stream(scope, open);
    for await (const received of stream) {
      const { frame, doubts } = judge.next(received);
      await this.settle(doubts, judge.erasures, scope);
      yield frame;
    }
    await this.settle(judge.end(), judge.erasures, scope);
    judge.close();
  }

  /**
   * Reads the nodes that came repaired as they were put, which is what a full view adds to that of the parent, and compares.
   */
  private async settle(doubts: readonly Doubt[], erasures: bigint, scope: Scope): Promise<void> {
    for (const doubt of doubts) {
      const query: Query = { view: View.FULL, after: doubt.parent, afterErasures: erasures, verify: true };
      const own = await this.assembled(byId(doubt.id), query, scope);
      if (own.erasures !== erasures) {
        throw mismatch(
          doubt.id,
          "nodes of the namespace were erased meanwhile, so that it cannot be compared: read the view again",
        );
      }
      if (own.baseId !== doubt.parent) {
        throw mismatch(doubt.id, "it did not come by itself");
      }
      doubt.settle(own.messages);
    }
  }

  /**
   * Gives a view from its end back, a page of the query's lastMessages and lastBytes at a time, 100 messages where it has neither: first the end,
   * or what comes before the query's before, and each time what comes before that. It stays with the head that an alias has at first. Pages laid
   * one before the other are the view; one that has no messages has one page without any.
   */
  async *back(head: Ref, query: Query = {}, options?: CallOptions): AsyncGenerator<Assembly, void, undefined> {
    const scope = scopeOf(options);
    const bounded = query.lastMessages !== undefined || query.lastBytes !== undefined;
    let at = head;
    let { before } = query;
    for (;;) {
      const asked: Query = {
        ...query,
        before,
        ifNoneMatch: undefined,
        ...(!bounded && { lastMessages: BACK_MESSAGES }),
      };
      const page = await this.assembled(at, asked, scope);
      const { begin } = page;
      if (page.moreBefore && begin?.nodeId === before?.nodeId && begin?.messageIndex === (before?.messageIndex ?? 0)) {
        throw fault("BAD_REPLY", "a page leads to itself");
      }
      yield page;
      if (!page.moreBefore || begin === undefined) {
        return;
      }
      at = byId(page.headId);
      before = begin;
    }
  }
}
