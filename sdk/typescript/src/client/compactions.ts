// Compactions of chains.

import { create } from "@bufbuild/protobuf";

import { scopeOf, type CallOptions, type Scope } from "../call.js";
import type { Compaction } from "../compaction.js";
import { fault, mayHaveHappened } from "../errors.js";
import {
  AliasResultSchema,
  CompactRequestSchema,
  NotWrittenReason,
  type CompactRequest,
  type CompactResponse,
  type GetNodeResponse,
} from "../gen/transcript/v1/transcript_service_pb.js";
import { newSalt, type Pending } from "../ledger.js";
import { byAlias, byId, mustBeString, nodeRef, type Ref } from "../refs.js";
import { repeatableCompaction, when } from "../retry.js";
import { isSame } from "../thread/lost.js";
import { wireUpdate } from "../writes.js";
import { Reads } from "./reads.js";

/** The methods for compactions. */
export abstract class Compactions extends Reads {
  /**
   * Appends a node that stands for what the effective view shows behind the preamble, condensed. Nothing is lost: the originals stay ancestors.
   * Where head is an alias it moves to the node, also where it was moved on by plain appends meanwhile; a node that is named by its id stays
   * without the compaction, and so does every chain that goes on from it. Where nothing would shrink, and on a dry run, `written` is false.
   *
   * Where its reply is lost it is repeated only with through, else it could cover what was said since; and with a salt, or without a summary,
   * else it could replace another's. A repeat, also one by the caller on the same Client, looks first whether the chain of the alias has the node
   * already, by its salt, and then gives that. Errors: INVALID_FIELD (through is missing), NODE_NOT_FOUND, ALIAS_NOT_FOUND, NOT_AN_ANCESTOR,
   * ALREADY_COVERED, OPEN_TOOL_CALLS, COMPACTION_TOO_LARGE, ALIAS_MOVED and others.
   */
  async compact(head: Ref, compaction: Compaction = {}, options?: CallOptions): Promise<CompactResponse> {
    return this.compactScoped(head, compaction, scopeOf(options));
  }

  /** @internal */
  async compactScoped(head: Ref, compaction: Compaction, given: Scope): Promise<CompactResponse> {
    const scope = this.caller.bounded(given);
    const request = this.compactRequest(head, compaction);
    if (request.dryRun) {
      return this.compactOnce(request, undefined, scope);
    }
    const pending = this.unsure.take(CompactRequestSchema, request, () =>
      compaction.salt !== undefined || this.deterministic ? compaction.salt : newSalt(),
    );
    request.salt = pending.salt ?? new Uint8Array(0);
    try {
      return await this.compactOnce(request, pending, scope);
    } catch (error) {
      const told = pending.told(error);
      this.unsure.failed(pending, told);
      throw told;
    }
  }

  /** Compacts, however often it is sent, unless an earlier attempt did. */
  private async compactOnce(
    request: CompactRequest,
    pending: Pending | undefined,
    scope: Scope,
  ): Promise<CompactResponse> {
    let sent = pending?.unsure ?? false;
    try {
      const { reply, unsure } = await this.caller.run(scope, when(repeatableCompaction(request)), async () => {
        const found = sent ? await this.findCompaction(request, scope) : undefined;
        sent = true;
        return found ?? (await this.compactSent(request, scope));
      });
      const wrong =
        reply.report === undefined || reply.counters === undefined || (reply.written && reply.nodeId === "");
      if (wrong) {
        throw fault("BAD_REPLY", "a compaction without its report");
      }
      return unsure && !reply.written ? ((await this.lookedFor(request, scope)) ?? reply) : reply;
    } catch (error) {
      const found = mayHaveHappened(error) ? await this.lookedFor(request, scope) : undefined;
      if (found === undefined) {
        throw error;
      }
      return found;
    }
  }

  /** Sends a compaction once. */
  private async compactSent(request: CompactRequest, scope: Scope): Promise<CompactResponse> {
    const never = (): boolean => false;
    const { reply } = await this.caller.unary(scope, never, (o) => this.rpc.compact(request, o));
    return reply;
  }

  /** findCompaction, undefined too where that fails. */
  private async lookedFor(request: CompactRequest, scope: Scope): Promise<CompactResponse | undefined> {
    try {
      return await this.findCompaction(request, scope);
    } catch {
      return undefined;
    }
  }

  /**
   * Looks for the node of a compaction that may have taken place, by its salt, in the chain that the head's alias has now; undefined where it is
   * not there, or has no salt.
   */
  private async findCompaction(request: CompactRequest, scope: Scope): Promise<CompactResponse | undefined> {
    const alias = request.head?.ref.case === "alias" ? request.head.ref.value : "";
    if (request.dryRun || alias === "" || request.salt.length === 0) {
      return undefined;
    }
    const { lineage } = await this.described(byAlias(alias), { maxItems: 64 }, scope);
    for (const one of lineage?.compactions ?? []) {
      if (request.throughId !== "" && one.coversThroughId !== request.throughId) {
        continue;
      }
      const node = await this.getNode(byId(one.nodeId), true, scope);
      const salt = node.info?.envelope?.salt;
      if (salt !== undefined && isSame(salt, request.salt)) {
        return this.compactedAs(request, alias, node, scope);
      }
    }
    return undefined;
  }

  /** The reply that was lost. */
  private async compactedAs(
    request: CompactRequest,
    alias: string,
    node: GetNodeResponse,
    scope: Scope,
  ): Promise<CompactResponse> {
    const { coversThroughId = "", parentId = "" } = node.info?.envelope ?? {};
    const dry: Compaction = {
      through: coversThroughId,
      policy: request.policy,
      summary: request.summary,
      summaryOnly: request.summaryOnly,
      dryRun: true,
    };
    const reply = await this.compactScoped(byId(parentId), dry, scope);
    const others = request.aliases.map(({ name }) => create(AliasResultSchema, { name, changed: true }));
    return {
      ...reply,
      written: true,
      notWrittenReason: NotWrittenReason.UNSPECIFIED,
      nodeId: node.info?.nodeId ?? "",
      counters: node.counters,
      aliases: [create(AliasResultSchema, { name: alias, changed: true, previousId: parentId }), ...others],
    };
  }

  private compactRequest(head: Ref, compaction: Compaction): CompactRequest {
    const { through, policy, summary, summaryOnly, salt, dryRun, aliases } = compaction;
    return create(CompactRequestSchema, {
      namespace: this.namespace,
      head: nodeRef(head),
      throughId: through ?? "",
      ...(policy !== undefined && { policy }),
      summary: mustBeString("summary", summary ?? ""),
      summaryOnly: summaryOnly ?? false,
      ...(salt !== undefined && { salt }),
      dryRun: dryRun ?? false,
      aliases: (aliases ?? []).map(wireUpdate),
    });
  }
}
