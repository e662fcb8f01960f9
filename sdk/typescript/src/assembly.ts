// What is assembled of a chain, and how its frames are judged.

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { fault } from "./errors.js";
import type { Message } from "./gen/transcript/v1/message_pb.js";
import {
  MessagePlaceSchema,
  NodeDetail,
  NodeFactsSchema,
  PolicySchema,
  StreamAssembleRequestSchema,
  View,
  type ChainCounters,
  type MessagePlace,
  type NodeInfo,
  type Report,
  type StreamAssembleRequest,
  type StreamAssembleResponse,
} from "./gen/transcript/v1/transcript_service_pb.js";
import { nodeRef, type Ref } from "./refs.js";
import { Verifier, type Doubt } from "./verify.js";

/** What bounds a conversation view; absent fields have the server's defaults. */
export type PolicyInit = MessageInitShape<typeof PolicySchema>;

/** What to assemble of a chain. Without any of it, the whole effective view. */
export interface Query {
  /** What to make of the chain: View.EFFECTIVE without. */
  readonly view?: View | undefined;
  /** Bounds a conversation view. */
  readonly policy?: PolicyInit | undefined;
  /** Shows a closed last run loop condensed too; only with View.CONVERSATION. */
  readonly condenseLast?: boolean | undefined;
  /** Asks for what the view adds to that of this ancestor, by id (the head itself is allowed): see Assembly.baseId. Not with View.CONVERSATION. */
  readonly after?: string | undefined;
  /** The Assembly.erasures that the view of after came with: where nodes of the namespace were erased since, the whole view comes. */
  readonly afterErasures?: bigint | undefined;
  /**
   * With lastBytes, asks for the end of the view: at most so many messages and bytes, but at least one message, and no group of tool calls is
   * parted; see Assembly.begin and Client.back. At most 10,000 messages. Not with View.CONVERSATION, nor with after.
   */
  readonly lastMessages?: number | undefined;
  readonly lastBytes?: number | undefined;
  /** With lastMessages or lastBytes: the end of what comes before a message of the view. */
  readonly before?: MessageInitShape<typeof MessagePlaceSchema> | undefined;
  /** The etag of an Assembly that the caller holds: see Assembly.notModified. */
  readonly ifNoneMatch?: string | undefined;
  /** What to tell of the nodes. */
  readonly detail?: NodeDetail | undefined;
  /** When each node was first put, and its metadata of some keys; then detail is NodeDetail.IDS without. */
  readonly facts?: MessageInitShape<typeof NodeFactsSchema> | undefined;
  /**
   * Recomputes each node's id from the messages received and follows the parents to the head, from the root or from the base; a mismatch is
   * VERIFICATION. Without, as the Client's option says. What that proves, given the head's id (or the base's content and the head's id):
   *
   * - View.FULL: these are the messages that were put in the head and its ancestors (behind the base), in order, all of them.
   * - View.EFFECTIVE: so are these, but for results that are left out and stubs, which are held to their exact text. Nodes that came repaired
   *   are read once more as they were put. Which results are left out, and which calls have a stub, is the server's word.
   * - View.EFFECTIVE behind a compaction: its node is the nearest compaction on the path to the head and has these messages; the nodes behind
   *   the last one that it covers are as above, none missing. What comes before it are system and developer messages of whole nodes, the last
   *   up to its first other message. That they are the beginning of this chain and all of it, and that the compaction's messages say what was
   *   said, is the server's word: a full view proves what was.
   * - The end of View.FULL: the nodes follow each other, without before to the head, and those verbatim have these messages.
   * - View.CONVERSATION, and the end of View.EFFECTIVE: each node named has that id, and those verbatim have these messages. Nothing binds
   *   them to the head, and nothing proves what was cut or not shown.
   *
   * Nothing proves where an alias points, nor counters, reports, notes and facts.
   */
  readonly verify?: boolean | undefined;
}

/** The messages of a chain, or of the part of it that was asked for. The caller owns them. */
export interface Assembly {
  /** The node that the chain ends in. */
  readonly headId: string;
  /**
   * Query.after where that was honoured: the messages are to be appended to what the caller holds. "": they are the whole view and replace it,
   * or the part of it that was asked for.
   */
  readonly baseId: string;
  /** The messages. */
  readonly messages: Message[];
  /** Where the messages begin, where the end of a view was asked for; undefined without messages. */
  readonly begin: MessagePlace | undefined;
  /** Whether the view has messages before that. */
  readonly moreBefore: boolean;
  /** Names the content, for Query.ifNoneMatch. */
  readonly etag: string;
  /** Whether what the caller holds by that etag is still right: there are no messages. */
  readonly notModified: boolean;
  /** A number that each erasure in the namespace changes, for Query.afterErasures. */
  readonly erasures: bigint;
  /** The chain's totals. */
  readonly counters: ChainCounters | undefined;
  /** What was found; undefined where not modified, and on all frames but the last. */
  readonly report: Report | undefined;
  /** The nodes of the messages, where asked for. */
  readonly nodes: NodeInfo[];
}

/** The request for a query. */
export function assembleRequest(namespace: string, head: Ref, query: Query, verify: boolean): StreamAssembleRequest {
  const facts = query.facts !== undefined && (query.detail ?? 0) === NodeDetail.UNSPECIFIED;
  const detail = facts ? NodeDetail.IDS : (query.detail ?? NodeDetail.UNSPECIFIED);
  return create(StreamAssembleRequestSchema, {
    namespace,
    head: nodeRef(head),
    view: query.view ?? View.UNSPECIFIED,
    ...(query.policy !== undefined && { policy: query.policy }),
    condenseLast: query.condenseLast ?? false,
    afterId: query.after ?? "",
    afterErasures: query.afterErasures ?? 0n,
    lastMessages: query.lastMessages ?? 0,
    lastBytes: query.lastBytes ?? 0,
    ...(query.before !== undefined && { before: query.before }),
    ifNoneMatch: query.ifNoneMatch ?? "",
    nodeDetail: verify ? NodeDetail.ENVELOPES : detail,
    ...(query.facts !== undefined && { nodeFacts: query.facts }),
  });
}

/** Judges the frames of one StreamAssemble. */
export class Frames {
  private verifier: Verifier | undefined;
  /** As the first frame tells. */
  erasures = 0n;
  private begun = false;
  private ended = false; // the report came, or there is none to come

  constructor(
    private readonly request: StreamAssembleRequest,
    private readonly verify: boolean,
  ) {}

  /** Reads and judges a frame: BAD_REPLY, VERIFICATION. The doubts are to be settled. */
  next(frame: StreamAssembleResponse): { frame: Assembly; doubts: Doubt[] } {
    if (!this.begun) {
      this.begin(frame);
    }
    this.ended ||= frame.report !== undefined || frame.notModified;
    if (!frame.notModified) {
      this.verifier?.frame(frame.nodes, frame.messages);
    }
    const { headId, baseId, messages, begin, hasMoreBefore, etag, notModified, erasures, counters, report, nodes } =
      frame;
    return {
      frame: {
        headId,
        baseId,
        messages,
        begin,
        moreBefore: hasMoreBefore,
        etag,
        notModified,
        erasures,
        counters,
        report,
        nodes,
      },
      doubts: this.verifier?.settled(false) ?? [],
    };
  }

  /** Judges a stream that has ended; the doubts that are left are to be settled, and then close called. */
  end(): Doubt[] {
    if (!this.ended) {
      throw fault("BAD_REPLY", "the stream ended early");
    }
    return this.verifier?.settled(true) ?? [];
  }

  /** Judges whether the nodes led to the head. */
  close(): void {
    this.verifier?.end();
  }

  /** Judges what the first frame says of the whole. */
  private begin(frame: StreamAssembleResponse): void {
    const { request } = this;
    this.begun = true;
    this.erasures = frame.erasures;
    if (frame.headId === "") {
      throw fault("BAD_REPLY", "no head");
    }
    if (frame.baseId !== "" && frame.baseId !== request.afterId) {
      throw fault("BAD_REPLY", "the base is not what was asked for");
    }
    if (frame.notModified && request.ifNoneMatch === "") {
      throw fault("BAD_REPLY", "not modified, but nothing was held");
    }
    if (frame.hasMoreBefore && frame.begin === undefined) {
      throw fault("BAD_REPLY", "there is more before nothing");
    }
    if (!this.verify) {
      return;
    }
    const asked = request.head?.ref;
    if (asked?.case === "nodeId" && asked.value !== frame.headId) {
      throw fault("VERIFICATION", "the head is not the one asked for");
    }
    this.verifier = new Verifier({
      head: frame.headId,
      view: request.view,
      base: frame.baseId,
      notModified: frame.notModified,
      part: request.lastMessages > 0 || request.lastBytes > 0,
      inner: request.before !== undefined,
    });
  }
}

/** The whole of frames. */
export function joined(frames: readonly Assembly[]): Assembly {
  const [first] = frames;
  if (first === undefined) {
    throw fault("BAD_REPLY", "the stream ended early");
  }
  return {
    ...first,
    messages: frames.flatMap((f) => f.messages),
    nodes: frames.flatMap((f) => f.nodes),
    report: frames.findLast((f) => f.report !== undefined)?.report,
  };
}
