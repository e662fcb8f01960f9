// Servers that are older than the SDK.

import { Code } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { byId, Client, isReason, policies, revisionIs, user, View, type TranscriptError } from "../src/core.js";
import { Fake, refusal } from "./fake.js";

const HEAD = "ab".repeat(32);

/** A server that refuses all but ServerInfo, as one that does not know a field or a method does. */
function older(code: Code, reason: string, features: readonly string[] = []): Fake {
  const refuse = (): never => {
    throw refusal(code, reason);
  };
  const methods = [
    "DeleteAlias",
    "PutNode",
    "PutArchivedNodes",
    "StreamAssemble",
    "DeleteAliases",
    "GetNodes",
    "ListNamespaces",
    "SetNamespace",
    "ResolveAlias",
  ];
  return new Fake({
    ...Object.fromEntries(methods.map((name) => [name, refuse])),
    ServerInfo: () => ({ serverVersion: "1.2.0", features }),
  });
}

const rejects = (call: Promise<unknown>, feature: string): Promise<void> =>
  assert.rejects(call, (error) => {
    assert.ok(isReason(error, "UNSUPPORTED"), String(error));
    assert.equal(error.message, `UNSUPPORTED: the server of version 1.2.0 lacks ${feature}`);
    return true;
  });

await suite("features", async () => {
  await test("a method that the server lacks is named by its feature", async () => {
    const client = new Client(older(Code.Unimplemented, ""));
    await rejects(client.nodes([HEAD]), "get_nodes");
    await rejects(client.putArchived([{}]), "archived_nodes");
    await rejects(client.restore([]), "backup");
    await rejects(client.backup().next(), "backup");
    await rejects(client.collectGarbage().next(), "collection");
    await rejects(client.erase({ aliasPrefix: "a" }).next(), "erase");
    await rejects(client.receipts(["0".repeat(64)]), "erase");
    await rejects(client.namespaces().next(), "namespaces");
    await rejects(client.deleteNamespace("default"), "delete_namespace");
    await rejects(client.deleteAliases({ prefix: "a/" }).next(), "delete_aliases");
  });

  await test("a field that it lacks is, wherever it stands", async () => {
    const fake = older(Code.InvalidArgument, "MALFORMED_REQUEST");
    const client = new Client(fake);
    await rejects(
      client.put({ messages: [user("hi")], aliases: [{ name: "a", if: revisionIs(1n) }] }),
      "alias_revisions",
    );
    await rejects(client.put({ messages: [user("hi")], notes: [{ model: "m" }] }), "note_costs");
    await rejects(client.deleteAlias("a", undefined, { forgetHistory: true }), "collection");
    await rejects(client.setNamespace({ retention: [{ legalHold: true }] }), "namespaces, retention");
    await rejects(
      client.deleteAliases({ all: true, forgetHistory: true, movedBefore: new Date(0) }).next(),
      "collection, delete_aliases",
    );
    const query = { view: View.CONVERSATION, policy: policies.coding() };
    await rejects(client.assemble(byId(HEAD), query), "presets");
    await rejects(client.frames(byId(HEAD), { lastMessages: 3 }).next(), "last_messages");
    assert.equal(fake.calls.filter((name) => name === "ServerInfo").length, 1, "it is asked once");
  });

  await test("a refusal that has nothing to do with features stays as it is", async () => {
    const malformed = (error: unknown): error is TranscriptError => isReason(error, "MALFORMED_REQUEST");
    const client = new Client(older(Code.InvalidArgument, "MALFORMED_REQUEST", ["note_costs"]));
    await assert.rejects(client.put({ messages: [user("hi")] }), malformed);
    await assert.rejects(client.put({ messages: [user("hi")], notes: [{ model: "m" }] }), malformed);
    await assert.rejects(client.resolve("a"), malformed);
    await assert.rejects(client.deleteAlias("a"), malformed);
  });

  await test("no field of a feature is sent that nobody asked for", async () => {
    const fake = new Fake({ PutNode: (request) => ({ nodeId: HEAD, counters: {}, request }) });
    assert.equal((await new Client(fake).put({ messages: [user("hi")], notes: [{ tokenCount: 3 }] })).nodeId, HEAD);
    assert.deepEqual(fake.calls, ["PutNode"]);
  });

  await test("supports", async () => {
    const client = new Client(older(Code.Unimplemented, "", ["presets"]));
    assert.equal(await client.supports("presets"), true);
    assert.equal(await client.supports("namespaces"), false);
    assert.equal((await new Client(new Fake({})).serverInfo()).serverVersion, "", "of one that does not know the call");
  });
});
