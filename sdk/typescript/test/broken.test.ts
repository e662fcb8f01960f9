import assert from "node:assert/strict";
import { createServer as createHttp2Server } from "node:http2";
import { connect as connectSocket, createServer, type AddressInfo, type Socket } from "node:net";
import { after, before, suite, test } from "node:test";

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
