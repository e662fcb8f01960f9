// Nodes: putting them, and getting them.

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { scopeOf, type CallOptions, type Scope } from "../call.js";
import { fault } from "../errors.js";
import {
  GetNodeRequestSchema,
  NewNodeSchema,
  PutNodeRequestSchema,
  PutNodesRequestSchema,
  type ArchivedNodeSchema,
  PutArchivedNodesRequestSchema,
  type ChildNode,
  type GetNodeResponse,
  type NewNode,
} from "../gen/transcript/v1/transcript_service_pb.js";
import { newSalt, type Ledger, type Pending } from "../ledger.js";
import { byId, nodeRef, type Ref } from "../refs.js";
import { repeatablePut, when } from "../retry.js";
import { verifyNode, verifyPut } from "../verify.js";
import { isPrompt, wireNode, type NodeInit, type PutResult } from "../writes.js";
import { Aliases } from "./aliases.js";
import { PAGE_SIZE } from "./base.js";

/** The nodes that were asked for. */
export interface Found {
  /** Those that are there, in the order of their ids as given. */
  readonly nodes: GetNodeResponse[];
  /** The ids that no node has, in the same order. */
  readonly missing: string[];
}

/** The most ids of a call of GetNodes. */
const MAX_IDS = 1000;

/** The methods for nodes. */
export abstract class Nodes extends Aliases {
  /**
   * Appends messages as one node, or begins a chain, and sets aliases to it, all or nothing. Errors: INVALID_FIELD, LIMIT_EXCEEDED,
   * PARENT_NOT_FOUND, ALIAS_NOT_FOUND, ALIAS_EXISTS, ALIAS_MOVED and others. Where its reply is lost it is repeated if a repeat can do no harm:
   * its parent is absent, a node id, or an alias that the call conditions on a head, and it names no alias, or sets one on mustNotExist, headIs
   * or a revision.
   */
  async put(node: NodeInit, options?: CallOptions): Promise<PutResult> {
    const wire = wireNode(node);
    return this.putWire(wire, repeatablePut([wire]), scopeOf(options));
  }

  /** @internal put, repeated where its reply was lost if it may be. */
  async putWire(node: NewNode, repeatable: boolean, scope: Scope): Promise<PutResult> {
    const { parent, messages, notes, metadata, salt, spawnedFrom, aliases } = node;
    const request = create(PutNodeRequestSchema, {
      namespace: this.namespace,
      ...(parent !== undefined && { parent }),
      messages,
      notes,
      metadata,
      salt,
      ...(spawnedFrom !== undefined && { spawnedFrom }),
      aliases,
    });
    const { reply, unsure } = await this.caller.unary(scope, when(repeatable), (o) => this.rpc.putNode(request, o));
    if (this.verifies) {
      verifyPut([node], [reply]);
    }
    return { ...reply, retried: unsure };
  }

  /** Puts 1 to 1,000 nodes in one commit, all or nothing, and gives one result for each in their order. Errors as for put. */
  async putAll(nodes: readonly NodeInit[], options?: CallOptions): Promise<PutResult[]> {
    return this.putEach(nodes, scopeOf(options));
  }

  /** @internal */
  async putEach(nodes: readonly NodeInit[], scope: Scope): Promise<PutResult[]> {
    const request = create(PutNodesRequestSchema, { namespace: this.namespace, nodes: nodes.map(wireNode) });
    const { reply, unsure } = await this.caller.unary(scope, when(repeatablePut(request.nodes)), (o) =>
      this.rpc.putNodes(request, o),
    );
    if (reply.nodes.length !== nodes.length) {
      throw fault("BAD_REPLY", "another number of nodes than were put");
    }
    if (this.verifies) {
      verifyPut(request.nodes, reply.nodes);
    }
    return reply.nodes.map((result) => ({ ...result, retried: unsure }));
  }

  /**
   * Puts 1 to 1,000 nodes that were put elsewhere, as an archive has them (docs/archive.md), in one commit, all or nothing, and gives one result for
   * each in their order. What is there already stays as it is. Errors: PARENT_NOT_FOUND, NODE_NOT_FOUND, NOT_AN_ANCESTOR, ALREADY_COVERED,
   * OPEN_TOOL_CALLS and others.
   */
  async putArchived(
    nodes: readonly MessageInitShape<typeof ArchivedNodeSchema>[],
    options?: CallOptions,
  ): Promise<PutResult[]> {
    const request = create(PutArchivedNodesRequestSchema, { namespace: this.namespace, nodes: [...nodes] });
    const { reply, unsure } = await this.caller.unary(scopeOf(options), when(true), (o) =>
      this.rpc.putArchivedNodes(request, o),
    );
    if (reply.nodes.length !== nodes.length) {
      throw fault("BAD_REPLY", "another number of nodes than were put");
    }
    return reply.nodes.map((result) => ({ ...result, retried: unsure }));
  }

  /** @internal Begins an append of a node, which has a salt from then on; the caller's goes before. */
  taken(ledger: Ledger, node: NodeInit): { node: NodeInit; pending: Pending } {
    const { messages, metadata, salt, spawnedFrom, aliases } = wireNode(node);
    const asked = create(NewNodeSchema, {
      messages,
      metadata,
      salt,
      ...(spawnedFrom !== undefined && { spawnedFrom }),
      aliases,
    });
    const pending = ledger.take(NewNodeSchema, asked, () =>
      node.salt !== undefined || this.deterministic || isPrompt(node) ? node.salt : newSalt(),
    );
    return { node: { ...node, salt: pending.salt }, pending };
  }

  /**
   * Gives one node with its messages as they were put, verified where the Client verifies. Errors: NODE_NOT_FOUND, ALIAS_NOT_FOUND,
   * AMBIGUOUS_PREFIX, VERIFICATION; USE_STREAM_ASSEMBLE where messages and metadata are together over 4 MiB, for which nodeInfo and assemble can
   * be asked.
   */
  async node(node: Ref, options?: CallOptions): Promise<GetNodeResponse> {
    return this.getNode(node, false, scopeOf(options));
  }

  /** node without the messages; then only the envelope is verified. */
  async nodeInfo(node: Ref, options?: CallOptions): Promise<GetNodeResponse> {
    return this.getNode(node, true, scopeOf(options));
  }

  /** @internal */
  async getNode(node: Ref, omitMessages: boolean, scope: Scope): Promise<GetNodeResponse> {
    const request = create(GetNodeRequestSchema, { namespace: this.namespace, node: nodeRef(node), omitMessages });
    const reply = await this.caller.read(scope, (o) => this.rpc.getNode(request, o));
    if (this.verifies) {
      verifyNode(request, reply);
    }
    return reply;
  }

  /**
   * Gives the nodes with some ids, each 64 digits and each once, in as many calls as that takes, verified where the Client verifies. Of aliases
   * nothing is told. Errors: USE_STREAM_ASSEMBLE where messages and metadata of one node are together over 4 MiB, VERIFICATION and others.
   */
  async nodes(ids: readonly string[], options?: CallOptions): Promise<Found> {
    return this.getNodes(ids, false, scopeOf(options));
  }

  /** nodes without the messages; then only envelopes are verified. */
  async nodeInfos(ids: readonly string[], options?: CallOptions): Promise<Found> {
    return this.getNodes(ids, true, scopeOf(options));
  }

  private async getNodes(ids: readonly string[], omitMessages: boolean, scope: Scope): Promise<Found> {
    const all: Found = { nodes: [], missing: [] };
    let left = [...ids];
    while (left.length > 0) {
      const asked = left.slice(0, MAX_IDS);
      const request = { namespace: this.namespace, nodeIds: asked, omitMessages };
      const reply = await this.caller.read(scope, (o) => this.rpc.getNodes(request, o));
      const told = reply.nodes.length + reply.missingIds.length;
      const inOrder = [...asked.slice(0, told)].filter((id) => !reply.missingIds.includes(id));
      const fits = reply.nodes.every((n, i) => n.info?.nodeId === inOrder[i]) && inOrder.length === reply.nodes.length;
      if (told === 0 || told + reply.remaining !== asked.length || !fits) {
        throw fault("BAD_REPLY", "the nodes are not those asked for");
      }
      if (this.verifies) {
        for (const [i, node] of reply.nodes.entries()) {
          verifyNode(create(GetNodeRequestSchema, { node: nodeRef(byId(inOrder[i] ?? "")), omitMessages }), node);
        }
      }
      all.nodes.push(...reply.nodes);
      all.missing.push(...reply.missingIds);
      left = left.slice(told);
    }
    return all;
  }

  /**
   * Lists the nodes whose parent a node is, in the order in which they were first put, asking for page after page as it goes. Errors:
   * NODE_NOT_FOUND, ALIAS_NOT_FOUND.
   */
  async *children(node: Ref, options?: CallOptions): AsyncGenerator<ChildNode, void, undefined> {
    const scope = scopeOf(options);
    yield* this.pages(async (pageToken) => {
      const request = { namespace: this.namespace, node: nodeRef(node), pageSize: PAGE_SIZE, pageToken };
      const reply = await this.caller.read(scope, (o) => this.rpc.listChildren(request, o));
      return { entries: reply.children, next: reply.nextPageToken };
    });
  }
}
