// The proxy that loses replies: internal/lossy, which proto/testdata/README.md describes.

import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";

import { build } from "./daemon.js";

/** What the proxy has seen since it was reset. */
export interface ProxyState {
  readonly calls?: Readonly<Record<string, number>>;
  readonly rules?: readonly unknown[];
}

/** A running proxy. */
export class Proxy {
  private constructor(
    /** Where clients call. */
    readonly target: string,
    private readonly control: string,
    private readonly process: ChildProcess,
  ) {}

  /** Starts a proxy before a server. */
  static async start(to: string): Promise<Proxy> {
    const child = spawn(build("./internal/lossy/proxy"), ["-to", to], { stdio: ["pipe", "pipe", "inherit"] });
    for await (const line of createInterface({ input: child.stdout })) {
      const { address, control } = JSON.parse(line) as { address: string; control: string };
      return new Proxy(address, control, child);
    }
    throw new Error("the proxy does not serve");
  }

  /** Adds a rule. */
  async add(rule: unknown): Promise<void> {
    await this.ask("POST", "/rules", rule);
  }

  /** Waits until a call is held. */
  async held(): Promise<void> {
    await this.ask("GET", "/held");
  }

  /** Lets held calls go on. */
  async release(): Promise<void> {
    await this.ask("POST", "/release");
  }

  async state(): Promise<ProxyState> {
    return (await this.ask("GET", "/state")) as ProxyState;
  }

  /** Forgets rules and counts. */
  async reset(): Promise<void> {
    await this.ask("POST", "/reset");
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.stdin?.end();
    await ended;
  }

  private async ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const reply = await fetch(this.control + path, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    });
    const text = await reply.text();
    if (!reply.ok) {
      throw new Error(`the proxy refuses ${path}: ${text}`);
    }
    return text === "" ? undefined : JSON.parse(text);
  }
}
