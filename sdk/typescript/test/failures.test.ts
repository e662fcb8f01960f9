import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import {
  assistant,
  byAlias,
  byId,
  Client,
  connect,
  isReason,
  mayHaveHappened,
  system,
  TranscriptError,
  TranscriptService,
  user,
  type ConnectOptions,
} from "../src/index.js";
import { parseTarget } from "../src/node/target.js";
import { build, Daemon, tempFolder } from "./daemon.js";
import { Proxy } from "./proxy.js";

const reason =
  (...reasons: Parameters<typeof isReason>[1][]) =>
  (error: unknown): boolean =>
    isReason(error, ...reasons) || assert.fail(String(error));

await suite("a server that goes away, is slow or refuses", async () => {
  let daemon: Daemon;
  let proxy: Proxy;
  let client: Client;
  before(async () => {
    daemon = await Daemon.start();
    proxy = await Proxy.start(daemon.target);
    client = connect(proxy.target, { retry: { attempts: 3, firstMs: 1, maxMs: 5 } });
  });
  after(async () => {
    client.close();
    await proxy.stop();
    await daemon.kill();
  });

  /** A chain of several frames. */
  const longChain = async (name: string): Promise<string> => {
    const thread = await client.chat(name, system("s"));
    for (let i = 0; i < 8; i++) {
      await thread.append(user(String(i).repeat(40_000)));
    }
    return thread.head;
  };

  await test("what is not there, and ids of another form", async () => {
    const id = "0".repeat(64);
    await assert.rejects(client.node(byId(id)), reason("NODE_NOT_FOUND"));
    await assert.rejects(client.assemble(byAlias("none")), reason("ALIAS_NOT_FOUND"));
    await assert.rejects(client.resume("none"), reason("ALIAS_NOT_FOUND"));
    await assert.rejects(client.chat("none"), reason("ALIAS_NOT_FOUND"));
    await assert.rejects(client.put({ parent: byId(id), messages: [user("hi")] }), reason("PARENT_NOT_FOUND"));
    await assert.rejects(client.assemble(byId("xyz")), (error) => {
      assert.ok(isReason(error, "INVALID_FIELD"));
      return error.violations[0]?.field === "head.node_id" || assert.fail(JSON.stringify(error.violations));
    });
    await assert.rejects(client.put({ messages: [] }), (error) => {
      assert.ok(isReason(error, "INVALID_FIELD"));
      return error.violations[0]?.field === "messages";
    });
  });

  await test("assemble begins again midway, frames do not", async () => {
    const head = await longChain("cut");
    await proxy.add({ methods: ["StreamAssemble"], at: "reply", frames: 2, then: "fail", times: 2 });
    assert.equal((await client.assemble(byId(head))).messages.length, 9);
    await proxy.add({ methods: ["StreamAssemble"], at: "reply", frames: 2, then: "fail" });
    let frames = 0;
    await assert.rejects(
      async () => {
        for await (const frame of client.frames(byId(head))) {
          frames += frame.messages.length > 0 ? 1 : 0;
        }
      },
      (error) => error instanceof TranscriptError && error.code === "UNAVAILABLE",
    );
    assert.ok(frames > 0);
    for await (const frame of client.frames(byId(head))) {
      assert.equal(frame.headId, head); // whoever stops midway leaves nothing behind
      break;
    }
    await proxy.reset();
  });

  await test("deadlines, and streams without frames", async () => {
    const head = await longChain("slow");
    await proxy.add({ methods: ["PutNode"], at: "request", hold: true, then: "pass" });
    const began = performance.now();
    await assert.rejects(client.put({ messages: [user("late")] }, { deadlineMs: 100 }), (error) => {
      assert.ok(reason("DEADLINE_EXCEEDED")(error));
      return mayHaveHappened(error);
    });
    assert.ok(performance.now() - began < 2000);
    await proxy.release();
    await proxy.reset();
    await proxy.add({ methods: ["StreamAssemble"], at: "reply", frames: 1, hold: true, then: "pass" });
    const own = connect(proxy.target, { idleMs: 100, retry: { attempts: 1 } });
    await assert.rejects(own.assemble(byId(head)), /no frame for 100 ms/);
    own.close();
    await proxy.release();
    await proxy.reset();
  });

  await test("a signal ends a call with its own reason", async () => {
    const controller = new AbortController();
    await proxy.add({ methods: ["PutNode"], at: "reply", hold: true, then: "pass" });
    const put = client.put({ messages: [user("aborted")] }, { signal: controller.signal });
    await proxy.held();
    const why = new Error("the user left");
    controller.abort(why);
    await assert.rejects(put, (error) => error === why && mayHaveHappened(error));
    await proxy.release();
    await proxy.reset();
    await assert.rejects(client.resolve("a", { signal: controller.signal }), (error) => error === why);
    await assert.rejects(client.resolve("a", { signal: AbortSignal.abort() }), { name: "AbortError" });
  });

  await test("an append that was aborted is made once, if it is made again on its thread", async () => {
    const thread = await client.chat("aborts", system("s"));
    const controller = new AbortController();
    await proxy.add({ methods: ["PutNode"], at: "reply", hold: true, then: "pass" });
    const append = thread.append(user("once"), { signal: controller.signal });
    await proxy.held();
    controller.abort();
    await assert.rejects(append, { name: "AbortError" });
    await proxy.release();
    await proxy.reset();
    await thread.append(user("once"));
    assert.equal((await client.assemble(byAlias("chat/aborts"))).messages.length, 2);
  });

  await test("a repeat that is aborted at once may have happened before", async () => {
    const own = connect(proxy.target, { retry: { attempts: 1 } });
    const thread = await own.chat("repeats", system("s"));
    const node = { messages: [user("once")], aliases: [{ name: "seen" }] };
    await proxy.add({ methods: ["PutNode"], at: "reply", then: "fail" });
    await assert.rejects(thread.appendNode(node), mayHaveHappened);
    for (const refreshed of [false, true]) {
      const signal = AbortSignal.abort(new Error("the user left"));
      await assert.rejects(thread.appendNode(node, { signal }), (e) => e === signal.reason && mayHaveHappened(e));
      if (!refreshed) {
        await thread.refresh();
      }
    }
    const found = await thread.appendNode(node);
    assert.ok(found.retried);
    assert.deepEqual(
      found.aliases.map((alias) => alias.name),
      [thread.alias, "seen"],
    );
    assert.equal((await own.assemble(byAlias("chat/repeats"))).messages.length, 2);
    own.close();
    await proxy.reset();
  });

  await test("a closed client", async () => {
    const own = connect(proxy.target);
    await proxy.add({ methods: ["PutNode"], at: "reply", hold: true, then: "pass" });
    const put = own.put({ messages: [user("under way")] });
    await proxy.held();
    own.close();
    own.close();
    await assert.rejects(put, (error) => isReason(error, "CLOSED") && mayHaveHappened(error));
    await proxy.release();
    await proxy.reset();
    await assert.rejects(own.resolve("a"), (error) => isReason(error, "CLOSED") && !mayHaveHappened(error));
    await assert.rejects(own.frames(byAlias("a")).next(), reason("CLOSED"));
    {
      await using used = connect(proxy.target);
      await assert.rejects(used.resolve("none"), reason("ALIAS_NOT_FOUND"));
    }
  });
});

test("a server that is not there was sent nothing, and is found once it is", async () => {
  const first = await Daemon.start();
  const listen = first.target;
  await first.kill();
  const client = connect(listen);
  await assert.rejects(client.put({ parent: byAlias("a"), messages: [user("hi")] }, { deadlineMs: 300 }), (error) => {
    assert.ok(error instanceof TranscriptError);
    return error.code === "UNAVAILABLE" && !mayHaveHappened(error);
  });
  const resolving = client.resolve("none");
  const again = await Daemon.start({ listen });
  await assert.rejects(resolving, reason("ALIAS_NOT_FOUND"));
  client.close();
  await again.kill();
});

test("replies that are none", async () => {
  const transport = createRouterTransport(({ service }) => {
    service(TranscriptService, {
      resolveAlias: () => ({}),
      listAliases: () => ({ nextPageToken: "x" }),
      putNodes: () => ({}),
      compact: () => ({}),
      async *streamAssemble() {
        yield await Promise.resolve({ headId: "ab" });
      },
      serverInfo: () => {
        throw new ConnectError("said", Code.Unimplemented, { "x-of": "server" });
      },
    });
  });
  const client = new Client(transport);
  await assert.rejects(client.resolve("a"), reason("BAD_REPLY"));
  await assert.rejects(async () => {
    for await (const alias of client.aliases()) {
      assert.fail(alias.name);
    }
  }, reason("BAD_REPLY"));
  await assert.rejects(client.putAll([{ messages: [user("hi")] }]), reason("BAD_REPLY"));
  await assert.rejects(client.compact(byAlias("a")), reason("BAD_REPLY"));
  await assert.rejects(client.assemble(byAlias("a")), /BAD_REPLY|the stream ended early/);
  assert.ok(!(await client.supports("blobs")), "an older server has no features");
});

test("arguments of a wrong type name themselves", async () => {
  const client = new Client(createRouterTransport(() => undefined));
  const any = (value: unknown): never => value as never;
  await assert.rejects(client.resolve(any(5)), /^TypeError: name must be a string/);
  await assert.rejects(client.node(any("chat/1")), /^TypeError: a node must be named by byId\(id\) or byAlias\(name\)/);
  await assert.rejects(
    client.put({ messages: [any({ role: "user" })] }),
    /^TypeError: messages\[0\] must be a Message/,
  );
  await assert.rejects(
    client.put({ messages: [user("\ud800")] }),
    /^TypeError: messages\[0\] has half a surrogate pair/,
  );
  await assert.rejects(client.put({ messages: [user("a")], salt: any("ab") }), /^TypeError: salt must be a Uint8Array/);
  await assert.rejects(
    client.put({ messages: [user("a")], metadata: { a: any(1) } }),
    /^TypeError: metadata\["a"\] must be a string/,
  );
  await assert.rejects(
    client.put({ messages: [user("a")], aliases: [{ name: "a", if: any({ mustNotExist: true }) }] }),
    /^TypeError: a condition must be made by/,
  );
  await assert.rejects(client.resolve("a", { deadlineMs: -1 }), /^RangeError: deadlineMs must be/);
  await assert.rejects(client.start({ messageId: "", messages: user("a") }), reason("NO_NAME"));
  assert.throws(
    () =>
      new Client(
        createRouterTransport(() => undefined),
        { deadlineMs: 0 },
      ),
    /^RangeError: deadlineMs/,
  );
  assert.throws(() => connect(any(5)), /^TypeError: target must be a string/);
});

test("where transcripts may go in plain text", () => {
  for (const [target, isLocal] of [
    ["127.0.0.1:7420", true],
    ["127.8.0.1:1", true],
    ["localhost:7420", true],
    ["[::1]:7420", true],
    ["unix:/run/transcriptd.sock", true],
    ["dns:///localhost:1", true],
    ["example.com:7420", false],
    ["localhost.example.com:7420", false],
    ["127.0.0.1.example.com:1", false],
    ["0.0.0.0:1", false],
    ["[::]:7420", false],
  ] as const) {
    assert.equal(parseTarget(target).isLocal, isLocal, target);
  }
  for (const target of ["", "127.0.0.1", "https://127.0.0.1:7420", "a b:1", "host:99999", "::1:7420"]) {
    assert.throws(() => connect(target), reason("BAD_TARGET"), target);
  }
  assert.throws(() => connect("example.com:7420", { token: "x" }), reason("INSECURE"));
  connect("example.com:7420", { insecure: true }).close();
  for (const wrong of [
    { ca: "/nowhere/ca.pem" },
    { ca: join(tempFolder(), "..", "..", "etc", "hostname") },
    { clientCertificate: { cert: "/nowhere", key: "/nowhere" } },
    { tls: {}, insecure: true },
    { token: "a", tokenFile: "b" },
    { tokenFile: "/nowhere/token" },
  ] satisfies ConnectOptions[]) {
    assert.throws(() => connect("127.0.0.1:7420", wrong), reason("BAD_TARGET"), JSON.stringify(wrong));
  }
});

await suite("who calls", async () => {
  const folder = join(tempFolder(), "callers");
  const principals = join(folder, "principals.json");
  const transcriptctl = (...words: string[]): string => {
    const done = spawnSync(build("./cmd/transcriptctl"), words, { encoding: "utf8" });
    assert.equal(done.status, 0, done.stderr);
    return done.stdout.trim();
  };
  const create = ["token", "create", "--principals", principals, "--namespaces", "acme*", "--role"];
  let daemon: Daemon;
  let writes: string;
  let reads: string;
  let expired: string;
  before(async () => {
    mkdirSync(folder, { mode: 0o700 });
    writes = transcriptctl(...create, "read,append", "writer");
    reads = transcriptctl(...create, "read", "reader");
    expired = transcriptctl(...create, "read", "brief", "--expires", "1s");
    await sleep(1100);
    daemon = await Daemon.start({ flags: ["--principals", principals] });
  });
  after(() => daemon.kill());

  const put = async (options: ConnectOptions): Promise<unknown> => {
    await using client = connect(daemon.target, { namespace: "acme", ...options });
    return await client.put({ messages: [assistant("hi")] });
  };

  await test("a token shows it", async () => {
    const tokenFile = join(folder, "token");
    writeFileSync(tokenFile, `  ${writes}\n`);
    for (const options of [{ token: writes }, { token: () => Promise.resolve(writes) }, { tokenFile }]) {
      assert.ok(await put(options));
    }
  });
  await test("without one, with one that expired, or that may not", async () => {
    for (const options of [{}, { token: "unknown" }, { token: expired }]) {
      await assert.rejects(put(options), (error) => reason("UNAUTHENTICATED")(error) && !mayHaveHappened(error));
    }
    await assert.rejects(put({ token: reads }), reason("PERMISSION_DENIED"));
    await assert.rejects(put({ token: writes, namespace: "other" }), reason("PERMISSION_DENIED"));
    for (const token of ["two words", ""]) {
      assert.throws(() => connect(daemon.target, { token }), reason("BAD_TARGET"));
      await assert.rejects(put({ token: () => token }), (error) => {
        assert.ok(reason("UNAUTHENTICATED")(error));
        return !mayHaveHappened(error) && !String(error).includes("two words");
      });
    }
    const why = new Error("the vault is locked");
    const token = (): Promise<string> => Promise.reject(why);
    await assert.rejects(put({ token }), (error) => reason("UNAUTHENTICATED")(error) && (error as Error).cause === why);
  });
});

await suite("TLS by files", async () => {
  const folder = join(tempFolder(), "tls");
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  let daemon: Daemon;
  before(async () => {
    mkdirSync(folder, { mode: 0o700 });
    const words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
    const more = ["-keyout", key, "-out", cert, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    assert.equal(spawnSync("openssl", [...words, ...more]).status, 0);
    daemon = await Daemon.start({ flags: ["--tls-cert", cert, "--tls-key", key] });
  });
  after(() => daemon.kill());

  await test("a server that is trusted, and one that is not", async () => {
    const target = daemon.target.replace("127.0.0.1", "localhost");
    await using trusting = connect(target, { ca: cert });
    assert.ok((await trusting.serverInfo()).features.length > 0);
    await using doubting = connect(target, { tls: {} });
    await assert.rejects(doubting.serverInfo({ deadlineMs: 300 }), (error) => {
      assert.ok(error instanceof TranscriptError);
      assert.match(error.message, /certificate/);
      return error.code === "UNAVAILABLE" && !mayHaveHappened(error);
    });
  });
});
