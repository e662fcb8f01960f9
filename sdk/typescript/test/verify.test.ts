// Ids are recomputed of what was received: whatever a server changes of a reply is found out.

import { clone, create, equals, isMessage, type Message as AnyMessage } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";

import {
  assistant,
  byAlias,
  byId,
  call,
  Client,
  GetNodeResponseSchema,
  GetNodesResponseSchema,
  isReason,
  mayHaveHappened,
  MetadataSchema,
  NodeContent,
  Origin,
  PayloadSchema,
  PutNodeRequestSchema,
  result,
  Role,
  SpawnedFromRefSchema,
  StreamAssembleRequestSchema,
  StreamAssembleResponseSchema,
  system,
  user,
  View,
  type GetNodeResponse,
  type Message,
  type StreamAssembleResponse,
  type Thread,
} from "../src/core.js";
import { textPart } from "../src/messages.js";
import { nodeRef } from "../src/refs.js";
import { Between, type Change } from "./between.js";
import { Daemon } from "./daemon.js";

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
function client(): Client {
  return new Client(between, { namespace: `verify-${String(++namespaces)}`, verify: true, retry: { attempts: 1 } });
}

/** A chain with a call that has no result, one that has two, and something behind it; and maybe a summary. */
async function conversation(c: Client, compacted = false): Promise<Thread> {
  const thread = await c.start({
    messageId: "m1",
    messages: user("Look."),
    system: system("You are helpful."),
    metadata: { k: "v" },
  });
  const calls = [call("c1", "look", "{}"), call("c2", "look", "{}")] as const;
  await thread.append(assistant("", calls));
  await thread.appendResults(result(calls[0], "One."));
  await thread.appendResults(result(calls[0], "One again."));
  await thread.append([user("Go on."), assistant("On.")]);
  if (compacted) {
    await thread.compact({ summary: "They looked." });
    await thread.append(user("And now?"));
  }
  return thread;
}

function same(a: readonly Message[], b: readonly Message[]): boolean {
  const payload = (messages: readonly Message[]): AnyMessage & { messages: Message[] } =>
    create(PayloadSchema, { messages: [...messages] });
  return equals(PayloadSchema, payload(a) as never, payload(b) as never);
}

const lied = (error: unknown): boolean => isReason(error, "VERIFICATION", "BAD_REPLY");

/** Gives each reply that is a StreamAssembleResponse to a change, the first only. */
function first(change: (told: StreamAssembleResponse) => void): Change {
  let begun = false;
  return (_, reply) => {
    if (begun || !isMessage(reply, StreamAssembleResponseSchema)) {
      return reply;
    }
    begun = true;
    const told = clone(StreamAssembleResponseSchema, reply);
    change(told);
    return told;
  };
}

type Edit = (told: StreamAssembleResponse, i: number) => void;

/** Changes of what ids bind: for each message, for each node, for each node that is verbatim, and for the whole. */
const OF_MESSAGES: Record<string, Edit> = {
  gone: (t, i) => t.messages.splice(i, 1),
  twice: (t, i) => t.messages.splice(i, 0, at(t.messages, i)),
  "of another role": (t, i) => {
    Object.assign(at(t.messages, i), { role: (at(t.messages, i).role % 5) + 1 });
  },
  "says more": (t, i) => at(t.messages, i).parts.push(textPart("Obey.")),
};
const OF_NODES: Record<string, Edit> = {
  "of another parent": (t, i) => Object.assign(envelope(t, i), { parentId: OTHER }),
  "of another id": (t, i) => Object.assign(at(t.nodes, i), { nodeId: OTHER }),
  "with metadata": (t, i) => Object.assign(envelope(t, i), { metadataDigest: OTHER }),
  spawned: (t, i) =>
    Object.assign(envelope(t, i), { spawnedFrom: create(SpawnedFromRefSchema, { nodeId: OTHER, toolCallId: "c" }) }),
  "spawned badly": (t, i) =>
    Object.assign(envelope(t, i), { spawnedFrom: create(SpawnedFromRefSchema, { nodeId: "ab" }) }),
  "without an envelope": (t, i) => {
    delete at(t.nodes, i).envelope;
  },
  "with messages more": (t, i) => Object.assign(at(t.nodes, i), { messageCount: 99 }),
  "with messages less than none": (t, i) => Object.assign(at(t.nodes, i), { messageCount: -1 }),
};
const OF_VERBATIM_NODES: Record<string, Edit> = {
  "of another content": (t, i) => Object.assign(at(t.nodes, i), { content: 9 }),
  "with a salt": (t, i) => Object.assign(envelope(t, i), { salt: new Uint8Array(16) }),
  "with a salt that is none": (t, i) => Object.assign(envelope(t, i), { salt: new Uint8Array(300) }),
};
const OF_ALL: Record<string, Edit> = {
  "no nodes": (t) => t.nodes.splice(0),
  "another head": (t) => Object.assign(t, { headId: OTHER }),
  "a base": (t) => Object.assign(t, { baseId: OTHER }),
  "the last node gone": (t) => {
    const last = t.nodes.pop();
    t.messages.splice(t.messages.length - (last?.messageCount ?? 0));
  },
};
const FIRST_GONE: Edit = (t) => {
  const info = t.nodes.shift();
  t.messages.splice(0, info?.messageCount ?? 0);
};

function at<T>(list: readonly T[], i: number): T {
  const one = list[i];
  assert.ok(one !== undefined);
  return one;
}

function envelope(told: StreamAssembleResponse, i: number): object {
  const own = at(told.nodes, i).envelope;
  assert.ok(own !== undefined);
  return own;
}

function* changes(
  told: StreamAssembleResponse,
  bound: boolean,
): Generator<[string, (t: StreamAssembleResponse) => void]> {
  const each = function* (what: string, edits: Record<string, Edit>, i: number): ReturnType<typeof changes> {
    for (const [name, edit] of Object.entries(edits)) {
      yield [
        `${what} ${String(i)} ${name}`,
        (t) => {
          edit(t, i);
        },
      ];
    }
  };
  for (const i of told.messages.keys()) {
    yield* each("message", OF_MESSAGES, i);
  }
  for (const [i, info] of told.nodes.entries()) {
    yield* each("node", OF_NODES, i);
    if (info.content === NodeContent.VERBATIM) {
      yield* each("node", OF_VERBATIM_NODES, i);
    }
  }
  yield* each("reply", OF_ALL, 0);
  if (bound) {
    yield* each("reply", { "the first node gone": FIRST_GONE }, 0);
  }
}

await suite("verification", async () => {
  for (const view of [View.FULL, View.EFFECTIVE, View.CONVERSATION]) {
    for (const compacted of [false, true]) {
      await test(`what the service sends verifies: ${View[view]}, ${compacted ? "compacted" : "plain"}`, async () => {
        const c = client();
        const { head } = await conversation(c, compacted);
        const whole = await c.assemble(byAlias("msg/m1"), { view });
        assert.equal(whole.headId, head);
        assert.ok(whole.messages.length > 0);
        if (view === View.CONVERSATION) {
          return;
        }
        const pages: Message[][] = [];
        for await (const page of c.back(byId(head), { view, lastMessages: 2 })) {
          pages.unshift(page.messages);
        }
        assert.ok(pages.length > 1 && same(pages.flat(), whole.messages));
        const framed: Message[] = [];
        for await (const frame of c.frames(byId(head), { view })) {
          framed.push(...frame.messages);
        }
        assert.ok(same(framed, whole.messages));
        assert.equal((await c.assemble(byId(head), { view, after: head })).baseId, head);
      });
    }
  }

  await test("stubs, and results that are left out", async () => {
    const c = client();
    const { messages } = await c.assemble(byId((await conversation(c)).head));
    const { SYSTEM, USER, ASSISTANT, TOOL } = Role;
    assert.deepEqual(
      messages.map((m) => m.role),
      [SYSTEM, USER, ASSISTANT, TOOL, TOOL, USER, ASSISTANT],
    );
    assert.equal(messages.filter((m) => m.origin === Origin.STUB).length, 1);
  });

  for (const view of [View.FULL, View.EFFECTIVE]) {
    for (const compacted of [false, true]) {
      await test(`whatever is changed is found out: ${View[view]}, ${compacted ? "compacted" : "plain"}`, async () => {
        const c = client();
        const { head } = await conversation(c, compacted);
        const received: StreamAssembleResponse[] = [];
        const keep: Change = (_, reply) => {
          if (isMessage(reply, StreamAssembleResponseSchema)) {
            received.push(clone(StreamAssembleResponseSchema, reply));
          }
          return reply;
        };
        const read = async (): Promise<Message[]> => (await c.assemble(byId(head), { view })).messages;
        await between.while({ replies: keep }, read);
        // The nodes that came repaired are read again.
        assert.equal(received.length, view === View.EFFECTIVE && !compacted ? 3 : 1);
        let tried = 0;
        // Behind a compaction, that this is the beginning is the server's word.
        for (const [name, change] of changes(at(received, 0), !(compacted && view === View.EFFECTIVE))) {
          await assert.rejects(between.while({ replies: first(change) }, read), lied, name);
          tried++;
        }
        assert.ok(tried > 40);
      });
    }
  }

  await test("a byte that is changed is found out, or says nothing else", async () => {
    const c = client();
    const thread = await c.start({ messageId: "m1", messages: user("Hello?"), system: system("Hi.") });
    await thread.append(assistant("Hello."));
    const read = async (): Promise<Message[]> => (await c.assemble(byId(thread.head))).messages;
    const whole = await read();
    for (let i = 0; i < 400; i++) {
      const flipped = (b: Uint8Array): Uint8Array => b.map((byte, j) => (i === j ? byte ^ 1 : byte));
      try {
        assert.ok(same(await between.while({ bytes: flipped }, read), whole), `byte ${String(i)}`);
      } catch (error) {
        assert.ok(lied(error), `byte ${String(i)}: ${String(error)}`);
      }
    }
  });

  await test("a repaired node shows no more than it may", async () => {
    const c = client();
    const { head } = await conversation(c);
    const stub = (t: StreamAssembleResponse): Message =>
      t.messages.find((m) => m.origin === Origin.STUB) ?? assert.fail("no stub");
    const edits: ((t: StreamAssembleResponse) => void)[] = [
      (t) => {
        stub(t).parts = [textPart("Obey.")];
      },
      (t) => {
        stub(t).isError = true;
      },
      (t) => {
        stub(t).origin = Origin.UNSPECIFIED;
      },
    ];
    for (const edit of edits) {
      const read = between.while({ replies: first(edit) }, () => c.assemble(byId(head)));
      await assert.rejects(read, (error) => isReason(error, "VERIFICATION"));
    }
  });

  await test("a node that is changed is found out", async () => {
    const c = client();
    const { head } = await conversation(c);
    const edits: ((n: GetNodeResponse) => void)[] = [
      (n) => at(n.messages, 0).parts.push(textPart("Obey.")),
      (n) => n.messages.push(user("more")),
      (n) => {
        n.metadata = create(MetadataSchema, { entries: [{ key: "a", value: "b" }] });
      },
      (n) => Object.assign(n.info?.envelope ?? {}, { parentId: OTHER }),
      (n) => Object.assign(n.info ?? {}, { nodeId: OTHER }),
      (n) => Object.assign(n.info?.envelope ?? {}, { salt: new Uint8Array(16) }),
      (n) => Object.assign(n.info?.envelope ?? {}, { salt: new Uint8Array(300) }),
      (n) => {
        delete n.info?.envelope;
      },
      (n) => {
        delete n.info;
      },
    ];
    for (const edit of edits) {
      const replies: Change = (_, reply) => {
        if (isMessage(reply, GetNodesResponseSchema)) {
          const several = clone(GetNodesResponseSchema, reply);
          edit(at(several.nodes, 0));
          return several;
        }
        assert.ok(isMessage(reply, GetNodeResponseSchema));
        const one = clone(GetNodeResponseSchema, reply);
        edit(one);
        return one;
      };
      await assert.rejects(
        between.while({ replies }, () => c.node(byId(head))),
        lied,
        edit.toString(),
      );
      await assert.rejects(
        between.while({ replies }, () => c.nodes([head])),
        lied,
        edit.toString(),
      );
    }
  });

  await test("a part of the messages cannot pass for a part of the salt", async () => {
    // The length of a salt is hashed as one byte: 16 + 256 bytes would look like 16.
    const c = client();
    const salt = new Uint8Array(16).fill(7);
    const { nodeId } = await c.put({ messages: [user("x".repeat(400)), user("y")], salt });
    const replies: Change = (_, reply) => {
      assert.ok(isMessage(reply, GetNodeResponseSchema));
      const one = clone(GetNodeResponseSchema, reply);
      Object.assign(one.info?.envelope ?? {}, { salt: Uint8Array.from([...salt, ...new Uint8Array(256)]) });
      return one;
    };
    await assert.rejects(
      between.while({ replies }, () => c.node(byId(nodeId))),
      /its envelope is malformed/,
    );
  });

  await test("a put of something else is found out", async () => {
    const requests: Change = (_, request) => {
      assert.ok(isMessage(request, PutNodeRequestSchema));
      return create(PutNodeRequestSchema, { ...request, messages: [user("Obey.")] });
    };
    const c = client();
    const put = between.while({ requests }, () => c.put({ messages: [user("hi")] }));
    await assert.rejects(put, (error) => isReason(error, "VERIFICATION") && mayHaveHappened(error));
  });

  await test("another head than asked for is found out", async () => {
    const c = client();
    const { head } = await conversation(c);
    const { nodes } = await c.assemble(byId(head), { view: View.FULL });
    const requests: Change = (_, request) => {
      assert.ok(isMessage(request, StreamAssembleRequestSchema));
      return create(StreamAssembleRequestSchema, {
        ...request,
        head: nodeRef(byId(at(nodes, 1).nodeId)),
      });
    };
    const read = between.while({ requests }, () => c.assemble(byId(head), { view: View.FULL }));
    await assert.rejects(read, (error) => isReason(error, "VERIFICATION"));
  });
});
