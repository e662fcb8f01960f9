// Why a call failed.

import { Code, ConnectError } from "@connectrpc/connect";

import {
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
  QuotaFailureSchema,
  RequestInfoSchema,
  RetryInfoSchema,
} from "./gen/google/rpc/error_details_pb.js";
import { ErrorReason } from "./gen/transcript/v1/error_reason_pb.js";
import {
  AliasConflictsSchema,
  AmbiguousPrefixSchema,
  DeletedAliasSchema,
  type DeletedAlias,
} from "./gen/transcript/v1/transcript_service_pb.js";

/** The reasons of the service: docs/api.md tells what each means, and what to do. */
export type ServiceReason = Exclude<keyof typeof ErrorReason, "UNSPECIFIED">;

/** The reasons that this side finds. */
export type OwnReason = keyof typeof OWN;

/** Why a call failed. */
export type Reason = ServiceReason | OwnReason;

/** The names of gRPC's status codes. */
export type StatusCode =
  | "CANCELLED"
  | "UNKNOWN"
  | "INVALID_ARGUMENT"
  | "DEADLINE_EXCEEDED"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "OUT_OF_RANGE"
  | "UNIMPLEMENTED"
  | "INTERNAL"
  | "UNAVAILABLE"
  | "DATA_LOSS"
  | "UNAUTHENTICATED";

const OWN = {
  /** What the server sent does not hash to the ids that it should have, or does not lead to the head. */
  VERIFICATION: { code: "DATA_LOSS", text: "verification failed" },
  /** What the server sent is not what the contract says, for example a stream that ends early. */
  BAD_REPLY: { code: "INTERNAL", text: "malformed reply" },
  /** The client was closed before the call, or while it was under way, and then it may have taken place. */
  CLOSED: { code: "CANCELLED", text: "the client is closed" },
  /** connect would send transcripts in plain text to another machine. */
  INSECURE: {
    code: "INVALID_ARGUMENT",
    text: "the target is not on this machine: give ca, clientCertificate or tls (over fetch, an https URL), or insecure",
  },
  /** connect was given an address or options that cannot be used, or files. */
  BAD_TARGET: { code: "INVALID_ARGUMENT", text: "the target or an option of connect cannot be used" },
  /** A turn, reply or sent without the id, or a chat without the name, that its alias needs. */
  NO_NAME: { code: "INVALID_ARGUMENT", text: "a message id, an alias or a chat's name is needed" },
  /** appendResults was given a message that is no tool result. */
  NOT_A_RESULT: { code: "INVALID_ARGUMENT", text: "not a tool result: pass what result(call, text) makes" },
  /** A node for a thread that names a parent of its own. */
  PARENT_GIVEN: { code: "INVALID_ARGUMENT", text: "a thread's node has the thread's head as parent" },
  /** The server is older and lacks a feature that the call needs; the message names it. Nothing was done. */
  UNSUPPORTED: { code: "UNIMPLEMENTED", text: "the server lacks a feature" },
} as const satisfies Record<string, { code: StatusCode; text: string }>;

/** A field that was refused and the rule that it breaks; it never repeats the value. */
export interface Violation {
  readonly field: string;
  readonly rule: string;
}

/** A bound of a namespace. */
export interface Quota {
  /** The field of NamespaceSettings that has it, such as `max_nodes`. */
  readonly setting: string;
  readonly limit: bigint;
  /** It in words, such as "at most 100 nodes". */
  readonly rule: string;
}

/** A precondition that failed. */
export interface Conflict {
  /** The alias's place in the request, such as `aliases[0]`. */
  readonly field: string;
  /** The node that it points to; "" if it does not exist. */
  readonly nodeId: string;
  /** The alias's revision, or that of its deletion; 0 for a name that never was set, or is forgotten. */
  readonly revision: bigint;
  /** Whether only compaction nodes lie between the head that was expected and nodeId. */
  readonly onlyCompacted: boolean;
}

interface Details {
  unknownReason: string;
  requestId: string;
  violations: readonly Violation[];
  conflicts: readonly Conflict[];
  deleted: DeletedAlias | undefined;
  retryAfterMs: number;
  quotas: readonly Quota[];
  candidates: readonly string[];
  receipt: Uint8Array | undefined;
  heldAlias: string;
  holdPrefix: string | undefined;
}

/** A call that failed. Its message tells what the server says of it; never content. */
export class TranscriptError extends Error {
  override readonly name = "TranscriptError";
  /**
   * The reason's name where it is not known here, since the server is newer; "" otherwise. Then `code` tells what to do.
   */
  readonly unknownReason: string;
  /** How the server's log names the call; "" where the call did not reach it. */
  readonly requestId: string;
  /**
   * Whether the call was sent more than once, and an earlier attempt, of which no reply came, may have taken place although this one was
   * refused. mayHaveHappened looks at it.
   */
  retried = false;
  /** The fields of the request that were refused, or the one that names what is not there. */
  readonly violations: readonly Violation[];
  /** Of ALIAS_EXISTS, ALIAS_MOVED and ALIAS_NOT_FOUND: the preconditions that failed, in the order of the request, at most 32. */
  conflicts: readonly Conflict[];
  /** Of ALIAS_NOT_FOUND from resolve: what is known of the name's deletion. */
  readonly deleted: DeletedAlias | undefined;
  /** Of RATE_LIMITED: the milliseconds until a call is allowed; 0: nothing was said. */
  readonly retryAfterMs: number;
  /** Of QUOTA_EXCEEDED: those that the call would go over. */
  readonly quotas: readonly Quota[];
  /** Of AMBIGUOUS_PREFIX: node ids that fit, in order, at most 10. */
  readonly candidates: readonly string[];
  /** Of PAYLOAD_ERASED: the SignedReceipt of the node's erasure, serialised; undefined where it is larger than 1 KiB. */
  readonly receipt: Uint8Array | undefined;
  /** Of LEGAL_HOLD: the alias that is held, where one was to go; "" where the caller may not read it. */
  readonly heldAlias: string;
  /**
   * Of LEGAL_HOLD: the aliasPrefix of the rule that holds, of several the shortest; "" is that of every alias. undefined where the caller may
   * not read it.
   */
  readonly holdPrefix: string | undefined;
  /** @internal The attempt was not sent. */
  undone = false;

  /**
   * @param code - The status code.
   * @param reason - Undefined where none was given: the call did not reach the server, or its reply was lost; or where it is not known here.
   */
  constructor(
    readonly code: StatusCode,
    readonly reason: Reason | undefined,
    message: string,
    details: Partial<Details> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.unknownReason = details.unknownReason ?? "";
    this.requestId = details.requestId ?? "";
    this.violations = details.violations ?? [];
    this.conflicts = details.conflicts ?? [];
    this.deleted = details.deleted;
    this.retryAfterMs = details.retryAfterMs ?? 0;
    this.quotas = details.quotas ?? [];
    this.candidates = details.candidates ?? [];
    this.receipt = details.receipt;
    this.heldAlias = details.heldAlias ?? "";
    this.holdPrefix = details.holdPrefix;
  }

  /** The node that the first conflicting alias points to: the winning head where a thread lost; "" if there is none. */
  get head(): string {
    return this.conflicts[0]?.nodeId ?? "";
  }
}

/**
 * Whether an error is a TranscriptError for one of these reasons. UNAUTHENTICATED and PERMISSION_DENIED are so, too, where no reason was
 * given, as by a proxy.
 */
export function isReason(error: unknown, ...reasons: Reason[]): error is TranscriptError {
  if (!(error instanceof TranscriptError)) {
    return false;
  }
  const byCode = error.code === "UNAUTHENTICATED" || error.code === "PERMISSION_DENIED" ? error.code : undefined;
  const reason = error.reason ?? (error.unknownReason === "" ? byCode : undefined);
  return reason !== undefined && reasons.includes(reason);
}

/** An error that this side found; what may add to it. */
export function fault(reason: OwnReason, what = ""): TranscriptError {
  const { code, text } = OWN[reason];
  return new TranscriptError(code, reason, what === "" ? text : `${text}: ${what}`);
}

/** Reasons of calls that their callers aborted, which may have taken place. */
const aborted = new WeakSet();

/** Notes that a call which may have taken place ends with what its caller aborted it for, and gives that. */
export function abortedFor(reason: unknown): unknown {
  if (typeof reason === "object" && reason !== null) {
    aborted.add(reason);
  }
  return reason;
}

/**
 * Whether a call that failed with this error may have taken place all the same: its reply was lost, the deadline passed, it was aborted, or
 * the store does not know itself. False: it changed nothing and will not, so that it can be decided anew. Repeat an append for which it is
 * true on the same Thread, a start, spawn or compact on the same Client: each knows what it did. Of another call look first what is there.
 */
export function mayHaveHappened(error: unknown): boolean {
  if (!(error instanceof TranscriptError)) {
    if (error !== undefined && Object(error) !== error) {
      return true; // no object: what a caller aborted a call for, of which nothing can be noted
    }
    return aborted.has(error as object);
  }
  if (error.retried || error.undone) {
    return error.retried;
  }
  switch (error.reason) {
    case undefined:
      return (
        error.unknownReason === "" ||
        ["UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED", "UNKNOWN", "INTERNAL"].includes(error.code)
      );
    case "CANCELLED":
    case "DEADLINE_EXCEEDED":
    case "STORE_FAILED":
    case "INTERNAL":
    case "BAD_REPLY":
    case "VERIFICATION":
    case "CLOSED":
      return true;
    default:
      return false;
  }
}

/** An error of one of these reasons whose message says, too, which argument was refused and what its caller can do; others pass. */
export function advised(error: unknown, reason: Reason, advice: string): unknown {
  if (!isReason(error, reason)) {
    return error;
  }
  const { code, message } = error;
  const told = new TranscriptError(code, reason, `${message}: ${advice}`, error);
  told.retried = error.retried;
  told.undone = error.undone;
  return told;
}

/** Marks an error as that of a call of which an attempt may have taken place, or of which it is known that none did. */
export function happened(error: unknown, perhaps: boolean): unknown {
  if (error instanceof TranscriptError) {
    error.retried = perhaps;
    return error;
  }
  return perhaps ? abortedFor(error) : error;
}

/** Marks an error as that of an attempt that was not sent. */
export function undone(error: unknown): unknown {
  if (error instanceof TranscriptError) {
    error.undone = true;
  }
  return error;
}

/** The name of a status code. */
export function codeName(code: Code): StatusCode {
  return CODES[code];
}

const CODES: Readonly<Record<Code, StatusCode>> = {
  [Code.Canceled]: "CANCELLED",
  [Code.Unknown]: "UNKNOWN",
  [Code.InvalidArgument]: "INVALID_ARGUMENT",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.NotFound]: "NOT_FOUND",
  [Code.AlreadyExists]: "ALREADY_EXISTS",
  [Code.PermissionDenied]: "PERMISSION_DENIED",
  [Code.ResourceExhausted]: "RESOURCE_EXHAUSTED",
  [Code.FailedPrecondition]: "FAILED_PRECONDITION",
  [Code.Aborted]: "ABORTED",
  [Code.OutOfRange]: "OUT_OF_RANGE",
  [Code.Unimplemented]: "UNIMPLEMENTED",
  [Code.Internal]: "INTERNAL",
  [Code.Unavailable]: "UNAVAILABLE",
  [Code.DataLoss]: "DATA_LOSS",
  [Code.Unauthenticated]: "UNAUTHENTICATED",
};

/** The domain of the service's ErrorInfo. */
const DOMAIN = "transcript.v1";

/**
 * What a call with the generated code threw, as the TranscriptError that a Client throws; other errors pass.
 *
 * @param aborted - Whether the caller may have aborted the call. Where it did not, a stream that ended as cancelled is a connection that broke.
 */
export function typed(error: unknown, aborted = true): unknown {
  if (!(error instanceof ConnectError)) {
    return error;
  }
  const own = ofThisSide(error);
  if (own !== undefined) {
    return own;
  }
  const info = infoOf(error);
  const code = codeName(ofServer(error) ? error.code : localCode(error, aborted));
  const known = info !== undefined && Object.hasOwn(ErrorReason, info.reason) && info.reason !== "UNSPECIFIED";
  const ended = code === "CANCELLED" || code === "DEADLINE_EXCEEDED" ? code : undefined;
  const reason = known ? (info.reason as ServiceReason) : info === undefined ? ended : undefined;
  const unknownReason = info === undefined || known ? "" : info.reason;
  const what = reason ?? (unknownReason === "" ? code : unknownReason);
  return new TranscriptError(
    code,
    reason,
    `${what}: ${error.rawMessage}`,
    { unknownReason, ...details(error) },
    known ? {} : { cause: error.cause instanceof Error ? error.cause : error }, // where it is known the error tells all that the cause does
  );
}

function infoOf(error: ConnectError): ErrorInfo | undefined {
  return error.findDetails(ErrorInfoSchema).find((d) => d.domain === DOMAIN);
}

/** Which alias is held, and by which rule, where an error tells. */
function holdOf(error: ConnectError): Partial<Details> {
  const info = infoOf(error);
  return info?.reason === "LEGAL_HOLD"
    ? { heldAlias: info.metadata.alias ?? "", holdPrefix: info.metadata.alias_prefix }
    : {};
}

/** The receipt that an error tells; undefined for none, and for one that is no base64. */
function receiptOf(error: ConnectError): Uint8Array | undefined {
  const told = infoOf(error)?.metadata.receipt;
  try {
    return told === undefined ? undefined : Uint8Array.from(atob(told), (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function details(error: ConnectError): Partial<Details> {
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return {
    requestId: error.findDetails(RequestInfoSchema)[0]?.requestId ?? "",
    violations: error
      .findDetails(BadRequestSchema)
      .flatMap((d) => d.fieldViolations.map((v) => ({ field: v.field, rule: v.description }))),
    conflicts: error
      .findDetails(AliasConflictsSchema)
      .flatMap((d) =>
        d.conflicts.map(({ field, nodeId, revision, onlyCompacted }) => ({ field, nodeId, revision, onlyCompacted })),
      ),
    deleted: error.findDetails(DeletedAliasSchema)[0],
    retryAfterMs: delay === undefined ? 0 : Number(delay.seconds) * 1000 + Math.ceil(delay.nanos / 1e6),
    quotas: error
      .findDetails(QuotaFailureSchema)
      .flatMap((d) => d.violations.map((v) => ({ setting: v.quotaId, limit: v.quotaValue, rule: v.description }))),
    candidates: error.findDetails(AmbiguousPrefixSchema).flatMap((d) => d.nodeIds),
    receipt: receiptOf(error),
    ...holdOf(error),
  };
}

/**
 * What Connect made an error of its own of: one that the client threw itself, before it sent the call, and messages that cannot be encoded or
 * parsed. undefined: it is another.
 */
function ofThisSide(error: ConnectError): unknown {
  if (error.cause instanceof TranscriptError) {
    return error.cause;
  }
  const { rawMessage } = error;
  if (ofServer(error)) {
    return undefined;
  }
  if (rawMessage.startsWith("serialize binary: ")) {
    return new TypeError(`an argument has a value that its field cannot hold: ${rawMessage}`, { cause: error });
  }
  return rawMessage.startsWith("parse binary: ") ? fault("BAD_REPLY", "it does not parse") : undefined;
}

/** Whether the status came from the server: then its headers did, too. */
function ofServer(error: ConnectError): boolean {
  return [...error.metadata.keys()].length > 0;
}

/**
 * The code of an error that a transport made itself: a connection that fails or breaks is UNAVAILABLE, whatever Node or Connect call it, as
 * it is with gRPC's own clients.
 */
function localCode(error: ConnectError, aborted: boolean): Code {
  switch (error.code) {
    case Code.Canceled:
      return aborted ? Code.Canceled : Code.Unavailable;
    case Code.Aborted:
    case Code.Internal:
    case Code.Unknown:
      return Code.Unavailable;
    default:
      return error.code;
  }
}
