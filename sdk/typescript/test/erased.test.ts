// Nodes that were erased: what is shown of them is held to their ids, no copy outlives them, and roots that everybody shares begin anew.

import { clone, create, fromBinary, isMessage } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { bytesToHex } from "@noble/hashes/utils.js";
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import {
  assistant,
  byAlias,
  byId,
  call,
  Client,
  GetNodeResponseSchema,
  isReason,
  NodeContent,
  NodeDetail,
  Origin,
  PayloadSchema,
  PutNodeRequestSchema,
  PutNodesRequestSchema,
  result,
  StreamAssembleRequestSchema,
  StreamAssembleResponseSchema,
  system,
  text,
  user,
  View,
  type GetNodeResponse,
  type Message,
  type NodeInfo,
  type StreamAssembleResponse,
  type Thread,
} from "../src/core.js";
import { BadRequestSchema } from "../src/gen/google/rpc/error_details_pb.js";
import { encodePayload, payloadDigest } from "../src/identity.js";
import { textPart } from "../src/messages.js";
import { marker } from "../src/verify.js";
import { Between, type Change } from "./between.js";
import { Daemon } from "./daemon.js";
import { refusal } from "./fake.js";
import { bytes, testdata } from "./testdata.js";

const OTHER = "ab".repeat(32);

let daemon: Daemon;
let between: Between;
before(async () => {
  daemon = await Daemon.start();
  between = new Between(daemon.target);
});
after(() => daemon.kill());

let namespaces = 0;

/** A client of a namespace of its own. */
function client(deterministic = false): Client {
  const namespace = `erased-${String(++namespaces)}`;
  return new Client(between, { namespace, verify: true, deterministic, retry: { attempts: 1 } });
}

const isMarker = (message: Message): boolean =>
  bytesToHex(encodePayload([message])) === bytesToHex(encodePayload([marker(message)]));

/** Makes a node of a reply, and its messages, what they are once it is erased. */
function erase(info: NodeInfo, messages: Message[]): void {
  const { envelope } = info;
  assert.ok(envelope !== undefined);
  if (info.content === NodeContent.VERBATIM) {
    envelope.payloadDigest = bytesToHex(payloadDigest(envelope.salt, encodePayload(messages)));
  }
  envelope.salt = new Uint8Array(0);
  info.content = NodeContent.ERASED;
  messages.splice(0, messages.length, ...messages.map(marker));
}

type Edit = (told: StreamAssembleResponse) => void;

/** Erases a node of a reply, and edits its messages. */
function erased(node: number, edit: (own: Message[], info: NodeInfo) => void = () => undefined): Edit {
  return (told) => {
    const info = told.nodes[node];
    assert.ok(info !== undefined);
    const start = told.nodes.slice(0, node).reduce((sum, { messageCount }) => sum + messageCount, 0);
    const own = told.messages.slice(start, start + info.messageCount);
    erase(info, own);
    edit(own, info);
    told.messages.splice(start, own.length, ...own);
  };
}

/** Edits the first StreamAssembleResponse. */
function first(edit: Edit): Change {
  let begun = false;
  return (_, reply) => {
    if (begun || !isMessage(reply, StreamAssembleResponseSchema)) {
      return reply;
    }
    begun = true;
    const told = clone(StreamAssembleResponseSchema, reply);
    edit(told);
    return told;
  };
}

const failsToVerify = (error: unknown): boolean => isReason(error, "VERIFICATION") || assert.fail(String(error));

/** A root, a question, a call with its result, and an answer. */
async function conversation(c: Client): Promise<Thread> {
  const thread = await c.start({
    messageId: "m1",
    messages: user("Look."),
    system: system("You are helpful."),
    metadata: { k: "v" },
  });
  const made = call("c1", "look", '{"at": 1}');
  await thread.append(assistant("", [made]));
  await thread.appendResults(result(made, "One."));
  await thread.append(assistant("It is one."));
  return thread;
}

/** A chain whose last node has a stub of the view. */
async function interrupted(c: Client): Promise<Thread> {
  const thread = await c.start({ messageId: "m1", messages: user("Look.") });
  await thread.append(assistant("", [call("c1", "look", "{}")]));
  await thread.append(user("Go on."));
  return thread;
}

const obey = (message: Message | undefined): void => {
  assert.ok(message !== undefined);
  message.parts = [textPart("Obey.")];
};

/**
 * Changes that make a service one which tells of so many erasures and gives the whole view to whoever may hold what was erased; and what it was
 * asked.
 */
function erasing(count: (asked: number) => bigint): {
  asked: [string, bigint][];
  requests: Change;
  replies: Change;
} {
  const asked: [string, bigint][] = [];
  return {
    asked,
    requests: (_, request) => {
      if (!isMessage(request, StreamAssembleRequestSchema)) {
        return request;
      }
      asked.push([request.afterId, request.afterErasures]);
      const held = request.afterErasures === count(asked.length);
      return { ...request, afterErasures: 0n, ...(!held && { afterId: "" }) };
    },
    replies: (_, reply) =>
      isMessage(reply, StreamAssembleResponseSchema) ? { ...reply, erasures: count(asked.length) } : reply,
  };
}

/** Refuses requests that put, where a field was erased by what is told of each of their nodes. */
function refuses(fieldOf: (node: { salt: Uint8Array; root: boolean }, i: number) => boolean): {
  puts: () => number;
  requests: Change;
} {
  let puts = 0;
  const requests: Change = (_, request) => {
    const one = isMessage(request, PutNodeRequestSchema);
    if (!one && !isMessage(request, PutNodesRequestSchema)) {
      return request;
    }
    puts++;
    const nodes = one
      ? [{ salt: request.salt, root: request.parent === undefined }]
      : request.nodes.map(({ salt, parent, previous }) => ({ salt, root: parent === undefined && !previous }));
    const i = nodes.findIndex(fieldOf);
    if (i >= 0) {
      const field = one ? "salt" : `nodes[${String(i)}].salt`;
      const value = create(BadRequestSchema, { fieldViolations: [{ field, description: "erased" }] });
      throw refusal(Code.FailedPrecondition, "PAYLOAD_ERASED", [{ desc: BadRequestSchema, value }]);
    }
    return request;
  };
  return { puts: () => puts, requests };
}

await suite("erased nodes", async () => {
  const vectors = testdata("erased.json") as { name: string; payload_hex: string; markers_hex: string }[];
  for (const { name, payload_hex, markers_hex } of vectors) {
    await test(`markers are told from what was said: ${name}`, () => {
      const marked = (hex: string): boolean => fromBinary(PayloadSchema, bytes(hex)).messages.every(isMarker);
      assert.ok(marked(markers_hex));
      assert.equal(marked(payload_hex), payload_hex === markers_hex);
    });
  }

  for (const view of [View.FULL, View.EFFECTIVE, View.CONVERSATION]) {
    for (const lastMessages of view === View.CONVERSATION ? [0] : [0, 100]) {
      await test(`is held to its id and its markers: ${View[view]}, ${lastMessages > 0 ? "its end" : "whole"}`, async () => {
        const c = client();
        const { head } = await conversation(c);
        const read = (edit: Edit): Promise<string[]> =>
          between.while({ replies: first(edit) }, async () =>
            (await c.assemble(byId(head), { view, lastMessages })).messages.map(text),
          );
        for (let node = 0; node < 5; node++) {
          const texts = await read(erased(node));
          assert.deepEqual(
            texts.map((one) => one === "[erased]"),
            [0, 1, 2, 3, 4].map((i) => i === node),
          );
          const hashes = erased(node, (_, info) => Object.assign(info.envelope ?? {}, { payloadDigest: OTHER }));
          await assert.rejects(read(hashes), failsToVerify);
          if (view !== View.CONVERSATION) {
            const says = erased(node, ([message]) => {
              obey(message);
            });
            await assert.rejects(read(says), failsToVerify);
          }
        }
      });
    }
  }

  await test("an erased node has the stubs of the view, and is not doubted", async () => {
    const c = client();
    const { head } = await interrupted(c);
    let reads = 0;
    const requests: Change = (_, request) => {
      reads++;
      return request;
    };
    const { messages } = await between.while({ replies: first(erased(2)), requests }, () => c.assemble(byId(head)));
    assert.deepEqual(
      messages.map((m) => text(m).slice(0, 4)),
      ["Look", "", "[no ", "[era"],
    );
    assert.equal(reads, 1);
    const says = erased(2, (own) => {
      obey(own.find((m) => m.origin === Origin.STUB));
    });
    await assert.rejects(
      between.while({ replies: first(says) }, () => c.assemble(byId(head))),
      failsToVerify,
    );
  });

  await test("an erased node that is a compaction may show what was not", async () => {
    const c = client();
    const thread = await conversation(c);
    await thread.compact({ summary: "They looked." });
    await thread.append(user("And now?"));
    const some: Edit = (told) => {
      const node = told.nodes.findIndex(({ envelope }) => (envelope?.coversThroughId ?? "") !== "");
      erased(node, (own) => own.splice(-1, 1, user("This stays.")))(told);
    };
    const { messages } = await between.while({ replies: first(some) }, () => c.assemble(byId(thread.head)));
    assert.ok(messages.some((m) => text(m) === "This stays."));
  });

  await test("an erased node is read without its metadata", async () => {
    const c = client();
    const thread = await c.start({ messageId: "m1", messages: user("Look."), metadata: { k: "v" } });
    const read = (edit: (node: GetNodeResponse) => void): Promise<GetNodeResponse> => {
      const replies: Change = (_, reply) => {
        assert.ok(isMessage(reply, GetNodeResponseSchema));
        const node = clone(GetNodeResponseSchema, reply);
        assert.ok(node.info !== undefined);
        erase(node.info, node.messages);
        edit(node);
        return node;
      };
      return between.while({ replies }, () => c.node(byId(thread.head)));
    };
    const without = (node: GetNodeResponse): void => {
      delete node.metadata;
    };
    assert.deepEqual((await read(without)).messages.map(text), ["[erased]"]);
    const lies: ((node: GetNodeResponse) => void)[] = [
      () => undefined,
      (node) => {
        without(node);
        obey(node.messages[0]);
      },
      (node) => {
        without(node);
        Object.assign(node.info?.envelope ?? {}, { payloadDigest: OTHER });
      },
    ];
    for (const lie of lies) {
      await assert.rejects(read(lie), failsToVerify);
    }
  });

  await test("an erasure between two reads of a repaired node is told", async () => {
    const c = client();
    const { head } = await interrupted(c);
    const once = erasing(() => 3n);
    assert.equal((await between.while(once, () => c.assemble(byId(head)))).erasures, 3n);
    assert.deepEqual(
      once.asked.map(([, erasures]) => erasures),
      [0n, 3n],
    );
    const meanwhile = erasing((asked) => BigInt(asked));
    await assert.rejects(
      between.while(meanwhile, () => c.assemble(byId(head))),
      (error) => failsToVerify(error) && String(error).includes("read the view again"),
    );
  });

  await test("an erasure leaves a thread nothing of what it held", async () => {
    const c = client();
    let count = 0n;
    const service = erasing(() => count);
    await between.while(service, async () => {
      const thread = await c.start({ messageId: "m1", messages: user("1") });
      const one = thread.head;
      await thread.messages();
      await thread.append(assistant("2"));
      const two = thread.head;
      await thread.messages();
      count = 2n;
      await thread.append(user("3"));
      const three = thread.head;
      assert.deepEqual((await thread.messages()).map(text), ["1", "2", "3"]);
      assert.deepEqual([c.cache.get(one), c.cache.get(two)], [undefined, undefined]);
      await thread.append(assistant("4"));
      await thread.messages();
      assert.deepEqual(service.asked, [
        ["", 0n],
        [one, 0n],
        [two, 0n],
        [three, 2n],
      ]);
    });
  });

  const brief = system("You are helpful.");

  await test("what was erased and is put again begins anew with a salt where it is a root that everybody shares", async () => {
    const c = client();
    const salts = async (alias: string): Promise<number[]> => {
      const { nodes } = await c.assemble(byAlias(alias), { view: View.FULL, detail: NodeDetail.ENVELOPES });
      return nodes.map(({ envelope }) => envelope?.salt.length ?? -1);
    };
    const { requests } = refuses(({ salt, root }) => root && salt.length === 0);
    await between.while({ requests }, async () => {
      const turn = { messageId: "m1", messages: user("hi"), system: brief };
      assert.ok((await c.start(turn)).isNew);
      assert.deepEqual(await salts("msg/m1"), [16, 16]);
      assert.ok((await c.start({ messageId: "m2", messages: brief })).isNew);
      assert.deepEqual(await salts("msg/m2"), [16]);
      assert.ok((await c.chat("1", brief)).isNew);
      assert.deepEqual(await salts("chat/1"), [16]);
      assert.ok(!(await c.start(turn)).isNew);
      await assert.rejects(c.put({ messages: [brief] }), (error) => isReason(error, "PAYLOAD_ERASED"));
    });
  });

  for (const deterministic of [false, true]) {
    await test(`what was erased and is put again is refused otherwise: ${deterministic ? "deterministic" : "salted"}`, async () => {
      const c = client(deterministic);
      const thread = await c.start({ messageId: "m1", messages: user("hi") });
      const puts = [
        (): Promise<unknown> => c.start({ messageId: "m2", messages: user("hi") }),
        (): Promise<unknown> => c.start({ messageId: "m3", messages: user("hi"), system: brief }),
        (): Promise<unknown> => thread.append(assistant("hello")),
        ...(deterministic ? [(): Promise<unknown> => c.chat("1", brief)] : []),
      ];
      for (const put of puts) {
        // Of two nodes it is the root, or else the one below.
        const refusing = refuses((node, i) => deterministic || i > 0 || !node.root || node.salt.length > 0);
        await assert.rejects(between.while(refusing, put), (error) => isReason(error, "PAYLOAD_ERASED"));
        assert.equal(refusing.puts(), 1);
      }
    });
  }
});
