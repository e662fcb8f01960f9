// The proxy that loses replies: internal/lossy, which proto/testdata/README.md describes.

import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

import { build } from "./daemon.js";
import { ProxyControl } from "./proxycontrol.js";

interface Where {
  readonly address: string;
  readonly control: string;
  readonly http?: string;
}

/** A proxy that runs as a process of this one. */
export class Proxy extends ProxyControl {
  private constructor(
    private readonly where: Where,
    private readonly process: ChildProcess,
  ) {
    super(where.control);
  }

  /** Starts a proxy before a server, and before its HTTP side at a URL. */
  static async start(to: string, http?: string): Promise<Proxy> {
    const given = ["-to", to, ...(http === undefined ? [] : ["-http", http])];
    const child = spawn(build("./internal/lossy/proxy"), given, { stdio: ["pipe", "pipe", "inherit"] });
    for await (const line of createInterface({ input: child.stdout })) {
      return new Proxy(JSON.parse(line) as Where, child);
    }
    throw new Error("the proxy does not serve");
  }

  /** Where clients call over gRPC. */
  get target(): string {
    return this.where.address;
  }

  /** Where they call over HTTP. */
  get http(): string {
    return this.where.http ?? "";
  }

  /** Where it is told what to do. */
  get controlUrl(): string {
    return this.where.control;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.stdin?.end();
    await ended;
  }
}
