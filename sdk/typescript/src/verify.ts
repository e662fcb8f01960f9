// What a server sends is held to the ids that it has.

import { create } from "@bufbuild/protobuf";
import { bytesToHex } from "@noble/hashes/utils.js";

import { fault, type TranscriptError } from "./errors.js";
import {
  MessageSchema,
  Origin,
  PartSchema,
  Role,
  ToolCallSchema,
  type Message,
} from "./gen/transcript/v1/message_pb.js";
import { NodeEnvelopeSchema } from "./gen/transcript/v1/node_pb.js";
import {
  NodeContent,
  View,
  type GetNodeRequest,
  type GetNodeResponse,
  type NewNode,
  type NodeInfo,
  type PutNodeResponse,
} from "./gen/transcript/v1/transcript_service_pb.js";
import { encodeMetadata, encodePayload, envelopeId, idBytes, metadataDigest, payloadDigest } from "./identity.js";
import { calls, isOpaque, textPart } from "./messages.js";
import { ERASED_TEXT, STUB_TEXT } from "./texts.js";
import { identify } from "./writes.js";

/** The type of an opaque marker. */
const ERASED_TYPE = "erased";

/** The messages of a node, each in canonical encoding. */
function encodedEach(messages: readonly Message[]): string[] {
  return messages.map((m) => bytesToHex(encodePayload([m])));
}

/** A node that came repaired: what is shown of it, stubs aside, in place of the messages that its id is a hash of. */
export class Doubt {
  readonly shown: Message[] = [];
  /** Whether the preamble ends in the node: a compaction stands for the rest of it. */
  preamble = false;

  constructor(
    readonly parent: string,
    readonly id: string,
  ) {}

  /** Verifies that what is shown of a node is what was put in it, but for results and opaque messages, which may be left out. */
  settle(put: readonly Message[]): void {
    const shown = encodedEach(this.shown);
    let next = 0;
    for (const [i, one] of encodedEach(put).entries()) {
      const message = put[i];
      if (one === shown[next]) {
        next++;
      } else if (message !== undefined && message.role !== Role.TOOL && !isOpaque(message)) {
        if (this.preamble && next === shown.length && !opens(message)) {
          return;
        }
        throw mismatch(this.id, "it leaves out what is neither a result nor opaque");
      }
    }
    if (next < shown.length) {
      throw mismatch(this.id, "it shows what was not put");
    }
  }
}

/** What a reply is to be held to. */
export interface Expected {
  readonly head: string;
  readonly view: View;
  /** The base that the reply adds to; "" for none. */
  readonly base: string;
  /** Whether the caller holds the content: nothing came to verify. */
  readonly notModified: boolean;
  /** Whether the reply is the end of a view, or of what it has before a message. */
  readonly part: boolean;
  /** Whether it is that of what the view has before a message, so that it does not lead to the head. */
  readonly inner: boolean;
}

/**
 * Follows the nodes of a reply from its base, or from a root, to the head, and recomputes the id of each from the messages received. The
 * effective view of a compacted chain has two runs of nodes that are not next to each other:
 *
 *     root .. P   C   after T .. parent of C   after C .. head        C covers through T; P ends the preamble
 *
 * C's id and the last two runs are bound to the head by parents; P is not bound to T.
 */
export class Verifier {
  /** Whether a node came in part that is not the first: it is the last. */
  private over = false;
  /** The node that came last; and the parent that the one behind it has to have, "" for a root. */
  private came = "";
  private next: string;
  /** Whether a message came that is no preamble. Not kept up once compaction is known. */
  private spoken = false;
  /** C; and whether a node behind it came. */
  private compaction: NodeInfo | undefined;
  private joined = false;
  /** The nodes that were repaired and not settled yet, in order. The last may go on in the next frame. */
  private doubts: Doubt[] = [];

  constructor(private readonly expected: Expected) {
    this.next = expected.base;
  }

  /** Verifies the nodes of a frame, which share out its messages. */
  frame(nodes: readonly NodeInfo[], messages: readonly Message[]): void {
    let at = 0;
    for (const info of nodes) {
      const own = messages.slice(at, at + info.messageCount);
      if (own.length !== info.messageCount) {
        throw fault("BAD_REPLY", "fewer messages than its nodes say");
      }
      at += info.messageCount;
      this.node(info, own);
    }
    if (at < messages.length) {
      throw fault("VERIFICATION", "messages of no node");
    }
  }

  /** Takes the doubts that no further part can belong to; all of them at the end. */
  settled(end: boolean): Doubt[] {
    const keep = !end && this.doubted() ? 1 : 0;
    return this.doubts.splice(0, this.doubts.length - keep);
  }

  /** Judges whether the nodes led to the head. */
  end(): void {
    const { head, view, notModified, part, inner } = this.expected;
    const toHead = fault("VERIFICATION", "the nodes do not lead to the head");
    if (part) {
      if (view === View.FULL && !notModified && !inner && this.came !== "" && this.came !== head) {
        throw toHead;
      }
      return;
    }
    let last = this.next;
    const c = this.compaction;
    if (c !== undefined && !this.joined) {
      last = this.next === c.envelope?.parentId ? c.nodeId : "";
    }
    if (!notModified && view !== View.CONVERSATION && last !== head) {
      throw toHead;
    }
  }

  /** Verifies the next node, or a further part of a node whose repair made it too large for a frame. */
  private node(info: NodeInfo, messages: readonly Message[]): void {
    const { view, part } = this.expected;
    verifyInfo(info, messages);
    if (view !== View.CONVERSATION) {
      verifyMarkers(info, messages);
    }
    if (part && view === View.FULL) {
      this.follow(info);
      return;
    }
    if (part || view === View.CONVERSATION) {
      return; // its nodes are not next to each other, and what was cut is the server's
    }
    const further = !isVerbatim(info) && this.doubted() && info.nodeId === this.came;
    if (!further) {
      this.link(info);
    }
    this.listen(messages);
    const hidden = covers(info) !== "" && info.messageCount === 0;
    if (isVerbatim(info) || isErased(info) || hidden) {
      return;
    }
    if (view === View.FULL) {
      throw mismatch(info.nodeId, "a full view has its messages not as they were put");
    }
    this.doubt(info, messages, further);
  }

  /**
   * Verifies that a node of a part of the full view follows the one before; what comes before the first is not known. The first may come in
   * part, and where the part does not lead to the head the last too.
   */
  private follow(info: NodeInfo): void {
    const compaction = covers(info) !== "";
    if (this.came !== "" && parent(info) !== this.came) {
      throw mismatch(info.nodeId, "the parent is not the node before");
    }
    if (this.over) {
      throw mismatch(info.nodeId, "it comes behind a node that came in part");
    }
    if (compaction && info.messageCount !== 0) {
      throw mismatch(info.nodeId, "a full view shows a compaction");
    }
    if (!compaction && !isVerbatim(info) && !isErased(info) && this.came !== "") {
      this.over = this.expected.inner;
      if (!this.over) {
        throw mismatch(info.nodeId, "it came in part");
      }
    }
    this.came = info.nodeId;
  }

  /** Verifies that the node follows the one before, and that a compaction node is where one may be. */
  private link(info: NodeInfo): void {
    const { view, base } = this.expected;
    const c = this.compaction;
    const compaction = covers(info) !== "";
    const joins = c !== undefined && !this.joined && this.next === c.envelope?.parentId && parent(info) === c.nodeId;
    const whole = view !== View.FULL && compaction;
    if (whole && (base !== "" || this.joined || joins)) {
      throw mismatch(info.nodeId, "the view does not begin with this compaction");
    }
    if (whole && c === undefined) {
      this.compacted(info);
      return;
    }
    if (compaction && info.messageCount !== 0) {
      throw mismatch(info.nodeId, "the view shows more than one compaction, or is full and shows one");
    }
    if (joins) {
      this.joined = true;
    } else if (parent(info) !== this.next) {
      throw mismatch(info.nodeId, "the parent is not the node before");
    }
    this.came = this.next = info.nodeId;
  }

  /** Goes on behind what the node covers. */
  private compacted(info: NodeInfo): void {
    if (!isVerbatim(info) && !isErased(info)) {
      throw mismatch(info.nodeId, "a compaction has its messages not as they were put");
    }
    if (this.spoken) {
      throw mismatch(info.nodeId, "what it covers is shown beside it");
    }
    const last = this.doubts.at(-1);
    if (last !== undefined && this.doubted()) {
      last.preamble = true;
    }
    this.compaction = info;
    this.came = info.nodeId;
    this.next = covers(info);
  }

  /** Notes whether messages other than the preamble's came. */
  private listen(messages: readonly Message[]): void {
    const { view, base } = this.expected;
    if (base === "" && this.compaction === undefined && view !== View.FULL) {
      this.spoken ||= messages.some((m) => !opens(m));
    }
  }

  /** Whether the node that came last was repaired. */
  private doubted(): boolean {
    return this.doubts.at(-1)?.id === this.came;
  }

  /** Notes a node that came repaired, or a further part of one. */
  private doubt(info: NodeInfo, messages: readonly Message[], further: boolean): void {
    const own = withoutStubs(info.nodeId, messages);
    if (!further) {
      this.doubts.push(new Doubt(parent(info), info.nodeId));
    }
    this.doubts.at(-1)?.shown.push(...own);
  }
}

/** Whether a message can be part of a preamble. */
function opens(message: Message): boolean {
  return message.role === Role.SYSTEM || message.role === Role.DEVELOPER;
}

function parent(info: NodeInfo): string {
  return info.envelope?.parentId ?? "";
}

function covers(info: NodeInfo): string {
  return info.envelope?.coversThroughId ?? "";
}

/**
 * Whether a reply has a node's messages as they are hashed. Of any other content, also one that a later version may tell, the envelope has the
 * digest.
 */
function isVerbatim(info: NodeInfo): boolean {
  return info.content === NodeContent.VERBATIM;
}

/** Whether a node was erased. */
function isErased(info: NodeInfo): boolean {
  return info.content === NodeContent.ERASED;
}

/** The messages less the stubs that the server added, each of which has to be just that: a result that says that there is none. */
function withoutStubs(id: string, messages: readonly Message[]): Message[] {
  return messages.filter((m) => {
    if (m.origin !== Origin.STUB) {
      return true;
    }
    const stub = create(MessageSchema, { role: Role.TOOL, parts: [textPart(STUB_TEXT)], origin: Origin.STUB });
    if (m.toolCallId !== undefined) {
      stub.toolCallId = m.toolCallId;
    }
    if (m.name !== undefined) {
      stub.name = m.name;
    }
    if (encodedEach([m])[0] !== encodedEach([stub])[0]) {
      throw mismatch(id, "a stub says more than it may");
    }
    return false;
  });
}

/** What stands where a message was erased, made of what stands there: a message that is a marker equals it, and no other does. */
export function marker(message: Message): Message {
  const { role, state, origin } = message;
  if (origin === Origin.STUB || origin === Origin.LEFT_OUT) {
    return message;
  }
  const made = create(MessageSchema, { role, state, origin });
  if (isOpaque(message)) {
    made.parts.push(create(PartSchema, { kind: { case: "opaque", value: { type: ERASED_TYPE } } }));
    return made;
  }
  if (role === Role.TOOL) {
    const { toolCallId, name, isError } = message;
    Object.assign(made, {
      isError,
      ...(toolCallId !== undefined && { toolCallId }),
      ...(name !== undefined && { name }),
    });
  }
  if (message.parts.length > 0) {
    made.parts.push(textPart(ERASED_TEXT));
  }
  for (const { id, name } of calls(message)) {
    const value = create(ToolCallSchema, {
      ...(id !== undefined && { id }),
      ...(name !== undefined && { name }),
      arguments: "{}",
    });
    made.parts.push(create(PartSchema, { kind: { case: "toolCall", value } }));
  }
  return made;
}

/**
 * Verifies that a node that was erased shows markers alone, stubs of the view aside. Of a compaction node nobody can tell which messages were.
 */
function verifyMarkers(info: NodeInfo, messages: readonly Message[]): void {
  if (!isErased(info) || covers(info) !== "") {
    return;
  }
  const own = withoutStubs(info.nodeId, messages);
  const markers = encodedEach(own.map(marker));
  if (encodedEach(own).some((one, i) => one !== markers[i])) {
    throw mismatch(info.nodeId, "it is erased, and shows more than a marker");
  }
}

/** Recomputes a node's id: of a verbatim node from its messages, else from the digest that the envelope gives. */
function verifyInfo(info: NodeInfo, messages: readonly Message[]): void {
  const given = info.envelope;
  if (given === undefined) {
    throw mismatch(info.nodeId, "no envelope came");
  }
  if (!isVerbatim(info) && given.payloadDigest === "") {
    throw mismatch(info.nodeId, "no digest of its messages came");
  }
  const absent = new Uint8Array(0);
  const bytes = (id: string): Uint8Array => (id === "" ? absent : idBytes(id));
  const id = hashed(info.nodeId, () => {
    const from = given.spawnedFrom;
    return envelopeId(
      create(NodeEnvelopeSchema, {
        payloadDigest: isVerbatim(info)
          ? payloadDigest(given.salt, encodePayload(messages))
          : bytes(given.payloadDigest),
        parent: bytes(given.parentId),
        metadataDigest: bytes(given.metadataDigest),
        coversThrough: bytes(given.coversThroughId),
        ...(from !== undefined && {
          spawnedFrom: {
            node: idBytes(from.nodeId),
            ...(from.toolCallId !== undefined && { toolCallId: from.toolCallId }),
          },
        }),
      }),
    );
  });
  if (id !== info.nodeId) {
    throw mismatch(info.nodeId, "it hashes to another id");
  }
}

/** What a node's envelope hashes to; VERIFICATION where an id or a salt in it is none. */
function hashed(id: string, hash: () => string): string {
  try {
    return hash();
  } catch (error) {
    if (error instanceof RangeError) {
      throw mismatch(id, "its envelope is malformed");
    }
    throw error;
  }
}

/**
 * Verifies a reply of GetNode: that it is the node asked for, and that envelope, metadata and, unless they were left out, messages hash to its
 * id. Of a node that was erased the digests tell that.
 */
export function verifyNode(request: GetNodeRequest, reply: GetNodeResponse): void {
  const info = reply.info;
  if (info?.envelope === undefined) {
    throw mismatch(info?.nodeId ?? "", "no envelope came");
  }
  const asked = request.node?.ref;
  if (asked?.case === "nodeId" && !info.nodeId.startsWith(asked.value)) {
    throw mismatch(info.nodeId, "it is not the one asked for");
  }
  const { salt } = info.envelope;
  const entries = reply.metadata?.entries ?? [];
  const byDigest: NodeInfo = { ...info, content: NodeContent.MADE };
  if (isErased(info)) {
    if (entries.length > 0) {
      throw mismatch(info.nodeId, "it is erased, and has metadata");
    }
    verifyMarkers(info, reply.messages);
    verifyInfo(byDigest, []);
    return;
  }
  const metadata = hashed(info.nodeId, () =>
    entries.length === 0 ? "" : bytesToHex(metadataDigest(salt, encodeMetadata(entries))),
  );
  if (metadata !== info.envelope.metadataDigest) {
    throw mismatch(info.nodeId, "its metadata has another digest");
  }
  const payload = hashed(info.nodeId, () => bytesToHex(payloadDigest(salt, encodePayload(reply.messages))));
  if (!request.omitMessages && payload !== info.envelope.payloadDigest) {
    throw mismatch(info.nodeId, "its messages have another digest");
  }
  verifyInfo(byDigest, []);
}

/** Recomputes the ids of nodes that were put. Below a parent named by an alias it cannot know them. */
export function verifyPut(nodes: readonly NewNode[], results: readonly PutNodeResponse[]): void {
  for (const [i, node] of nodes.entries()) {
    const nodeId = results[i]?.nodeId ?? "";
    const byId = node.parent?.ref.case === "nodeId" ? node.parent.ref.value : "";
    const id = identify(node, node.previous && i > 0 ? (results[i - 1]?.nodeId ?? "") : byId);
    if (id === undefined) {
      throw mismatch(nodeId, "its envelope is malformed");
    }
    if (node.parent?.ref.case !== "alias" && id !== nodeId) {
      throw mismatch(nodeId, "what was put hashes to another id");
    }
  }
}

/** A VERIFICATION about a node. */
export function mismatch(id: string, what: string): TranscriptError {
  return fault("VERIFICATION", `node ${JSON.stringify(id.slice(0, 64))}: ${what}`);
}
