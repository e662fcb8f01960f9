/**
 * The SDK of transcriptd without what needs Node: Client takes any transport of @connectrpc/connect.
 *
 * @packageDocumentation
 */
export * from "./gen/transcript/v1/admin_service_pb.js";
export * from "./gen/transcript/v1/erasure_pb.js";
export * from "./gen/transcript/v1/error_reason_pb.js";
export * from "./gen/transcript/v1/message_pb.js";
export * from "./gen/transcript/v1/node_pb.js";
export * from "./gen/transcript/v1/transcript_service_pb.js";

export type { Assembly, PolicyInit, Query } from "./assembly.js";
export { message, type CallByHand, type MessageByHand } from "./byhand.js";
export type { CallOptions } from "./call.js";
export type { Backup, Check, Collection, Entry, Erasure } from "./client/admin.js";
export type { AliasDeletion, AliasRun, AliasScope } from "./client/aliases.js";
export type { ClientOptions } from "./client/base.js";
export { Client, type EndedRun, type Turn } from "./client/client.js";
export type { Found } from "./client/nodes.js";
export type { DescribeInit, Recall, SearchInit } from "./client/reads.js";
export type { Compaction } from "./compaction.js";
export { ConversionError } from "./convert/report.js";
export {
  isReason,
  mayHaveHappened,
  TranscriptError,
  typed,
  type Conflict,
  type OwnReason,
  type Quota,
  type Reason,
  type ServiceReason,
  type StatusCode,
  type Violation,
} from "./errors.js";
export {
  encodeEnvelope,
  encodeMetadata,
  encodePayload,
  envelopeId,
  metadataDigest,
  nodeId,
  payloadDigest,
  type NodeContent as HashedContent,
} from "./identity.js";
export {
  assistant,
  call,
  calls,
  isOpaque,
  opaque,
  openCalls,
  result,
  system,
  text,
  unknownResult,
  user,
} from "./messages.js";
export { chatAlias, MAX_ALIAS_BYTES, messageAlias } from "./names.js";
export * as policies from "./policies.js";
export { byAlias, byId, Condition, headAt, headIs, mustExist, mustNotExist, Ref, revisionIs } from "./refs.js";
export type { Retry } from "./retry.js";
export { OUTCOME_KEY, type Outcome } from "./runs.js";
export { STUB_TEXT, UNKNOWN_RESULT_TEXT } from "./texts.js";
export type { Trigger } from "./thread/compacting.js";
export { INHERITS_KEY, Thread, type Inherited, type Spawn } from "./thread/thread.js";
export type { Tool, ToolOptions } from "./thread/tools.js";
export { FieldError, LIMITS, validateMessages, type Refusal } from "./validate.js";
export { declaredVariable, variableInfoKey, variableKey, type DeclaredVariable } from "./variables.js";
export { VERSION } from "./version.js";
export type { AliasMove, AliasUpdate, NodeInit, NoteInit, PutResult, SpawnedFromInit } from "./writes.js";
