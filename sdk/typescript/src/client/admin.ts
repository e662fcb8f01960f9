// What a namespace holds and may hold.

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";

import { scopeOf, type CallOptions } from "../call.js";
import { fault } from "../errors.js";
import {
  BackupRequestSchema,
  CollectGarbageRequestSchema,
  DeleteNamespaceRequestSchema,
  NamespaceSettingsSchema,
  RestoreRequestSchema,
  Scope as Whole,
  SetNamespaceRequestSchema,
  VerifyRequestSchema,
  type ArchiveAliasSchema,
  type ArchiveNamespaceSchema,
  type BackupResponse,
  type CollectGarbageResponse,
  type NamespaceStatsResponse,
  type SetNamespaceResponse,
  type VerifyResponse,
} from "../gen/transcript/v1/admin_service_pb.js";
import {
  EraseRequestSchema,
  SharedRoots,
  type EraseResponse,
  type NodeReceipt,
} from "../gen/transcript/v1/erasure_pb.js";
import { repeatableSettings, when } from "../retry.js";
import { PAGE_SIZE } from "./base.js";
import { Compactions } from "./compactions.js";

/** What verify is to check, and how; without any of it all of the Client's namespace, as fast as it goes. */
export interface Check {
  /**
   * Checks every namespace, and what is the store's own: its files, the names of namespaces, and rows that no namespace has.
   */
  readonly wholeStore?: boolean | undefined;
  /** That of the last report of an earlier check of the same, which goes on. It is good after a restart of the server, too. */
  readonly cursor?: string | undefined;
  /** Bounds what the server reads of its store, on average. */
  readonly maxBytesPerSecond?: bigint | undefined;
}

/** What collectGarbage is to delete, and how; without any of it all of the Client's namespace that nothing keeps, with the server's grace. */
export interface Collection {
  /** Collects every namespace in turn. */
  readonly wholeStore?: boolean | undefined;
  /** Counts what would be deleted, and deletes nothing. */
  readonly dryRun?: boolean | undefined;
  /**
   * How many milliseconds a node is kept after it was put, whatever refers to it; without, as the server is set. 0: its time does not keep a node,
   * and one whose alias somebody is about to set may go.
   */
  readonly graceMs?: number | undefined;
  /** Bounds what is deleted, on average. */
  readonly maxNodesPerSecond?: bigint | undefined;
  /** Gives the space back that what was deleted takes; calls take longer meanwhile. With wholeStore and without dryRun alone. */
  readonly reclaimSpace?: boolean | undefined;
}

/** An entry that nodes or messages are selected by: both must be equal. */
export interface Entry {
  readonly key: string;
  readonly value: string;
}

/** What erase is to erase, and how. One of nodes, aliasPrefix, metadata and attribute is given. */
export interface Erasure {
  /** Nodes by their ids. */
  readonly nodes?: readonly string[] | undefined;
  /** What aliases reach whose names begin so, and did in their histories, up to the roots. */
  readonly aliasPrefix?: string | undefined;
  /** The nodes with this entry. */
  readonly metadata?: Entry | undefined;
  /** The nodes that have a message with this attribute in its note. */
  readonly attribute?: Entry | undefined;
  /** Tells what would be erased, and erases nothing. */
  readonly dryRun?: boolean | undefined;
  /** What becomes of roots without a salt, which all chains have that begin with the same words: without it they are refused. */
  readonly sharedRoots?: SharedRoots | undefined;
  /** Stays in the receipts, such as the number of a ticket: no personal data. */
  readonly reference?: string | undefined;
  /** Goes on until the content has left the files of the server's store. */
  readonly waitForFiles?: boolean | undefined;
}

/** What backup is to write, and how; without any of it all that the Client's namespace has, as fast as it goes. */
export interface Backup {
  /** Writes every namespace. */
  readonly wholeStore?: boolean | undefined;
  /** Of the archive to go on from, of the same namespaces: then what was put, set or deleted since is written. */
  readonly sinceCursor?: Uint8Array | undefined;
  /** That archive's digest. */
  readonly sinceDigest?: Uint8Array | undefined;
  /** Of the last point of an archive that was cut: then the rest of it is written. */
  readonly continueCursor?: Uint8Array | undefined;
  /** The digest of the block that ends with that point. */
  readonly continueDigest?: Uint8Array | undefined;
  /** Bounds what the server reads of nodes, on average. */
  readonly maxBytesPerSecond?: bigint | undefined;
  /** Says that whoever receives the archive protects it: without it the backup of an encrypted store is refused. */
  readonly plain?: boolean | undefined;
}

/** The selector of an erasure. */
function selectorOf({
  nodes,
  aliasPrefix,
  metadata,
  attribute,
}: Erasure): NonNullable<MessageInitShape<typeof EraseRequestSchema>["selector"]> {
  if ([nodes, aliasPrefix, metadata, attribute].filter((given) => given !== undefined).length !== 1) {
    throw new TypeError("exactly one of nodes, aliasPrefix, metadata and attribute must be given");
  }
  if (nodes !== undefined) {
    return { case: "nodes", value: { ids: [...nodes] } };
  }
  if (metadata !== undefined) {
    return { case: "metadata", value: metadata };
  }
  if (attribute !== undefined) {
    return { case: "attribute", value: attribute };
  }
  return { case: "aliasPrefix", value: aliasPrefix ?? "" };
}

/** The methods for operators. */
export abstract class Administration extends Compactions {
  /** Counts the namespace, and tells its settings, which are undefined where they were never set. */
  async stats(options?: CallOptions): Promise<NamespaceStatsResponse> {
    return this.caller.read(scopeOf(options), (o) => this.admin.namespaceStats({ namespace: this.namespace }, o));
  }

  /**
   * Lists the names of namespaces that the caller may read, in the order of their bytes, asking for page after page as it goes. A server without
   * the feature "namespaces" does not have it.
   */
  async *namespaces(options?: CallOptions): AsyncGenerator<string, void, undefined> {
    const scope = scopeOf(options);
    yield* this.pages(async (pageToken) => {
      const reply = await this.caller.read(scope, (o) =>
        this.rpc.listNamespaces({ pageSize: PAGE_SIZE, pageToken }, o),
      );
      return { entries: reply.namespaces.map((n) => n.name), next: reply.nextPageToken };
    });
  }

  /**
   * Replaces the settings of the namespace as a whole: what is not set becomes its default, which is no limit. With a revision it does so only if
   * that is the settings' own, as stats tells it, 0 where they were never set; else SETTINGS_CHANGED. Without, whatever they are, and then a call
   * whose reply is lost is not repeated.
   */
  async setNamespace(
    settings: MessageInitShape<typeof NamespaceSettingsSchema>,
    revision?: bigint,
    options?: CallOptions,
  ): Promise<SetNamespaceResponse> {
    const request = create(SetNamespaceRequestSchema, {
      namespace: this.namespace,
      settings,
      ...(revision !== undefined && { revision }),
    });
    const { reply } = await this.caller.unary(scopeOf(options), when(repeatableSettings(request)), (o) =>
      this.admin.setNamespace(request, o),
    );
    return reply;
  }

  /**
   * Deletes the namespace with all that it has, receipts and settings too, and tells whether there was one. confirm must be its name, "default"
   * where the Client has none. The caller needs the roles admin and erase; LEGAL_HOLD, where there is a hold. A call whose reply is lost is not
   * repeated: somebody may have begun the namespace anew. A server without the feature "delete_namespace" does not have it.
   */
  async deleteNamespace(confirm: string, options?: CallOptions): Promise<boolean> {
    const request = create(DeleteNamespaceRequestSchema, { namespace: this.namespace, confirm });
    try {
      const call = await this.caller.unary(scopeOf(options), when(false), (o) =>
        this.admin.deleteNamespace(request, o),
      );
      return call.reply.deleted;
    } finally {
      this.cache.clear();
    }
  }

  /**
   * Makes the server read the whole namespace, or store, recompute every id and check links, folds and indexes, and gives its reports as they
   * come. A problem is a report, not an error. After an error the check was not finished, and another goes on at the last report's cursor.
   */
  async *verify(check: Check = {}, options?: CallOptions): AsyncGenerator<VerifyResponse, void, undefined> {
    const request = create(VerifyRequestSchema, {
      namespace: check.wholeStore === true ? "" : this.namespace,
      scope: check.wholeStore === true ? Whole.STORE : Whole.UNSPECIFIED,
      cursor: check.cursor ?? "",
      maxBytesPerSecond: check.maxBytesPerSecond ?? 0n,
    });
    let done = false;
    for await (const report of this.caller.stream(scopeOf(options), (o) => this.admin.verify(request, o))) {
      ({ done } = report);
      yield report;
    }
    if (!done) {
      throw fault("BAD_REPLY", "the check was not finished");
    }
  }

  /**
   * Makes the server delete the nodes of the namespace, or store, that no alias, no history and no grace keeps, and gives its reports as they
   * come. After an error, and after a caller who stops, what was deleted stays deleted, and another goes on with the rest. A server without the
   * feature "collection" does not have it.
   */
  async *collectGarbage(
    collection: Collection = {},
    options?: CallOptions,
  ): AsyncGenerator<CollectGarbageResponse, void, undefined> {
    const { wholeStore = false, dryRun = false, graceMs, maxNodesPerSecond = 0n, reclaimSpace = false } = collection;
    if (graceMs !== undefined && !(Number.isSafeInteger(graceMs) && graceMs >= 0)) {
      throw new RangeError("graceMs must be a whole number of milliseconds, 0 or more");
    }
    const request = create(CollectGarbageRequestSchema, {
      namespace: wholeStore ? "" : this.namespace,
      scope: wholeStore ? Whole.STORE : Whole.UNSPECIFIED,
      dryRun,
      ...(graceMs !== undefined && { grace: durationFromMs(graceMs) }),
      maxNodesPerSecond,
      reclaimSpace,
    });
    let done = false;
    for await (const report of this.caller.stream(scopeOf(options), (o) => this.admin.collectGarbage(request, o))) {
      ({ done } = report);
      yield report;
    }
    if (!done) {
      throw fault("BAD_REPLY", "the collection was not finished");
    }
  }

  /**
   * Makes the server erase the content of nodes of the namespace, and of its copies in compaction nodes, and gives its reports as they come. The
   * nodes stay, with markers. After an error, and after a caller who stops, what was erased stays erased, and another goes on with the rest. Errors:
   * SHARED_ROOT, where a root without a salt is selected and sharedRoots is not given. A server without the feature "erase" does not have it.
   */
  async *erase(erasure: Erasure, options?: CallOptions): AsyncGenerator<EraseResponse, void, undefined> {
    const request = create(EraseRequestSchema, {
      namespace: this.namespace,
      selector: selectorOf(erasure),
      dryRun: erasure.dryRun ?? false,
      sharedRoots: erasure.sharedRoots ?? SharedRoots.UNSPECIFIED,
      reference: erasure.reference ?? "",
      waitForFiles: erasure.waitForFiles ?? false,
    });
    let done = false;
    for await (const report of this.caller.stream(scopeOf(options), (o) => this.admin.erase(request, o))) {
      ({ done } = report);
      if (!request.dryRun) {
        this.cache.clear();
      }
      yield report;
    }
    if (!done) {
      throw fault("BAD_REPLY", "the erasure was not finished");
    }
  }

  /**
   * Returns the receipts of nodes that were erased, by their ids, at most 1,000: NODE_NOT_FOUND for one that was not. A receipt is signed with the
   * key that serverInfo tells as receiptPublicKey. A server without the feature "erase" does not have them.
   */
  async receipts(nodeIds: readonly string[], options?: CallOptions): Promise<NodeReceipt[]> {
    const request = { namespace: this.namespace, nodeIds: [...nodeIds] };
    return (await this.caller.read(scopeOf(options), (o) => this.admin.getReceipts(request, o))).receipts;
  }

  /**
   * Makes the server write an archive (docs/archive.md) of one state of the namespace, or the store, and gives its pieces as they come, some of
   * them empty reports of how far it is. The last one is done and has the digest. After an error the archive was cut, and another one goes
   * on from its last point.
   */
  async *backup(backup: Backup = {}, options?: CallOptions): AsyncGenerator<BackupResponse, void, undefined> {
    const none = new Uint8Array();
    const request = create(BackupRequestSchema, {
      namespace: backup.wholeStore === true ? "" : this.namespace,
      scope: backup.wholeStore === true ? Whole.STORE : Whole.UNSPECIFIED,
      sinceCursor: backup.sinceCursor ?? none,
      sinceDigest: backup.sinceDigest ?? none,
      continueCursor: backup.continueCursor ?? none,
      continueDigest: backup.continueDigest ?? none,
      maxBytesPerSecond: backup.maxBytesPerSecond ?? 0n,
      plain: backup.plain ?? false,
    });
    let done = false;
    for await (const piece of this.caller.stream(scopeOf(options), (o) => this.admin.backup(request, o))) {
      ({ done } = piece);
      yield piece;
    }
    if (!done) {
      throw fault("BAD_REPLY", "the archive was cut");
    }
  }

  /**
   * Sets aliases as an archive has them, with their histories and revisions, and what it has of the namespace itself: at most 1,000 aliases with
   * 10,000 states in all. Nodes are put before, with putArchived. An alias goes forward alone: what is there is replaced if it is of
   * the past of the archived one, and stays if it is as the archive has it; else that is ALIAS_MOVED. Resolves to how many were set.
   */
  async restore(
    aliases: readonly MessageInitShape<typeof ArchiveAliasSchema>[],
    archived?: MessageInitShape<typeof ArchiveNamespaceSchema>,
    options?: CallOptions,
  ): Promise<bigint> {
    const request = create(RestoreRequestSchema, {
      namespace: this.namespace,
      aliases: [...aliases],
      ...(archived !== undefined && { archived }),
    });
    const { reply } = await this.caller.unary(scopeOf(options), when(true), (o) => this.admin.restore(request, o));
    return reply.aliasesSet;
  }
}
