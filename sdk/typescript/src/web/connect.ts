// Connections over HTTP, by fetch.

import { Code, ConnectError, type Interceptor, type StreamResponse } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";

import type { ClientOptions } from "../client/base.js";
import { Client } from "../client/client.js";
import { fault } from "../errors.js";
import { mustBeString } from "../refs.js";
import { showing, type TokenSource } from "../token.js";

/** How a Client is connected. */
export interface WebOptions extends ClientOptions {
  /**
   * A token to show with each call, or what gives it, which is asked for each attempt, maybe by many at once; where it fails, or gives none, the
   * call is not sent, and is UNAUTHENTICATED. Tokens do not go in plain text to another machine, unless insecure is set. A page should not have
   * one that gives more than its user may.
   */
  readonly token?: TokenSource | undefined;
  /** Speaks plain text to other machines too, and shows them tokens so. */
  readonly insecure?: boolean | undefined;
  /** What is called instead of the global fetch. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/**
 * Makes a Client for the HTTP side of a server (transcriptd --http-listen) at a URL: "https://transcripts.example:7422". It needs fetch and nothing
 * else, so it runs in browsers and Workers too. A server in plain text must be on this machine, unless insecure is set: else INSECURE. BAD_TARGET
 * where the URL is none of http or https, or has more than an origin and a path.
 */
export function connect(url: string, options: WebOptions = {}): Client {
  const { token, insecure = false } = options;
  const send = options.fetch ?? globalThis.fetch.bind(globalThis);
  const baseUrl = parseUrl(url, insecure);
  const transport = createConnectTransport({
    baseUrl,
    useBinaryFormat: true,
    interceptors: [...(token === undefined ? [] : [showing(token)]), lostIsUnavailable(new URL(baseUrl).origin)],
    // A redirect is an error here, but not every fetch knows redirect: "error". Cookies say nothing of who calls.
    fetch: (input, init) => send(input, { ...init, redirect: "manual" }),
  });
  return new Client(transport, options);
}

function parseUrl(url: string, insecure: boolean): string {
  mustBeString("url", url);
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw fault("BAD_TARGET", 'the url must be "https://host:port"');
  }
  const more = parsed.search + parsed.hash + parsed.username + parsed.password;
  if (!["http:", "https:"].includes(parsed.protocol) || more !== "") {
    throw fault("BAD_TARGET", 'the url must be "https://host:port", with a path at most');
  }
  if (parsed.protocol === "http:" && !insecure && !isLoopback(parsed.hostname)) {
    throw fault("INSECURE");
  }
  return parsed.origin + parsed.pathname.replace(/\/+$/, "");
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/** Makes UNAVAILABLE, as over gRPC, what fetch throws where a connection to an origin is lost, or cannot be made. */
function lostIsUnavailable(origin: string): Interceptor {
  return (next) => async (request) => {
    try {
      const response = await next(request);
      return response.stream ? watched(response, origin) : response;
    } catch (error) {
      throw told(error, origin);
    }
  };
}

function watched(response: StreamResponse, origin: string): StreamResponse {
  const { message } = response;
  async function* messages(): typeof message extends AsyncIterable<infer M> ? AsyncGenerator<M> : never {
    try {
      yield* message;
    } catch (error) {
      throw told(error, origin);
    }
  }
  return { ...response, message: messages() };
}

function told(error: unknown, origin: string): unknown {
  const cause = error instanceof ConnectError && error.code !== Code.Canceled ? error.cause : error;
  // A TypeError is what fetch has for whatever goes wrong on the network; a stream that ends early comes as an Error.
  const lost =
    cause instanceof TypeError ||
    (error instanceof ConnectError && /missing EndStreamResponse|premature|protocol error/.test(error.rawMessage));
  if (!lost) {
    return error;
  }
  return new ConnectError(
    `the connection was lost, or cannot be made${foreign(origin)}`,
    Code.Unavailable,
    undefined,
    undefined,
    error,
  );
}

/** What to look for where this is a page of another origin: a browser does not tell a page that it may not call. */
function foreign(origin: string): string {
  const page = (globalThis as { location?: { origin?: string } }).location?.origin;
  return page === undefined || page === "null" || page === origin
    ? ""
    : `; if the server is there, it must be started with --http-origin ${page}`;
}
