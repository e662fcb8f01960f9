// What a node's id is computed from: the canonical encoding and its digests (docs/design.md, "Identity").

import {
  create,
  isFieldSet,
  ScalarType,
  type DescField,
  type DescMessage,
  type MessageShape,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { bytesToHex, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";

import type { Message } from "./gen/transcript/v1/message_pb.js";
import {
  MetadataSchema,
  NodeEnvelopeSchema,
  PayloadSchema,
  type MetadataEntry,
  type NodeEnvelope,
} from "./gen/transcript/v1/node_pb.js";
import { sha256 } from "./sha256.js";

/** What a node's id is the hash of. Ids are 64 lower-case hex digits. */
export interface NodeContent {
  /** The messages, in order. */
  readonly messages: readonly Message[];
  /** The metadata, in any order. */
  readonly metadata?: readonly MetadataEntry[] | undefined;
  /** 0 or 16 to 32 bytes. */
  readonly salt?: Uint8Array | undefined;
  /** The parent's id; absent or "" for a root. */
  readonly parentId?: string | undefined;
  /** What started the chain that the node begins. */
  readonly spawnedFrom?: { readonly nodeId: string; readonly toolCallId?: string | undefined } | undefined;
}

const NO_BYTES = new Uint8Array(0);

/**
 * The id of a node: 64 lower-case hex digits. It does not judge the content, which validate does. RangeError where an id has another
 * form.
 */
export function nodeId(content: NodeContent): string {
  const { messages, metadata = [], salt = NO_BYTES, parentId = "", spawnedFrom } = content;
  return envelopeId(
    create(NodeEnvelopeSchema, {
      payloadDigest: payloadDigest(salt, encodePayload(messages)),
      parent: parentId === "" ? NO_BYTES : idBytes(parentId),
      metadataDigest: metadata.length > 0 ? metadataDigest(salt, encodeMetadata(metadata)) : NO_BYTES,
      ...(spawnedFrom && {
        spawnedFrom: {
          node: idBytes(spawnedFrom.nodeId),
          ...(spawnedFrom.toolCallId !== undefined && { toolCallId: spawnedFrom.toolCallId }),
        },
      }),
    }),
  );
}

/** The id of the node with that envelope: 64 lower-case hex digits. */
export function envelopeId(envelope: NodeEnvelope): string {
  return bytesToHex(sha256(utf8ToBytes("transcript.node.v1\0"), encode(NodeEnvelopeSchema, envelope)));
}

/** The digest of an encoded payload under a salt of 0 or 16 to 32 bytes: 32 bytes. RangeError for another salt. */
export function payloadDigest(salt: Uint8Array, payload: Uint8Array): Uint8Array {
  return salted("transcript.payload.v1\0", salt, payload);
}

/** The digest of encoded metadata under a salt of 0 or 16 to 32 bytes: 32 bytes. RangeError for another salt. */
export function metadataDigest(salt: Uint8Array, metadata: Uint8Array): Uint8Array {
  return salted("transcript.metadata.v1\0", salt, metadata);
}

function salted(domain: string, salt: Uint8Array, content: Uint8Array): Uint8Array {
  if (salt.length !== 0 && (salt.length < 16 || salt.length > 32)) {
    throw new RangeError("a salt must have 16 to 32 bytes, or none");
  }
  return sha256(utf8ToBytes(domain), Uint8Array.of(salt.length), salt, content);
}

/** The 32 bytes of an id. RangeError where it is not 64 lower-case hex digits. */
export function idBytes(id: string): Uint8Array {
  if (!/^[0-9a-f]{64}$/.test(id)) {
    throw new RangeError("an id must be 64 lower-case hex digits");
  }
  return hexToBytes(id);
}

/**
 * The canonical encoding of messages: the entries of a payload, end to end. Fields of a later version, which the runtime keeps as unknown,
 * stand where their numbers put them, so that what a newer server stored hashes to its id.
 */
export function encodePayload(messages: readonly Message[]): Uint8Array {
  return encode(PayloadSchema, create(PayloadSchema, { messages: [...messages] }));
}

/** The canonical encoding of metadata: entries in the order of their keys' UTF-8 bytes, in whatever order they are given. */
export function encodeMetadata(entries: readonly MetadataEntry[]): Uint8Array {
  const keyed = entries.map((entry) => ({ entry, key: utf8ToBytes(entry.key) }));
  keyed.sort((a, b) => compareBytes(a.key, b.key));
  return encode(MetadataSchema, create(MetadataSchema, { entries: keyed.map((k) => k.entry) }));
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const differs = a.findIndex((byte, i) => byte !== b[i]);
  return differs < 0 ? a.length - b.length : (a[differs] ?? 0) - (b[differs] ?? -1);
}

/** The canonical encoding of an envelope, which is the one hashed to a node's id. */
export function encodeEnvelope(envelope: NodeEnvelope): Uint8Array {
  return encode(NodeEnvelopeSchema, envelope);
}

function encode<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): Uint8Array {
  const writer = new BinaryWriter();
  append(writer, schema, message);
  return writer.finish();
}

/** The fields of a message in ascending number, by its descriptor. */
const ordered = new Map<DescMessage, readonly DescField[]>();

function fieldsOf(schema: DescMessage): readonly DescField[] {
  let fields = ordered.get(schema);
  if (fields === undefined) {
    fields = [...schema.fields].sort((a, b) => a.number - b.number);
    ordered.set(schema, fields);
  }
  return fields;
}

/**
 * Appends the fields in ascending number: those without presence left out at their default, those with presence written where they are
 * set, unknown ones among them.
 */
function append<Desc extends DescMessage>(writer: BinaryWriter, schema: Desc, message: MessageShape<Desc>): void {
  const unknown = [...(message.$unknown ?? [])].sort((a, b) => a.no - b.no);
  const unknownBelow = (number: number): void => {
    for (let next = unknown[0]; next !== undefined && next.no < number; next = unknown[0]) {
      writer.tag(next.no, next.wireType).raw(next.data);
      unknown.shift();
    }
  };
  for (const field of fieldsOf(schema)) {
    unknownBelow(field.number);
    if (isFieldSet(message, field)) {
      appendField(writer, field, valueOf(message, field));
    }
  }
  unknownBelow(Number.POSITIVE_INFINITY);
}

function valueOf(message: MessageShape<DescMessage>, field: DescField): unknown {
  const values = message as unknown as Record<string, unknown>;
  return field.oneof === undefined
    ? values[field.localName]
    : (values[field.oneof.localName] as { value: unknown }).value;
}

function appendField(writer: BinaryWriter, field: DescField, value: unknown): void {
  switch (field.fieldKind) {
    case "enum":
      writer.tag(field.number, WireType.Varint).int32(value as number);
      return;
    case "message":
      writer.tag(field.number, WireType.LengthDelimited).fork();
      append(writer, field.message, value as MessageShape<DescMessage>);
      writer.join();
      return;
    case "list":
      if (field.listKind === "message") {
        for (const item of value as MessageShape<DescMessage>[]) {
          writer.tag(field.number, WireType.LengthDelimited).fork();
          append(writer, field.message, item);
          writer.join();
        }
        return;
      }
      break;
    case "scalar":
      switch (field.scalar) {
        case ScalarType.STRING:
          writer.tag(field.number, WireType.LengthDelimited).string(value as string);
          return;
        case ScalarType.BYTES:
          writer.tag(field.number, WireType.LengthDelimited).bytes(value as Uint8Array);
          return;
        case ScalarType.BOOL:
          writer.tag(field.number, WireType.Varint).bool(value as boolean);
          return;
        default:
      }
      break;
    default:
  }
  throw new Error(`the canonical encoding has no field of the kind of ${field.toString()}`);
}
