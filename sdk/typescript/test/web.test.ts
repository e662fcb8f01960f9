// The SDK over fetch alone, in a browser and in workerd: neither has a module of Node.

import { build as bundle } from "esbuild";
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { Daemon, tempFolder } from "./daemon.js";
import { Proxy } from "./proxy.js";
import type { Scenario } from "./scenarios.js";
import { ROOT, testdata } from "./testdata.js";
import type { Outcome, Where } from "./web/checks.js";

const SCENARIOS = testdata("scenarios.json") as Scenario[];
const HERE = join(ROOT, "sdk", "typescript", "test", "web");
const WITHIN = 180_000; // milliseconds that all checks may take

/** Bundles an entry for where there is no Node: what needs it does not build. */
async function bundled(entry: string): Promise<string> {
  const outfile = join(tempFolder(), entry.replace(".ts", ".js"));
  await bundle({
    entryPoints: [join(HERE, entry)],
    outfile,
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    logLevel: "silent",
    alias: { "node:assert/strict": join(HERE, "assert.ts") },
  });
  return outfile;
}

async function body(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) {
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString();
}

/** Listens at a free port of this machine. */
async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

function judge(outcomes: readonly Outcome[]): void {
  assert.ok(outcomes.length > 40, `${String(outcomes.length)} checks were made`);
  assert.deepEqual(
    outcomes.filter((o) => o.error !== undefined),
    [],
  );
}

/** Skips where a program is not there, unless WEB=all says that it must be. */
function needs(t: TestContext, found: boolean, what: string): boolean {
  assert.ok(found || process.env.WEB !== "all", `${what} is not there`);
  if (!found) {
    t.skip(`${what} is not there: nothing was checked`);
  }
  return found;
}

test("in Chromium", { timeout: WITHIN }, async (t) => {
  const chromium = ["chromium", "chromium-browser", "google-chrome"].find(
    (p) => spawnSync(p, ["--version"]).status === 0,
  );
  if (!needs(t, chromium !== undefined, "Chromium") || chromium === undefined) {
    return;
  }
  const page = await bundled("page.ts");
  let tell: (outcomes: Outcome[]) => void = () => undefined;
  const told = new Promise<Outcome[]>((resolve) => (tell = resolve));
  const where: Partial<Where> = {};
  // The page's own server passes on what the proxy is told, so that it is of one origin.
  const server = createServer((request, response) => {
    void (async () => {
      const path = request.url ?? "/";
      if (path === "/") {
        response
          .setHeader("content-type", "text/html")
          .end('<!doctype html><script type="module" src="/page.js"></script>');
      } else if (path === "/page.js") {
        response.setHeader("content-type", "text/javascript").end(readFileSync(page));
      } else if (path === "/where") {
        response.end(JSON.stringify({ ...where, control: "/control" }));
      } else if (path === "/outcomes") {
        tell(JSON.parse(await body(request)) as Outcome[]);
        response.end();
      } else if (path.startsWith("/control/")) {
        const text = await body(request);
        const reply = await fetch((where.control ?? "") + path.replace("/control", ""), {
          method: request.method ?? "GET",
          ...(text !== "" && { body: text }),
        });
        response.writeHead(reply.status).end(await reply.text());
      } else {
        response.writeHead(404).end();
      }
    })();
  });
  const origin = await listen(server);
  await using daemon = await Daemon.start({ flags: ["--http-listen=127.0.0.1:0", `--http-origin=${origin}`] });
  const proxy = await Proxy.start(daemon.target, daemon.http);
  Object.assign(where, {
    server: daemon.http,
    proxy: proxy.http,
    control: proxy.controlUrl,
    scenarios: SCENARIOS,
  } satisfies Where);
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", `--user-data-dir=${join(tempFolder(), "chromium")}`];
  const browser = spawn(chromium, [...flags, "--remote-debugging-port=0", origin], { stdio: "ignore", detached: true });
  const ended = new Promise((resolve) => browser.once("exit", resolve));
  try {
    judge(await Promise.race([told, ended.then(() => Promise.reject(new Error("the browser has ended")))]));
  } finally {
    try {
      process.kill(-(browser.pid ?? 0), "SIGKILL");
    } catch {
      // it has ended
    }
    await proxy.stop();
    server.closeAllConnections();
    server.close();
  }
});

test("in workerd", { timeout: WITHIN }, async (t) => {
  const workerd = createRequire(import.meta.url).resolve("workerd/bin/workerd");
  if (!needs(t, spawnSync(workerd, ["--version"]).status === 0, "workerd")) {
    return;
  }
  const config = join(tempFolder(), "worker.capnp");
  const free = createServer();
  const address = await listen(free);
  await new Promise((resolve) => free.close(resolve));
  await bundled("worker.ts");
  writeFileSync(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (modules = [(name = "worker.js", esModule = embed "worker.js")], compatibilityDate = "2026-01-01")),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "${address.replace("http://", "")}", http = (), service = "main")],
);
`,
  );
  await using daemon = await Daemon.start({ flags: ["--http-listen=127.0.0.1:0"] });
  const proxy = await Proxy.start(daemon.target, daemon.http);
  const worker = spawn(workerd, ["serve", config], { stdio: ["ignore", "ignore", "inherit"] });
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  try {
    const where: Where = {
      server: daemon.http,
      proxy: proxy.http,
      control: proxy.controlUrl,
      scenarios: SCENARIOS,
    };
    for (;;) {
      try {
        const reply = await fetch(address, { method: "POST", body: JSON.stringify(where) });
        judge((await reply.json()) as Outcome[]);
        return;
      } catch (error) {
        if (!(error instanceof TypeError) || worker.exitCode !== null) {
          throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, 100)); // it does not listen yet
      }
    }
  } finally {
    worker.kill("SIGKILL");
    await ended;
    await proxy.stop();
  }
});
