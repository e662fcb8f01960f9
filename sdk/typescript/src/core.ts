/**
 * The SDK of transcriptd without what needs Node: messages, ids and their names.
 *
 * @packageDocumentation
 */
export * from "./gen/transcript/v1/message_pb.js";
export {
  encodeEnvelope,
  encodeMetadata,
  encodePayload,
  envelopeId,
  metadataDigest,
  nodeId,
  payloadDigest,
  type NodeContent,
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
export { STUB_TEXT, UNKNOWN_RESULT_TEXT } from "./texts.js";
export { FieldError, LIMITS, validateMessages, type Refusal } from "./validate.js";
