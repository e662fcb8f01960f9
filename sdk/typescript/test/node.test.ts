// What needs Node: sockets, TLS by files, tokens in files.

import { create } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TLSSocket } from "node:tls";

import {
  connect,
  ServerInfoResponseSchema,
  TranscriptError,
  TranscriptService,
  VERSION,
  type Client,
} from "../src/index.js";
import { Daemon, tempFolder } from "./daemon.js";
import { ROOT } from "./testdata.js";

/** The folder of one test, for its owner alone. */
function folderOf(name: string): string {
  const folder = join(tempFolder(), name);
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

/** What a server was sent with a call of ListNamespaces. */
interface Seen {
  readonly headers: Headers;
  /** The name of the client's certificate, if it showed one that the server trusts. */
  readonly shown: string | undefined;
}

/** A server over HTTP/2 that keeps what it was sent. */
class Listener {
  readonly seen: Seen[] = [];
  readonly sessions: http2.ServerHttp2Session[] = [];
  private readonly server: http2.Http2Server;

  constructor(tls?: http2.SecureServerOptions) {
    const handler = connectNodeAdapter({
      routes: ({ service }) => {
        service(TranscriptService, {
          listNamespaces: (_, { requestHeader }) => {
            this.seen.push({ headers: requestHeader, shown: this.last });
            return {};
          },
          serverInfo: () => create(ServerInfoResponseSchema, { engine: "fake" }),
        });
      },
    });
    const answer = (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse): void => {
      const socket = request.stream.session?.socket as TLSSocket | undefined;
      this.last = socket?.authorized === true ? socket.getPeerCertificate().subject.CN : undefined;
      handler(request, response);
    };
    this.server = tls === undefined ? http2.createServer(answer) : http2.createSecureServer(tls, answer);
    this.server.on("session", (session) => this.sessions.push(session));
  }

  private last: string | undefined;

  /** Listens, and gives the port. */
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return (this.server.address() as AddressInfo).port;
  }

  close(): void {
    for (const session of this.sessions) {
      session.destroy();
    }
    this.server.close();
  }
}

/** Makes a call, whose answer no client keeps. */
async function called(client: Client, deadlineMs = 5000): Promise<void> {
  for await (const name of client.namespaces({ deadlineMs })) {
    assert.fail(name);
  }
}

/** Makes a CA, and a certificate for this machine that it has signed: NAME-ca.pem, NAME.pem, NAME.key. */
function certificates(folder: string, name: string): void {
  const openssl = (...words: string[]): void => {
    const done = spawnSync("openssl", words, { cwd: folder, encoding: "utf8" });
    assert.equal(done.status, 0, done.stderr);
  };
  const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
  openssl(...made, "-keyout", `${name}-ca.key`, "-out", `${name}-ca.pem`, "-subj", `/CN=${name}-ca`);
  const signed = ["-CA", `${name}-ca.pem`, "-CAkey", `${name}-ca.key`, "-addext", "basicConstraints=CA:FALSE"];
  const own = ["-keyout", `${name}.key`, "-out", `${name}.pem`, "-subj", `/CN=${name}`];
  openssl(...made, ...own, ...signed, "-addext", "subjectAltName=IP:127.0.0.1");
}

await suite("over Node", async () => {
  await test("a unix socket", async () => {
    const listen = `unix://${folderOf("socket")}/grpc.sock`;
    await using daemon = await Daemon.start({ listen });
    assert.ok(daemon.target !== "");
    await using client = connect(listen, { token: "shown-in-plain-text" });
    assert.equal((await client.serverInfo()).engine, "memory");
  });

  await test("a call says who makes it, and by which version", async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "sdk", "typescript", "package.json"), "utf8")) as {
      version: string;
    };
    assert.equal(VERSION, version);
    const listener = new Listener();
    await using client = connect(`127.0.0.1:${String(await listener.listen())}`, { token: "word" });
    await called(client);
    assert.equal(listener.seen[0]?.headers.get("user-agent"), `transcriptd-js/${version}`);
    assert.equal(listener.seen[0].headers.get("authorization"), "Bearer word");
    listener.close();
  });

  await test("a new token in the file is shown within a second, and the last one while there is none", async () => {
    const tokenFile = join(folderOf("token"), "token");
    writeFileSync(tokenFile, " first\n");
    const listener = new Listener();
    await using client = connect(`127.0.0.1:${String(await listener.listen())}`, { tokenFile });
    const shown = async (): Promise<string | null | undefined> => {
      await called(client);
      return listener.seen.at(-1)?.headers.get("authorization");
    };
    assert.equal(await shown(), "Bearer first");
    writeFileSync(tokenFile, "second");
    await sleep(1050);
    assert.equal(await shown(), "Bearer second");
    writeFileSync(tokenFile, "");
    await sleep(1050);
    assert.equal(await shown(), "Bearer second");
    listener.close();
  });

  await test("a token function is asked for each call", async () => {
    let asked = 0;
    const listener = new Listener();
    const token = (): Promise<string> => Promise.resolve(`t${String(++asked)}`);
    await using client = connect(`127.0.0.1:${String(await listener.listen())}`, { token });
    await called(client);
    await called(client);
    assert.deepEqual(
      listener.seen.map(({ headers }) => headers.get("authorization")),
      ["Bearer t1", "Bearer t2"],
    );
    listener.close();
  });

  await test("TLS by files: whom to trust, and who calls; new files make the next connection", async () => {
    const folder = folderOf("tls");
    for (const name of ["one", "two", "three"]) {
      certificates(folder, name);
    }
    const file = (name: string): string => join(folder, name);
    const trusted = file("trusted.pem");
    copyFileSync(file("two-ca.pem"), trusted);
    const listener = new Listener({
      cert: readFileSync(file("one.pem")),
      key: readFileSync(file("one.key")),
      ca: readFileSync(file("three-ca.pem")),
      requestCert: true,
      rejectUnauthorized: false,
    });
    const target = `127.0.0.1:${String(await listener.listen())}`;
    const clientCertificate = { cert: file("mine.pem"), key: file("mine.key") };
    copyFileSync(file("two.pem"), clientCertificate.cert);
    copyFileSync(file("two.key"), clientCertificate.key);
    await using client = connect(target, { ca: trusted, clientCertificate, retry: { attempts: 1 } });
    await assert.rejects(called(client), (error) => {
      assert.ok(error instanceof TranscriptError);
      return error.code === "UNAVAILABLE" && error.undone;
    });
    copyFileSync(file("one-ca.pem"), trusted);
    await called(client);
    assert.equal(listener.seen.at(-1)?.shown, undefined, "of a CA that the server does not trust");
    copyFileSync(file("three.pem"), clientCertificate.cert);
    copyFileSync(file("three.key"), clientCertificate.key);
    for (const session of listener.sessions) {
      session.close();
    }
    await sleep(50);
    await called(client);
    assert.equal(listener.seen.at(-1)?.shown, "three");
    writeFileSync(trusted, "");
    listener.sessions.at(-1)?.close();
    await sleep(50);
    await called(client);
    listener.close();
  });

  await test("a server that closes its connection between calls is called over another", async () => {
    const listener = new Listener();
    await using client = connect(`127.0.0.1:${String(await listener.listen())}`, { retry: { attempts: 1 } });
    for (let i = 0; i < 3; i++) {
      await called(client);
      listener.sessions.at(-1)?.close();
      await sleep(20);
    }
    assert.equal(listener.sessions.length, 3);
    listener.close();
  });
});
