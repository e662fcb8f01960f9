// Which calls may be repeated, proto/testdata/repeats.json, and how they are.

import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { suite, test } from "node:test";

import {
  AliasRequestSchema,
  byId,
  Client,
  CompactRequestSchema,
  DeleteAliasesRequestSchema,
  DeleteAliasRequestSchema,
  headIs,
  isReason,
  mayHaveHappened,
  PutNodeRequestSchema,
  PutNodesRequestSchema,
  SetNamespaceRequestSchema,
  TranscriptError,
  user,
} from "../src/core.js";
import { RetryInfoSchema } from "../src/gen/google/rpc/error_details_pb.js";
import {
  Pauses,
  repeatableCompaction,
  repeatableDelete,
  repeatableDeletion,
  repeatableMoves,
  repeatablePut,
  repeatableSettings,
} from "../src/retry.js";
import { broken, Fake, refusal, type Answer } from "./fake.js";
import { testdata } from "./testdata.js";

const RULES: Readonly<Record<string, (request: JsonValue) => boolean>> = {
  PutNode: (json) => repeatablePut([fromJson(PutNodeRequestSchema, json)]),
  PutNodes: (json) => repeatablePut(fromJson(PutNodesRequestSchema, json).nodes),
  Alias: (json) => repeatableMoves(fromJson(AliasRequestSchema, json).aliases),
  DeleteAlias: (json) => repeatableDelete(fromJson(DeleteAliasRequestSchema, json).precondition),
  DeleteAliases: (json) => repeatableDeletion(fromJson(DeleteAliasesRequestSchema, json)),
  SetNamespace: (json) => repeatableSettings(fromJson(SetNamespaceRequestSchema, json)),
  Compact: (json) => repeatableCompaction(fromJson(CompactRequestSchema, json)),
};

interface Case {
  readonly name: string;
  readonly method: string;
  readonly request: JsonValue;
  readonly repeat: boolean;
}

const HEAD = "ab".repeat(32);
const QUICK = { attempts: 4, firstMs: 1, maxMs: 2 };

/** Answers with each of these in turn, and with the last from then on: an error is thrown. */
function inTurn(...answers: readonly unknown[]): Answer {
  let next = 0;
  return () => {
    const answer = answers[Math.min(next++, answers.length - 1)];
    if (answer instanceof Error) {
      throw answer;
    }
    return answer;
  };
}

const PUT = { nodeId: HEAD, created: true, counters: {} };

await suite("repeats", async () => {
  for (const one of testdata("repeats.json") as Case[]) {
    await test(`${one.method}: ${one.name}`, () => {
      assert.equal(RULES[one.method]?.(one.request), one.repeat);
    });
  }

  await test("what can do no harm is repeated where its reply was lost, and the result says so", async () => {
    const fake = new Fake({ PutNode: inTurn(broken(), broken(), PUT) });
    const result = await new Client(fake, { retry: QUICK }).put({ messages: [user("hi")] });
    assert.ok(result.retried);
    assert.equal(fake.calls.length, 3);
  });

  await test("what could do harm is not", async () => {
    const fake = new Fake({ PutNode: inTurn(broken(), PUT) });
    const put = new Client(fake, { retry: QUICK }).put({ messages: [user("hi")], aliases: [{ name: "a" }] });
    await assert.rejects(put, (error) => mayHaveHappened(error));
    assert.equal(fake.calls.length, 1);
  });

  for (const reason of ["OVERLOADED", "DRAINING", "IDENTITY_UNAVAILABLE", "RATE_LIMITED"]) {
    await test(`whatever was refused as ${reason} is`, async () => {
      const code = reason === "OVERLOADED" || reason === "RATE_LIMITED" ? Code.ResourceExhausted : Code.Unavailable;
      const fake = new Fake({ PutNode: inTurn(refusal(code, reason), PUT) });
      const client = new Client(fake, { retry: QUICK });
      const result = await client.put({ messages: [user("hi")], aliases: [{ name: "a" }] });
      assert.ok(!result.retried);
      assert.equal(fake.calls.length, 2);
    });
  }

  for (const reason of ["STORE_FAILED", "AUDIT_UNAVAILABLE"]) {
    await test(`what needs an operator is not: ${reason}`, async () => {
      const fake = new Fake({ PutNode: inTurn(refusal(Code.Unavailable, reason), PUT) });
      const put = new Client(fake, { retry: QUICK }).put({ messages: [user("hi")] });
      await assert.rejects(put, (error) => error instanceof TranscriptError && error.reason === reason);
      assert.equal(fake.calls.length, 1);
    });
  }

  await test("a refusal behind an attempt that may have taken place says so", async () => {
    const fake = new Fake({ PutNode: inTurn(broken(), refusal(Code.Aborted, "ALIAS_MOVED")) });
    const client = new Client(fake, { retry: QUICK });
    const put = client.put({ parent: byId(HEAD), messages: [user("hi")], aliases: [{ name: "a", if: headIs(HEAD) }] });
    await assert.rejects(put, (error) => {
      assert.ok(isReason(error, "ALIAS_MOVED"));
      return error.retried && mayHaveHappened(error);
    });
  });

  await test("attempts are counted, and no more made", async () => {
    const fake = new Fake({ ResolveAlias: inTurn(broken()) });
    await assert.rejects(new Client(fake, { retry: QUICK }).resolve("a"));
    assert.equal(fake.calls.length, 4);
  });

  await test("a pause is as long as the server says", async () => {
    const delay = { desc: RetryInfoSchema, value: { retryDelay: { seconds: 0n, nanos: 60_000_000 } } };
    const limited = refusal(Code.ResourceExhausted, "RATE_LIMITED", [delay]);
    const fake = new Fake({ ResolveAlias: inTurn(limited, { alias: { nodeId: HEAD } }) });
    const began = performance.now();
    await new Client(fake, { retry: QUICK }).resolve("a");
    assert.ok(performance.now() - began >= 59);
    const late = new Fake({ ResolveAlias: inTurn(limited) });
    await assert.rejects(new Client(late, { retry: QUICK }).resolve("a", { deadlineMs: 50 }), (error) =>
      isReason(error, "RATE_LIMITED"),
    );
    assert.equal(late.calls.length, 1);
  });

  await test("pauses grow, and end", () => {
    const pauses = new Pauses({ firstMs: 1000, maxMs: 4000 }, undefined);
    for (const limit of [1000, 2000, 4000, 4000]) {
      const pause = pauses.take(0) ?? 0;
      assert.ok(pause >= limit / 2 && pause <= limit, String(pause));
    }
    assert.equal(pauses.take(7000), 7000);
    assert.equal(pauses.take(70_000), undefined);
    for (let i = 0; i < 100; i++) {
      pauses.take(0);
    }
    assert.equal(pauses.take(0), undefined);
  });

  await test("no pause ends behind the deadline", () => {
    const now = performance.now();
    assert.equal(new Pauses({}, now + 1000).take(2000), undefined);
    assert.equal(new Pauses({}, now + 10).take(0), undefined);
    const pause = new Pauses({ firstMs: 1000 }, now + 1500).take(0) ?? Infinity;
    assert.ok(pause <= 750);
  });
});
