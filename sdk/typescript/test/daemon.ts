// A transcriptd of its own for tests.

import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { ROOT } from "./testdata.js";

let folder: string | undefined;

/** A folder that goes with the process. */
export function tempFolder(): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), "transcriptd-"));
    folder = made;
    process.on("exit", () => {
      rmSync(made, { recursive: true, force: true });
    });
  }
  return folder;
}

const built = new Map<string, string>();

/** Builds a command of the repository, once a process, and gives its path. */
export function build(command: string): string {
  let path = built.get(command);
  if (path === undefined) {
    path = join(tempFolder(), command.replace(/.*\//, ""));
    const done = spawnSync("go", ["build", "-o", path, command], { cwd: ROOT, stdio: "inherit" });
    if (done.status !== 0) {
      throw new Error(`${command} does not build`);
    }
    built.set(command, path);
  }
  return path;
}

/** A running daemon. */
export class Daemon {
  private constructor(
    /** Where it serves. */
    readonly target: string,
    /** The URL where it has HTTP; empty without --http-listen. */
    readonly http: string,
    private readonly process: ChildProcess,
    private readonly lines: string[],
  ) {}

  /**
   * Starts a daemon, the binary that TRANSCRIPTD names or one that is built here. It keeps what it has in the folder data, or in memory, and serves
   * at listen, or a free port; further flags are those of the command.
   */
  static async start(options: { data?: string; listen?: string; flags?: readonly string[] } = {}): Promise<Daemon> {
    const { data, listen = "127.0.0.1:0", flags = [] } = options;
    const store = data === undefined ? "memory:" : `badger://${data}`;
    const binary = process.env.TRANSCRIPTD ?? build("./cmd/transcriptd");
    const own = [`--listen=${listen}`, "--admin-listen=off", `--store=${store}`];
    const child = spawn(binary, [...own, ...flags], { stdio: ["ignore", "ignore", "pipe"] });
    const lines: string[] = [];
    const [target, http] = await new Promise<[string, string]>((resolve, reject) => {
      createInterface({ input: child.stderr }).on("line", (line) => {
        lines.push(line);
        const found =
          /serves gRPC(?: over TLS)? on (\S+?)(?:, metrics and health on \S+?)?(?:, calls over HTTP on (\S+))?; data in/.exec(
            line,
          );
        if (found !== null) {
          resolve([found[1] ?? "", found[2] ?? ""]);
        }
      });
      child.once("exit", () => {
        reject(new Error(`the daemon does not serve:\n${lines.join("\n")}`));
      });
    });
    process.on("exit", () => child.kill("SIGKILL"));
    return new Daemon(target, http, child, lines);
  }

  /** What it has logged so far. */
  get log(): string {
    return this.lines.join("\n");
  }

  /** Ends it at once, as a crash does. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  /** Drains it and waits for its end. */
  async stop(): Promise<void> {
    await this.end("SIGTERM");
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) {
      return;
    }
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill(signal);
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
