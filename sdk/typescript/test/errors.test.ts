// The table of errors, proto/testdata/retries.json: what a write has done, and whether to repeat it.

import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { isReason, mayHaveHappened, TranscriptError, typed, type Reason, type StatusCode } from "../src/core.js";
import { abortedFor, fault, happened, undone } from "../src/errors.js";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  QuotaFailureSchema,
  RequestInfoSchema,
  RetryInfoSchema,
} from "../src/gen/google/rpc/error_details_pb.js";
import { ErrorReason } from "../src/gen/transcript/v1/error_reason_pb.js";
import {
  AliasConflictsSchema,
  AmbiguousPrefixSchema,
  DeletedAliasSchema,
} from "../src/gen/transcript/v1/transcript_service_pb.js";
import { transient } from "../src/retry.js";
import { refusal } from "./fake.js";
import { testdata } from "./testdata.js";

interface Case {
  readonly reason: string;
  readonly code: StatusCode;
  readonly write: "nothing" | "unknown";
  readonly repeat: string;
}

const TABLE = testdata("retries.json") as Record<"reasons" | "unknown_reason" | "no_reason", Case[]>;

/** The number of a code that has a name of gRPC. */
function codeOf(name: StatusCode): Code {
  const joined = name.replaceAll("_", "").replace("CANCELLED", "CANCELED");
  const [, code] = Object.entries(Code).find(([key]) => key.toUpperCase() === joined) ?? [];
  assert.ok(typeof code === "number", name);
  return code;
}

function checked({ code, write, repeat }: Case, error: unknown): TranscriptError {
  assert.ok(error instanceof TranscriptError);
  assert.equal(error.code, code);
  assert.equal(mayHaveHappened(error), write === "unknown");
  assert.equal(transient(error), repeat === "later");
  return error;
}

await suite("errors", async () => {
  for (const one of TABLE.reasons) {
    await test(`the reason ${one.reason}`, () => {
      const error = checked(one, typed(refusal(codeOf(one.code), one.reason)));
      assert.equal(error.reason, one.reason);
      assert.ok(isReason(error, one.reason as Reason));
      assert.equal(error.message, `${one.reason}: said`);
    });
  }

  await test("every reason of the contract is in the table", () => {
    const reasons = Object.keys(ErrorReason).filter((name) => Number.isNaN(Number(name)) && name !== "UNSPECIFIED");
    assert.deepEqual(TABLE.reasons.map((r) => r.reason).sort(), reasons.sort());
  });

  for (const one of TABLE.unknown_reason) {
    await test(`a reason of a newer server with ${one.code}`, () => {
      const error = checked(one, typed(refusal(codeOf(one.code), "OF_A_NEWER_SERVER")));
      assert.deepEqual([error.reason, error.unknownReason], [undefined, "OF_A_NEWER_SERVER"]);
    });
  }

  for (const one of TABLE.no_reason) {
    await test(`no reason with ${one.code}`, () => {
      const error = checked(one, typed(refusal(codeOf(one.code))));
      const ended = one.code === "CANCELLED" || one.code === "DEADLINE_EXCEEDED";
      assert.equal(error.reason, ended ? one.code : undefined);
      const refused = one.code === "UNAUTHENTICATED" || one.code === "PERMISSION_DENIED";
      assert.equal(isReason(error, one.code as Reason), ended || refused);
    });
  }

  await test("all that an error tells", () => {
    const error = typed(
      refusal(Code.Aborted, "ALIAS_MOVED", [
        { desc: RequestInfoSchema, value: { requestId: "r1" } },
        { desc: BadRequestSchema, value: { fieldViolations: [{ field: "aliases[0]", description: "a rule" }] } },
        { desc: RetryInfoSchema, value: { retryDelay: { seconds: 1n, nanos: 500_000_000 } } },
        {
          desc: QuotaFailureSchema,
          value: { violations: [{ quotaId: "max_nodes", quotaValue: 3n, description: "at most 3 nodes" }] },
        },
        {
          desc: AliasConflictsSchema,
          value: { conflicts: [{ field: "aliases[0]", nodeId: "ab", revision: 7n, onlyCompacted: true }] },
        },
        { desc: AmbiguousPrefixSchema, value: { nodeIds: ["aa", "ab"] } },
        { desc: DeletedAliasSchema, value: { revision: 4n } },
      ]),
    );
    assert.ok(isReason(error, "ALIAS_MOVED"));
    assert.equal(error.requestId, "r1");
    assert.deepEqual(error.violations, [{ field: "aliases[0]", rule: "a rule" }]);
    assert.equal(error.retryAfterMs, 1500);
    assert.deepEqual(error.quotas, [{ setting: "max_nodes", limit: 3n, rule: "at most 3 nodes" }]);
    assert.deepEqual(error.conflicts, [{ field: "aliases[0]", nodeId: "ab", revision: 7n, onlyCompacted: true }]);
    assert.equal(error.head, "ab");
    assert.deepEqual(error.candidates, ["aa", "ab"]);
    assert.deepEqual(error.deleted, create(DeletedAliasSchema, { revision: 4n }));
  });

  await test("which alias is held, and by which rule", () => {
    const held = (reason: string, domain: string, metadata: Record<string, string>): unknown =>
      typed(refusal(Code.FailedPrecondition, "", [{ desc: ErrorInfoSchema, value: { reason, domain, metadata } }]));
    for (const [error, alias, prefix] of [
      [held("LEGAL_HOLD", "transcript.v1", { alias: "case/1", alias_prefix: "case/" }), "case/1", "case/"],
      [held("LEGAL_HOLD", "transcript.v1", { alias_prefix: "" }), "", ""],
      [held("LEGAL_HOLD", "transcript.v1", {}), "", undefined],
      [held("LEGAL_HOLD", "elsewhere", { alias: "case/1", alias_prefix: "case/" }), "", undefined],
      [held("ALIAS_MOVED", "transcript.v1", { alias: "case/1", alias_prefix: "case/" }), "", undefined],
    ]) {
      assert.ok(error instanceof TranscriptError);
      assert.deepEqual([error.heldAlias, error.holdPrefix], [alias, prefix]);
    }
  });

  await test("a reason of another domain, and details that do not parse, are none", () => {
    const foreign = refusal(Code.Aborted, "", [
      { desc: ErrorInfoSchema, value: { reason: "ALIAS_MOVED", domain: "elsewhere" } },
    ]);
    const malformed = refusal(Code.Aborted);
    malformed.details = [{ type: ErrorInfoSchema.typeName, value: Uint8Array.of(255) }];
    for (const raw of [foreign, malformed]) {
      const error = typed(raw);
      assert.ok(error instanceof TranscriptError);
      assert.deepEqual([error.reason, error.unknownReason, error.message], [undefined, "", "ABORTED: said"]);
    }
  });

  await test("what is no error of a call stays as it is", () => {
    const error = new RangeError("mine");
    assert.equal(typed(error), error);
    assert.equal(mayHaveHappened(error), false);
    assert.equal(mayHaveHappened(undefined), false);
    assert.equal(isReason(error, "ALIAS_MOVED"), false);
  });

  await test("what may have happened", () => {
    assert.ok(mayHaveHappened(fault("CLOSED")));
    assert.ok(!mayHaveHappened(undone(fault("CLOSED"))));
    assert.ok(!mayHaveHappened(typed(refusal(Code.Aborted, "ALIAS_MOVED"))));
    assert.ok(mayHaveHappened(happened(typed(refusal(Code.Aborted, "ALIAS_MOVED")), true)));
    const reason = new Error("the user left");
    assert.ok(!mayHaveHappened(reason));
    assert.ok(mayHaveHappened(abortedFor(reason)));
  });

  await test("a connection that breaks is UNAVAILABLE, whatever Node or Connect call it", () => {
    for (const code of [Code.Aborted, Code.Internal, Code.Unknown, Code.Unavailable]) {
      const error = typed(new ConnectError("read ECONNRESET", code));
      assert.ok(error instanceof TranscriptError);
      assert.deepEqual([error.code, error.reason], ["UNAVAILABLE", undefined]);
      assert.ok(transient(error) && mayHaveHappened(error));
    }
  });
});

suite("the cause of an error", () => {
  test("is not there where the service gave a reason, which tells more", () => {
    const error = typed(refusal(Code.NotFound, "ALIAS_NOT_FOUND"));
    assert.ok(error instanceof TranscriptError && !("cause" in error) && error.reason === "ALIAS_NOT_FOUND");
  });

  test("is what went wrong on the network where there is none", () => {
    const refused = new Error("connect ECONNREFUSED");
    const error = typed(new ConnectError("lost", Code.Unavailable, undefined, undefined, refused));
    assert.ok(error instanceof TranscriptError && error.cause === refused);
    const without = new ConnectError("lost", Code.Unavailable);
    assert.equal((typed(without) as Error).cause, without);
  });
});
