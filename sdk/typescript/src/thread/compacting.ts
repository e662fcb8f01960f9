// Compaction of a thread.

import { scopeOf, type CallOptions, type Scope } from "../call.js";
import { enoughGoes, summaryOf, type Compaction } from "../compaction.js";
import { fault, isReason } from "../errors.js";
import type { Message } from "../gen/transcript/v1/message_pb.js";
import {
  NotWrittenReason,
  type ChainCounters,
  type CompactResponse,
  type Counters,
} from "../gen/transcript/v1/transcript_service_pb.js";
import { byAlias, byId, mustBeString } from "../refs.js";
import { isBlank } from "../texts.js";
import { Appends } from "./appends.js";

/** When compactWhen compacts. */
export interface Trigger {
  /** The size of the effective view past which it does, in bytes and tokens, of which one is needed; 0 does not count. */
  readonly bytes?: number | undefined;
  readonly tokens?: number | undefined;
  /** What is kept. Its dryRun has no effect. */
  readonly compaction?: Compaction | undefined;
  /**
   * Makes the summary out of the effective view, which it owns. It is called once, when a quarter would go even if the summary gets as long as
   * the one before. It has to tell of the open run loop's work too, of which a compaction with a summary keeps only what the user said. A blank
   * summary, and one so long that less than a quarter would go, is thrown away.
   */
  readonly summarize?: ((messages: Message[]) => string | Promise<string>) | undefined;
}

/** The compactions of a thread. */
export abstract class Compacting extends Appends {
  /**
   * Compacts the chain of the thread's alias, and points the chat's alias along, as each commit of the thread does. The thread goes on from the
   * compaction node, and so does every other thread of the alias with its next put: a compaction is in no writer's way. Aliases of earlier nodes
   * stay where they are: a reply to a message that was sent before does not see it.
   *
   * With summary or summaryOnly and no through it stands for what messages gave last, or where that was not called, for what the thread has come
   * to, through the last node at which no call is unanswered: not for what others said meanwhile. `written` is true also where the reply was
   * lost, and the node is there. Errors: those of Client.compact.
   */
  async compact(compaction: Compaction = {}, options?: CallOptions): Promise<CompactResponse> {
    return this.compacted(compaction, scopeOf(options));
  }

  private async compacted(compaction: Compaction, scope: Scope): Promise<CompactResponse> {
    const { through = "", summary = "", summaryOnly = false } = compaction;
    if (through !== "" || (summary === "" && !summaryOnly)) {
      return this.compactThrough(compaction, scope);
    }
    const read = this.s.read === "" ? this.s.head : this.s.read;
    try {
      return await this.compactThrough({ ...compaction, through: read }, scope);
    } catch (error) {
      if (!isReason(error, "OPEN_TOOL_CALLS")) {
        throw error;
      }
    }
    const dry: Compaction = { ...compaction, through: "", dryRun: true, aliases: [] };
    const { throughId } = await this.c.compactScoped(byId(read), dry, scope);
    return this.compactThrough({ ...compaction, through: throughId }, scope);
  }

  /** Compacts through just what the compaction says. */
  private async compactThrough(given: Compaction, scope: Scope): Promise<CompactResponse> {
    const { chat, head } = this.s;
    const aliases = [...(chat === "" ? [] : [{ name: chat }]), ...(given.aliases ?? [])];
    const result = await this.c.compactScoped(byAlias(this.s.alias), { ...given, aliases }, scope);
    if (!result.written) {
      if (given.dryRun !== true && result.headId !== head) {
        await this.follow(head, result.headId, result.counters, scope); // perhaps another compacted
      }
      return result;
    }
    const [own] = result.aliases;
    if (own === undefined) {
      throw fault("BAD_REPLY", "a compaction that moved no alias");
    }
    if (this.s.head === own.previousId) {
      // Else somebody appended, which the next append finds out.
      this.s.moved(result.nodeId, result.counters);
    }
    return result;
  }

  /** Makes the thread go on from where its alias points to, if that is a compaction put right below its head. */
  private async follow(head: string, to: string, counters: ChainCounters | undefined, scope: Scope): Promise<void> {
    const { info } = await this.c.getNode(byId(to), true, scope);
    const envelope = info?.envelope;
    if (
      envelope !== undefined &&
      envelope.coversThroughId !== "" &&
      envelope.parentId === head &&
      this.s.head === head
    ) {
      this.s.moved(to, counters);
    }
  }

  /**
   * Compacts where the effective view is past a size, and at least a quarter of its bytes would go; else gives undefined. Call it before a model
   * is asked (after start, and between steps), so that the reply and all that follows come behind the compaction. The size is what the thread's
   * replies told last, so that most calls ask the server nothing; where too little would go, it asks again only once the view has grown by a
   * tenth. Errors: those of compact, of assemble, and of summarize. OPEN_TOOL_CALLS is none: it waits for the results.
   */
  async compactWhen(trigger: Trigger, options?: CallOptions): Promise<CompactResponse | undefined> {
    const scope = scopeOf(options);
    mustBeBound("bytes", trigger.bytes);
    mustBeBound("tokens", trigger.tokens);
    if (trigger.bytes === undefined && trigger.tokens === undefined) {
      throw new TypeError("compactWhen needs bytes or tokens: the size past which it compacts");
    }
    const { head, size } = this.s;
    if (size === undefined || !isPast(trigger, size) || size.bytes < this.s.compactAt) {
      return undefined;
    }
    let dry: CompactResponse;
    try {
      const summary = trigger.summarize === undefined ? {} : { summary: "?" }; // what goes does not depend on its text
      dry = await this.compactThrough({ ...trigger.compaction, ...summary, dryRun: true }, scope);
    } catch (error) {
      if (!isReason(error, "OPEN_TOOL_CALLS")) {
        throw error;
      }
      this.wait(size, 1n);
      return undefined;
    }
    if (dry.headId !== head) {
      await this.follow(head, dry.headId, dry.counters, scope); // perhaps another writer compacted
    }
    const result = await this.compactAfter(trigger, dry, scope);
    if (result === undefined) {
      this.wait(size, size.bytes / 10n + 1n);
    }
    return result;
  }

  /** Does what a dry run told to be worth it; undefined: nothing was written. */
  private async compactAfter(
    trigger: Trigger,
    dry: CompactResponse,
    scope: Scope,
  ): Promise<CompactResponse | undefined> {
    const compaction = await this.worth(trigger, dry, scope);
    if (compaction === undefined) {
      return undefined;
    }
    try {
      const result = await this.compacted(compaction, scope);
      return result.written ? result : undefined;
    } catch (error) {
      const overtaken = (trigger.compaction?.through ?? "") === "" && isReason(error, "ALREADY_COVERED");
      if (overtaken) {
        return undefined; // another writer was first
      }
      throw error;
    }
  }

  /** What is to be done after a dry run; undefined: nothing, for too little would go. */
  private async worth(trigger: Trigger, dry: CompactResponse, scope: Scope): Promise<Compaction | undefined> {
    const given: Compaction = { ...trigger.compaction, dryRun: false };
    if (dry.notWrittenReason !== NotWrittenReason.UNSPECIFIED || !enoughGoes(dry, 0)) {
      return undefined;
    }
    if (trigger.summarize === undefined) {
      // With a summary compact knows what was read.
      const own = (given.summary ?? "") !== "" || given.summaryOnly === true;
      return own ? given : { ...given, through: dry.throughId };
    }
    // The summary has to stand for just what is compacted, whatever is said meanwhile.
    const { messages } = await this.c.assembled(byId(dry.headId), {}, scope);
    if (!enoughGoes(dry, byteLength(summaryOf(messages)))) {
      return undefined; // not to have one made that will hardly be shorter
    }
    const summary = mustBeString("what summarize gives", await trigger.summarize(messages));
    return isBlank(summary) || !enoughGoes(dry, byteLength(summary))
      ? undefined
      : { ...given, summary, through: dry.throughId };
  }

  /** Makes compactWhen wait until the view has grown by so many bytes from a size, unless it is another since. */
  private wait(size: Counters, more: bigint): void {
    if (this.s.size === size) {
      this.s.compactAt = size.bytes + more;
    }
  }
}

/** A RangeError that names the argument, unless it is absent or a number of 0 or more. */
function mustBeBound(argument: string, value: unknown): void {
  if (value !== undefined && !(typeof value === "number" && value >= 0)) {
    throw new RangeError(`${argument} must be a number, 0 or more`);
  }
}

/** Whether the view is past the trigger's size. */
function isPast({ bytes = 0, tokens = 0 }: Trigger, view: Counters): boolean {
  return (bytes > 0 && view.bytes > bytes) || (tokens > 0 && view.tokens > tokens); // a bound need not be whole
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
