// What all methods of a Client rest on.

import { createClient, type Client as Rpc, type Transport } from "@connectrpc/connect";

import { ViewCache } from "../cache.js";
import { Caller, type CallOptions, type Scope } from "../call.js";
import { fault } from "../errors.js";
import { explaining } from "../features.js";
import { AdminService } from "../gen/transcript/v1/admin_service_pb.js";
import { TranscriptService, type ServerInfoResponse } from "../gen/transcript/v1/transcript_service_pb.js";
import { Ledger } from "../ledger.js";
import { mustBeString } from "../refs.js";
import type { Retry } from "../retry.js";
import { VERSION } from "../version.js";

/** How a Client works. */
export interface ClientOptions {
  /** The namespace of every call: [a-z0-9._-], 1 to 64 characters; "default" without. */
  readonly namespace?: string | undefined;
  /**
   * How many milliseconds a call of the service may take, repeats included, where the method was not given its own; 30,000 without. Infinity: it
   * has no deadline, and then is repeated until the pauses between its attempts come to a minute.
   */
  readonly deadlineMs?: number | undefined;
  /** How many milliseconds a stream may go without a frame; 30,000 without. The stream as a whole may take any time. */
  readonly idleMs?: number | undefined;
  /** How calls are repeated that may be. */
  readonly retry?: Retry | undefined;
  /** Recomputes the ids of whatever is put and assembled: see Query.verify. */
  readonly verify?: boolean | undefined;
  /**
   * Leaves out the salts of appends: equal appends below one node are one node, and ids are those of their content. Of writers that put the
   * same at once, one whose reply was lost may then take another's node for its own. For tests that compare ids.
   */
  readonly deterministic?: boolean | undefined;
  /**
   * Bounds what the Client's threads keep of what they assembled, all of them together; 64 MiB without, 0: nothing is kept.
   */
  readonly cacheBytes?: number | undefined;
  /** @internal Whether an attempt that failed so was never sent, as far as the transport knows. */
  readonly unsent?: (error: unknown) => boolean;
  /** @internal Closes the connection. */
  readonly disconnect?: () => void;
}

/** How many entries a page is asked for: the most that the server gives. */
export const PAGE_SIZE = 1000;

/** The connection of a Client and its settings. */
export abstract class Base {
  /** @internal */
  readonly caller: Caller;
  /** @internal */
  readonly rpc: Rpc<typeof TranscriptService>;
  /** @internal */
  readonly admin: Rpc<typeof AdminService>;
  /** @internal */
  readonly namespace: string;
  /** @internal */
  readonly verifies: boolean;
  /** @internal */
  readonly deterministic: boolean;
  /** @internal */
  readonly cache: ViewCache;
  /** @internal What began threads, and compactions, that may have taken place. */
  readonly unsure = new Ledger();
  private readonly disconnect: () => void;

  /**
   * A Client on a connection that stays the caller's; connect makes one with its own. The transport must not repeat calls by itself.
   */
  constructor(transport: Transport, options: ClientOptions = {}) {
    const none = (): boolean => false;
    this.namespace = mustBeString("namespace", options.namespace ?? "");
    this.verifies = mustBeBoolean("verify", options.verify ?? false);
    this.deterministic = mustBeBoolean("deterministic", options.deterministic ?? false);
    this.cache = new ViewCache(mustNotBeNegative("cacheBytes", options.cacheBytes ?? 64 << 20));
    this.caller = new Caller({
      deadlineMs: milliseconds("deadlineMs", options.deadlineMs),
      idleMs: milliseconds("idleMs", options.idleMs),
      retry: mustBeRetry(options.retry ?? {}),
      unsent: options.unsent ?? none,
    });
    this.disconnect = options.disconnect ?? ((): void => undefined);
    const named = explaining(withUserAgent(transport), () => this.serverInfo());
    this.rpc = createClient(TranscriptService, named);
    this.admin = createClient(AdminService, named);
  }

  abstract serverInfo(options?: CallOptions): Promise<ServerInfoResponse>;

  /**
   * Ends the connection if connect made it, and with it calls under way. They, and all calls from then on, fail with CLOSED. Closing again does
   * nothing.
   */
  close(): void {
    this.caller.close();
    this.disconnect();
  }

  /** close, at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }

  /** close, at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** @internal Gives the entries of page after page. */
  async *pages<T>(
    fetch: (pageToken: string) => Promise<{ entries: readonly T[]; next: string }>,
  ): AsyncGenerator<T, void, undefined> {
    let token = "";
    do {
      const { entries, next } = await fetch(token);
      if (next !== "" && next === token) {
        throw fault("BAD_REPLY", "a page leads to itself");
      }
      yield* entries;
      token = next;
    } while (token !== "");
  }
}

function milliseconds(argument: string, given: number | undefined): number {
  const value = given ?? 30_000;
  if (!(typeof value === "number" && value > 0)) {
    throw new RangeError(`${argument} must be a number of milliseconds above 0, or Infinity`);
  }
  return value;
}

function mustBeBoolean(argument: string, value: unknown): boolean {
  if (typeof value !== "boolean") {
    throw new TypeError(`${argument} must be true or false`);
  }
  return value;
}

function mustNotBeNegative(argument: string, value: unknown): number {
  if (typeof value !== "number" || !(value >= 0)) {
    throw new RangeError(`${argument} must be a number, 0 or more`);
  }
  return value;
}

function mustBeRetry(retry: Retry): Retry {
  if (typeof retry !== "object") {
    throw new TypeError("retry must be an object with attempts, firstMs and maxMs");
  }
  const { attempts = 1, firstMs = 1, maxMs = 1 } = retry;
  if (!(Number.isInteger(attempts) && attempts >= 1)) {
    throw new RangeError(
      "retry.attempts must be a whole number above 0; without it calls are sent as often as there is time",
    );
  }
  for (const [name, value] of Object.entries({ firstMs, maxMs })) {
    if (!(typeof value === "number" && value > 0)) {
      throw new RangeError(`retry.${name} must be a number of milliseconds above 0`);
    }
  }
  return retry;
}

/** The transport, whose calls say who makes them. */
function withUserAgent(transport: Transport): Transport {
  const named = (header: HeadersInit | undefined): Headers => {
    const headers = new Headers(header);
    headers.set("user-agent", `transcriptd-js/${VERSION}`);
    return headers;
  };
  return {
    unary: (method, signal, timeoutMs, header, input, contextValues) =>
      transport.unary(method, signal, timeoutMs, named(header), input, contextValues),
    stream: (method, signal, timeoutMs, header, input, contextValues) =>
      transport.stream(method, signal, timeoutMs, named(header), input, contextValues),
  };
}

export type { CallOptions, Scope };
