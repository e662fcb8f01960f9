import assert from "node:assert/strict";
import { createServer as createHttp2Server } from "node:http2";
import { connect as connectSocket, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { after, before, suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";

import { byId, connect, mayHaveHappened, TranscriptError, user } from "../src/index.js";
import { Daemon } from "./daemon.js";

let daemon: Daemon;
before(async () => {
  daemon = await Daemon.start();
});
after(async () => {
  await daemon.kill();
});

/** Serves for a daemon, but breaks so many of the first connections, each when a call came by it. */
async function breaking(times: number): Promise<{ target: string; close(): void }> {
  const open = new Set<Socket>();
  const breaks = createHttp2Server();
  breaks.on("stream", (stream) => {
    for (const socket of open) {
      socket.destroy();
    }
    stream.on("error", () => undefined);
  });
  const [host = "", port = ""] = daemon.target.split(":");
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket)).on("error", () => undefined);
    if (times-- > 0) {
      breaks.emit("connection", socket);
      return;
    }
    const through = connectSocket(Number(port), host).on("error", () => undefined);
    socket.pipe(through).pipe(socket);
    socket.on("close", () => through.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    target: `127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    close: () => {
      for (const socket of open) {
        socket.destroy();
      }
      server.close();
    },
  };
}

await suite("a connection that breaks under a call", async () => {
  await test("is UNAVAILABLE, and the call may have taken place", async () => {
    const server = await breaking(1);
    const client = connect(server.target, { retry: { attempts: 1 } });
    await assert.rejects(client.put({ messages: [user("Hello?")] }), (error) => {
      assert.ok(error instanceof TranscriptError);
      assert.equal(error.code, "UNAVAILABLE");
      return mayHaveHappened(error);
    });
    client.close();
    server.close();
  });

  await test("is repeated where that does nothing twice, also a stream", async () => {
    const server = await breaking(1);
    const client = connect(server.target);
    const { nodeId } = await client.put({ messages: [user("Hello?")] });
    client.close();
    server.close();
    const again = await breaking(1);
    const reader = connect(again.target);
    assert.equal((await reader.assemble(byId(nodeId))).headId, nodeId);
    reader.close();
    again.close();
  });
});

/** The target of a server that is closed behind the block. */
async function listening(server: Server, use: (target: string) => Promise<void>): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await use(`127.0.0.1:${String((server.address() as AddressInfo).port)}`);
  server.close();
}

await suite("what is no server of transcripts", async () => {
  await test("may speak another protocol: that ends no process", async () => {
    const web = createServer((socket) => {
      socket.on("error", () => undefined).end("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    await listening(web, async (target) => {
      const client = connect(target, { retry: { attempts: 2, firstMs: 1 } });
      for (let i = 0; i < 3; i++) {
        await assert.rejects(
          client.resolve("a"),
          (error) => error instanceof TranscriptError && error.code === "UNAVAILABLE",
        );
      }
      client.close();
      await sleep(50); // an error that nobody listens to comes behind the call
    });
  });

  await test("may send more than a reply has: it is not read, nor unpacked", async () => {
    const packed = gzipSync(Buffer.alloc(64 << 20));
    const frame = (isPacked: number, length: number, data: Uint8Array): Buffer => {
      const head = Buffer.from([isPacked, 0, 0, 0, 0]);
      head.writeUInt32BE(length, 1);
      return Buffer.concat([head, data]);
    };
    for (const sent of [frame(1, packed.length, packed), frame(0, 64 << 20, new Uint8Array(9))]) {
      const server = createHttp2Server().on("stream", (stream) => {
        stream.on("error", () => undefined);
        stream.respond({ ":status": 200, "content-type": "application/grpc", "grpc-encoding": "gzip" });
        stream.write(sent);
      });
      await listening(server, async (target) => {
        const client = connect(target, { retry: { attempts: 1 } });
        await assert.rejects(
          client.resolve("a"),
          (error) => error instanceof TranscriptError && error.code === "RESOURCE_EXHAUSTED",
        );
        client.close();
      });
    }
  });
});
