// How calls are made: their deadlines, their repeats, and what ends them.

import type { CallOptions as ConnectCallOptions } from "@connectrpc/connect";

import { abortedFor, fault, mayHaveHappened, TranscriptError, typed, undone } from "./errors.js";
import { Pauses, transient, type Retry } from "./retry.js";

/** What each method takes as its last argument. */
export interface CallOptions {
  /**
   * Ends the call: it fails with the signal's reason, as it is. Of a write that was under way mayHaveHappened tells whether it may have taken
   * place; of a reason that is no object, such as a text, it always says so.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * How many milliseconds the whole may take, repeats included; without, each call of the service takes at most as long as the Client's
   * deadlineMs.
   */
  readonly deadlineMs?: number | undefined;
}

/** The bounds of what a method does: what ends it, and when it has to be done, by performance.now(). */
export interface Scope {
  readonly signal: AbortSignal | undefined;
  readonly deadline: number | undefined;
}

/** The scope of a method that was called with these options. RangeError for a deadline that is none. */
export function scopeOf(options: CallOptions = {}): Scope {
  const { signal, deadlineMs } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError("signal must be an AbortSignal");
  }
  if (deadlineMs !== undefined && !(typeof deadlineMs === "number" && deadlineMs > 0)) {
    throw new RangeError("deadlineMs must be a number of milliseconds above 0");
  }
  return { signal, deadline: deadlineMs === undefined ? undefined : performance.now() + deadlineMs };
}

/** How a Client makes its calls. */
export interface CallerOptions {
  readonly deadlineMs: number;
  readonly idleMs: number;
  readonly retry: Retry;
  /** Whether an attempt that failed so was never sent, as far as the transport knows. */
  readonly unsent: (error: unknown) => boolean;
}

/** The most that gRPC's header for a timeout holds, in milliseconds. */
const MAX_TIMEOUT_MS = 99_999_999;

/** The milliseconds before a deadline from which on a stream that breaks is one whose deadline has passed by the server's clock. */
const EARLY_MS = 50;

/** The most that setTimeout takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Makes calls until it is closed. */
export class Caller {
  private closed = false;
  /** What is under way. One signal for all would have as many listeners, of which Node warns. */
  private readonly open = new Set<Ends>();

  constructor(private readonly options: CallerOptions) {}

  /** Ends calls under way and refuses others. */
  close(): void {
    this.closed = true;
    for (const ends of this.open) {
      ends.abort();
    }
  }

  /** The scope, with the client's deadline where it has none. */
  bounded(scope: Scope): Scope {
    const { deadlineMs } = this.options;
    if (scope.deadline !== undefined || !Number.isFinite(deadlineMs)) {
      return scope;
    }
    return { ...scope, deadline: performance.now() + deadlineMs };
  }

  /**
   * Makes a call until it succeeds, fails for good or may not be repeated, and tells whether an earlier attempt may have taken place although
   * it failed, in the error too.
   */
  async unary<T>(
    scope: Scope,
    may: (error: unknown) => boolean,
    attempt: (options: ConnectCallOptions) => Promise<T>,
  ): Promise<{ reply: T; unsure: boolean }> {
    const bounded = this.bounded(scope);
    return this.run(bounded, may, () => this.attempt(bounded, attempt));
  }

  /** unary for what only reads. */
  async read<T>(scope: Scope, attempt: (options: ConnectCallOptions) => Promise<T>): Promise<T> {
    return (await this.unary(scope, transient, attempt)).reply;
  }

  /** Does something that calls the service until it succeeds, as unary does. */
  async run<T>(
    scope: Scope,
    may: (error: unknown) => boolean,
    attempt: () => Promise<T>,
  ): Promise<{ reply: T; unsure: boolean }> {
    const pauses = new Pauses(this.options.retry, scope.deadline);
    let unsure = false;
    for (let n = 1; ; n++) {
      try {
        this.mayBegin(scope);
        return { reply: await attempt(), unsure };
      } catch (error) {
        if (n === this.options.retry.attempts || !may(error) || !(await this.pause(scope, pauses, error))) {
          if (error instanceof TranscriptError) {
            error.retried ||= unsure;
          }
          throw unsure && scope.signal?.aborted === true ? abortedFor(error) : error;
        }
        unsure ||= mayHaveHappened(error);
      }
    }
  }

  /** Gives a stream's frames; until the first came, it opens it again where the server is unavailable. */
  async *stream<T>(
    scope: Scope,
    open: (options: ConnectCallOptions) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    const pauses = new Pauses(this.options.retry, scope.deadline);
    let begun = false;
    for (let n = 1; ; n++) {
      try {
        for await (const frame of this.receive(scope, open)) {
          begun = true;
          yield frame;
        }
        return;
      } catch (error) {
        const again = !begun && n !== this.options.retry.attempts && transient(error);
        if (!again || !(await this.pause(scope, pauses, error))) {
          throw error;
        }
      }
    }
  }

  /**
   * Opens a stream once and gives its frames. It leaves nothing running. No frame for the client's idle time is DEADLINE_EXCEEDED; time that
   * the consumer takes does not count.
   */
  async *receive<T>(
    scope: Scope,
    open: (options: ConnectCallOptions) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    this.mayBegin(scope);
    const { idleMs } = this.options;
    const ends = new Ends(scope.signal, this.open);
    const idle = { passed: false };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = (): void => {
      if (Number.isFinite(idleMs)) {
        timer = setTimeout(
          () => {
            idle.passed = true;
            ends.abort();
          },
          Math.min(idleMs, MAX_TIMER_MS),
        );
      }
    };
    wait();
    try {
      for await (const frame of open({ signal: ends.signal, ...timeoutOf(scope) })) {
        clearTimeout(timer);
        yield frame;
        wait();
      }
    } catch (error) {
      if (idle.passed && !this.closed && scope.signal?.aborted !== true) {
        throw new TranscriptError("DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", `no frame for ${String(idleMs)} ms`);
      }
      throw this.told(scope, error);
    } finally {
      clearTimeout(timer);
      ends.abort(); // a stream whose consumer wants no more
      ends.end();
    }
  }

  /** Sends a request once. */
  private async attempt<T>(scope: Scope, send: (options: ConnectCallOptions) => Promise<T>): Promise<T> {
    const ends = new Ends(scope.signal, this.open);
    try {
      return await send({ signal: ends.signal, ...timeoutOf(scope) });
    } catch (error) {
      throw this.told(scope, error);
    } finally {
      ends.end();
    }
  }

  /** Throws where the client is closed, the caller has aborted, or there is no time. */
  private mayBegin(scope: Scope): void {
    if (this.closed) {
      throw undone(fault("CLOSED"));
    }
    scope.signal?.throwIfAborted();
    if (scope.deadline !== undefined && performance.now() >= scope.deadline) {
      throw undone(
        new TranscriptError("DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED: the deadline has passed"),
      );
    }
  }

  /** What an attempt failed with, as its caller is told it. */
  private told(scope: Scope, error: unknown): unknown {
    if (scope.signal?.aborted === true) {
      return abortedFor(scope.signal.reason);
    }
    if (this.closed) {
      return fault("CLOSED");
    }
    const told = typed(error, false);
    if (this.options.unsent(error)) {
      return undone(told);
    }
    const passed = scope.deadline !== undefined && scope.deadline - performance.now() < EARLY_MS;
    if (passed && told instanceof TranscriptError && told.code === "UNAVAILABLE" && told.requestId === "") {
      // The server found first that the deadline has passed, and reset the stream.
      return new TranscriptError(
        "DEADLINE_EXCEEDED",
        "DEADLINE_EXCEEDED",
        "DEADLINE_EXCEEDED: the deadline has passed",
      );
    }
    return told;
  }

  /** Waits before another attempt; false: there is no time for one. */
  private async pause(scope: Scope, pauses: Pauses, error: unknown): Promise<boolean> {
    const wait = pauses.take(error instanceof TranscriptError ? error.retryAfterMs : 0);
    if (wait === undefined) {
      return false;
    }
    const ends = new Ends(scope.signal, this.open);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, wait);
      ends.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
    ends.end();
    return true;
  }
}

/** How long an attempt may take. */
function timeoutOf(scope: Scope): { timeoutMs?: number } {
  if (scope.deadline === undefined) {
    return {};
  }
  return { timeoutMs: Math.min(MAX_TIMEOUT_MS, Math.max(1, Math.ceil(scope.deadline - performance.now()))) };
}

/** A signal of something under way, which the caller's signal and close abort. end lets go of both. */
class Ends {
  private readonly controller = new AbortController();
  private readonly follow = (): void => {
    this.controller.abort(this.given?.reason);
  };

  constructor(
    private readonly given: AbortSignal | undefined,
    private readonly open: Set<Ends>,
  ) {
    open.add(this);
    given?.addEventListener("abort", this.follow);
    if (given?.aborted === true) {
      this.follow();
    }
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  abort(): void {
    this.controller.abort();
  }

  end(): void {
    this.open.delete(this);
    this.given?.removeEventListener("abort", this.follow);
  }
}
