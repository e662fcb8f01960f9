// Aliases: what they are set to, and where they point.

import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate, type Timestamp } from "@bufbuild/protobuf/wkt";

import { scopeOf, type CallOptions, type Scope } from "../call.js";
import { fault } from "../errors.js";
import {
  AliasRequestSchema,
  DeleteAliasesRequestSchema,
  DeleteAliasRequestSchema,
  ListAliasesRequestSchema,
  SortOrder,
  type AliasHistoryEntry,
  type AliasInfo,
  type AliasResult,
  type DeleteAliasesRequest,
  type ListAliasesRequest,
  type ResolveAliasResponse,
} from "../gen/transcript/v1/transcript_service_pb.js";
import { mustBeString, precondition, type Condition } from "../refs.js";
import { repeatableDelete, repeatableDeletion, repeatableMoves, when } from "../retry.js";
import { wireMove, type AliasMove } from "../writes.js";
import { Base, PAGE_SIZE } from "./base.js";

/** Which aliases to delete. Either prefix or all is required. */
export interface AliasDeletion {
  /** Those whose names begin so. */
  readonly prefix?: string | undefined;
  /** Every alias of the namespace. */
  readonly all?: boolean | undefined;
  /**
   * Only those that were created or last moved before this time, by the server's clock. Without: those that are there when the deletion begins.
   */
  readonly movedBefore?: Date | undefined;
  /** Tells what would be deleted, and deletes nothing. */
  readonly dryRun?: boolean | undefined;
  /** Deletes their histories, too, as deleteAlias does. */
  readonly forgetHistory?: boolean | undefined;
}

/** A choice of aliases; without any of it all of them, in the order of the names' bytes. */
export interface AliasScope {
  /** Those whose names begin so, in the order of the names' bytes, or last moved first where order is given. */
  readonly prefix?: string | undefined;
  /** Those of a folder (names are paths), last moved first. Not with prefix. */
  readonly folder?: string | undefined;
  /** The order of names. */
  readonly order?: SortOrder | undefined;
}

/** An alias, and where the last run loop of its chain stands (`loop`). */
export interface AliasRun extends AliasInfo {
  /** The server's clock at the time that the page with the alias was made. */
  readonly now: Date;
  /**
   * How many milliseconds nothing but compactions was put behind the alias, and the alias was not moved, by the server's clock: a new alias of
   * what was put long ago is not idle.
   */
  readonly idleMs: number;
}

/** The methods for aliases. */
export abstract class Aliases extends Base {
  /**
   * Sets or deletes 1 to 1,000 aliases in one commit, all or nothing, and tells in their order what changed; after a repeat, changed and revised
   * may be false although this call changed it. Where its reply is lost it is repeated only if each move is on revisionIs or headAt, to a node
   * by its id or to its own alias; or on mustNotExist or headIs, to a node by its id, and without labels; or deletes on headIs, revisionIs or
   * headAt: a repeat of any other could undo what others did since. Errors: NODE_NOT_FOUND, ALIAS_NOT_FOUND, ALIAS_EXISTS, ALIAS_MOVED and
   * others.
   */
  async setAliases(moves: readonly AliasMove[], options?: CallOptions): Promise<AliasResult[]> {
    return (await this.moveAliases(moves, scopeOf(options))).set;
  }

  /** @internal setAliases, and whether an attempt that failed may have set them. */
  async moveAliases(moves: readonly AliasMove[], scope: Scope): Promise<{ set: AliasResult[]; unsure: boolean }> {
    const request = create(AliasRequestSchema, { namespace: this.namespace, aliases: moves.map(wireMove) });
    const { reply, unsure } = await this.caller.unary(scope, when(repeatableMoves(request.aliases)), (o) =>
      this.rpc.alias(request, o),
    );
    return { set: reply.aliases, unsure };
  }

  /**
   * Deletes an alias; its nodes and its history stay. Gives the id that the alias pointed to, "" where there was none; after a repeat it may be
   * "" although this call deleted it. forgetHistory deletes the history, too, also where the alias is deleted already: then nothing of the name
   * keeps a node from collectGarbage. Where the reply is lost the call is repeated only with revisionIs, headIs or headAt: otherwise the repeat
   * could delete what others set since. Errors: ALIAS_NOT_FOUND with mustExist, ALIAS_MOVED with headIs and revisionIs.
   */
  async deleteAlias(
    name: string,
    condition?: Condition,
    options?: CallOptions & { readonly forgetHistory?: boolean | undefined },
  ): Promise<string> {
    const only = precondition(condition);
    const request = create(DeleteAliasRequestSchema, {
      namespace: this.namespace,
      name: mustBeString("name", name),
      ...(only !== undefined && { precondition: only }),
      forgetHistory: options?.forgetHistory ?? false,
    });
    const { reply } = await this.caller.unary(scopeOf(options), when(repeatableDelete(only)), (o) =>
      this.rpc.deleteAlias(request, o),
    );
    return reply.previousId;
  }

  /**
   * Deletes aliases in the order of their names, page after page as it goes, and gives each as it was; what follows who stops stays. What others
   * move meanwhile stays, too. Nodes and histories stay. A page whose reply is lost is asked for again: then what it deleted may not be given.
   * After an error delete again with the same movedBefore. INVALID_FIELD where neither prefix nor all is set.
   */
  async *deleteAliases(deletion: AliasDeletion, options?: CallOptions): AsyncGenerator<AliasInfo, void, undefined> {
    const { prefix, all = false, movedBefore, dryRun = false, forgetHistory = false } = deletion;
    if (all && prefix !== undefined) {
      throw new TypeError("a deletion of all has no prefix");
    }
    const scope = scopeOf(options);
    const request = create(DeleteAliasesRequestSchema, {
      namespace: this.namespace,
      scope: all ? { case: "all", value: true } : { case: "prefix", value: prefix ?? "" },
      ...(movedBefore !== undefined && { movedBefore: timestampFromDate(movedBefore) }),
      dryRun,
      forgetHistory,
      pageSize: PAGE_SIZE,
    });
    request.movedBefore ??= await this.beginsNow(request, scope);
    yield* this.pages(async (pageToken) => {
      request.pageToken = pageToken;
      const { reply } = await this.caller.unary(scope, when(repeatableDeletion(request)), (o) =>
        this.rpc.deleteAliases(request, o),
      );
      return { entries: reply.aliases, next: reply.nextPageToken };
    });
  }

  /** Asks the server for the time with which a deletion may be repeated. */
  private async beginsNow(request: DeleteAliasesRequest, scope: Scope): Promise<Timestamp> {
    const ask = { ...request, dryRun: true, pageSize: 1 };
    const { movedBefore } = await this.caller.read(scope, (o) => this.rpc.deleteAliases(ask, o));
    if (movedBefore === undefined) {
      throw fault("BAD_REPLY", "a dry run without its moved_before");
    }
    return movedBefore;
  }

  /**
   * Tells which node an alias points to, its revision, and the totals of the chain that ends there. Error: ALIAS_NOT_FOUND, of which `deleted`
   * tells whether the name was deleted.
   */
  async resolve(name: string, options?: CallOptions): Promise<ResolveAliasResponse & { alias: AliasInfo }> {
    return this.resolved(name, scopeOf(options));
  }

  /** @internal */
  async resolved(name: string, scope: Scope): Promise<ResolveAliasResponse & { alias: AliasInfo }> {
    const request = { namespace: this.namespace, name: mustBeString("name", name) };
    const reply = await this.caller.read(scope, (o) => this.rpc.resolveAlias(request, o));
    const { alias } = reply;
    if (alias === undefined) {
      throw fault("BAD_REPLY", "no alias");
    }
    return { ...reply, alias };
  }

  /** Lists aliases, asking for page after page as it goes. */
  async *aliases(which: AliasScope = {}, options?: CallOptions): AsyncGenerator<AliasInfo, void, undefined> {
    const scope = scopeOf(options);
    yield* this.pages(async (token) => {
      const reply = await this.caller.read(scope, (o) => this.rpc.listAliases(this.aliasPage(which, token), o));
      return { entries: reply.aliases, next: reply.nextPageToken };
    });
  }

  /** Lists aliases with where the last run loop of each one's chain stands; openOnly: only those whose loop is open. */
  async *aliasRuns(
    which: AliasScope & { readonly openOnly?: boolean } = {},
    options?: CallOptions,
  ): AsyncGenerator<AliasRun, void, undefined> {
    const scope = scopeOf(options);
    yield* this.pages(async (token) => {
      const request = this.aliasPage(which, token);
      request.includeLoops = true;
      request.openOnly = which.openOnly ?? false;
      const reply = await this.caller.read(scope, (o) => this.rpc.listAliases(request, o));
      return { entries: reply.aliases.map((alias) => aliasRun(alias, reply.now)), next: reply.nextPageToken };
    });
  }

  /** Asks for a page of aliases. */
  private aliasPage({ prefix, folder, order }: AliasScope, pageToken: string): ListAliasesRequest {
    if (prefix !== undefined && folder !== undefined) {
      throw new TypeError("prefix and folder exclude each other");
    }
    return create(ListAliasesRequestSchema, {
      namespace: this.namespace,
      ...(prefix !== undefined && { scope: { case: "prefix", value: prefix } as const }),
      ...(folder !== undefined && { scope: { case: "folder", value: folder } as const }),
      pageSize: PAGE_SIZE,
      pageToken,
      order: order ?? SortOrder.UNSPECIFIED,
    });
  }

  /**
   * Lists the states of an alias, newest first: at most the last 100, at most 90 days back, also after its deletion. Error: ALIAS_NOT_FOUND for a
   * name never set, or deleted more than 90 days ago.
   */
  async *history(name: string, options?: CallOptions): AsyncGenerator<AliasHistoryEntry, void, undefined> {
    yield* this.historyOf(name, scopeOf(options));
  }

  /** @internal */
  async *historyOf(name: string, scope: Scope): AsyncGenerator<AliasHistoryEntry, void, undefined> {
    yield* this.pages(async (pageToken) => {
      const request = { namespace: this.namespace, name: mustBeString("name", name), pageSize: PAGE_SIZE, pageToken };
      const reply = await this.caller.read(scope, (o) => this.rpc.listAliasHistory(request, o));
      return { entries: reply.entries, next: reply.nextPageToken };
    });
  }
}

function aliasRun(alias: AliasInfo, now: Timestamp | undefined): AliasRun {
  if (alias.loop === undefined || now === undefined) {
    throw fault("BAD_REPLY", "an alias without its loop");
  }
  const times = [alias.loop.lastPutAt, alias.movedAt].map((t) => (t === undefined ? 0 : timestampDate(t).getTime()));
  const at = timestampDate(now);
  return { ...alias, now: at, idleMs: Math.max(0, at.getTime() - Math.max(...times)) };
}
