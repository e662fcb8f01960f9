// Connections over gRPC, by Node.

import type { Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { createHash } from "node:crypto";
import type { ClientHttp2Session, ClientHttp2Stream, SecureClientSessionOptions } from "node:http2";
import { connect as connectSocket, isIP } from "node:net";
import { connect as connectTls, type ConnectionOptions } from "node:tls";

import type { ClientOptions } from "../client/base.js";
import { Client } from "../client/client.js";
import { fault } from "../errors.js";
import { computeSha256, type Sha256 } from "../sha256.js";
import { SecureFiles, type TlsFiles } from "./files.js";
import { parseTarget, type Target } from "./target.js";
import { showing } from "../token.js";
import { TokenFile } from "./token.js";

/** How a Client is connected. */
export interface ConnectOptions extends ClientOptions, TlsFiles {
  /**
   * A token to show with each call, or what gives it, which is asked for each attempt, maybe by many at once; where it fails, or gives none, the
   * call is not sent, and is UNAUTHENTICATED. Tokens do not go in plain text to another machine, unless insecure is set.
   */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /**
   * A file that holds the token, but for blanks around it. It is looked at again once a second at most, as calls are made; while there is no token
   * in it, the last one goes on being shown. BAD_TARGET where there is none at first. Not with token.
   */
  readonly tokenFile?: string | undefined;
  /** TLS in any other way than by files: as tls.connect takes it. */
  readonly tls?: ConnectionOptions | undefined;
  /** Speaks plain text to other machines too, and shows them tokens so. */
  readonly insecure?: boolean | undefined;
}

/** The most that a reply, or a frame of a stream, has, and so what may be under way unread of each. What is larger is not read, or unpacked. */
const REPLY = 4 << 20;

const nodeSha256: Sha256 = (...parts) => {
  const hash = createHash("sha256");
  for (const part of parts) {
    hash.update(part);
  }
  return hash.digest();
};

/**
 * Makes a Client for a server at a target: "127.0.0.1:7420" or "unix:PATH". It does not connect: the first call does. Addresses of this machine
 * are spoken to in plain text; anything else needs ca, clientCertificate, tls or insecure, else INSECURE. close ends the connection.
 *
 * Files of TLS and tokens are read again, so that new ones need no new Client.
 */
export function connect(target: string, options: ConnectOptions = {}): Client {
  computeSha256(nodeSha256);
  const where = parseTarget(target);
  const secured = securedBy(where, options);
  const sessions = new Sessions(where, secured);
  const transport = createGrpcTransport({
    baseUrl: sessions.authority,
    sessionManager: sessions,
    readMaxBytes: REPLY,
    interceptors: shown(options),
  });
  return new Client(transport, {
    ...options,
    unsent: (error) => sessions.isUnsent(error),
    disconnect: () => {
      sessions.abort();
    },
  });
}

/** How connections to a target are made secure; undefined: they are in plain text. */
function securedBy({ isLocal }: Target, options: ConnectOptions): (() => ConnectionOptions) | undefined {
  const { ca, clientCertificate, tls, insecure = false } = options;
  if (clientCertificate !== undefined && typeof clientCertificate !== "object") {
    throw new TypeError("clientCertificate must be an object with the files cert and key");
  }
  const byFiles = ca !== undefined || clientCertificate !== undefined;
  if ([byFiles, tls !== undefined, insecure].filter(Boolean).length > 1) {
    throw fault("BAD_TARGET", "ca and clientCertificate, tls, and insecure exclude each other");
  }
  if (byFiles) {
    const files = new SecureFiles({ ca, clientCertificate });
    return () => files.options();
  }
  if (tls !== undefined) {
    return () => tls;
  }
  if (!isLocal && !insecure) {
    throw fault("INSECURE");
  }
  return undefined;
}

/** The interceptor that shows a token, where there is one. */
function shown({ token, tokenFile }: ConnectOptions): Interceptor[] {
  if (token !== undefined && tokenFile !== undefined) {
    throw fault("BAD_TARGET", "token and tokenFile exclude each other");
  }
  if (token === undefined && tokenFile === undefined) {
    return [];
  }
  if (tokenFile === undefined) {
    return [showing(token ?? "")];
  }
  const file = new TokenFile(tokenFile);
  try {
    file.token();
  } catch (error) {
    throw fault("BAD_TARGET", error instanceof Error ? error.message : "the file has no token");
  }
  return [showing(() => file.token())];
}

/** The connection of a Client. It knows which requests were never sent: those for which there was no connection. */
class Sessions extends Http2SessionManager {
  private readonly unsent = new WeakSet();
  private readonly known = new WeakSet();

  constructor(where: Target, secured: (() => ConnectionOptions) | undefined) {
    const { authority, socket } = where;
    const host = authority.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
    const port = Number(/:(\d+)$/.exec(authority)?.[1] ?? 0);
    const address = socket === undefined ? { host, port } : { path: socket };
    const options: SecureClientSessionOptions = {
      settings: { initialWindowSize: REPLY },
      createConnection: () =>
        secured === undefined
          ? connectSocket(address)
          : connectTls({ servername: isIP(host) === 0 ? host : "", ...secured(), ...address, ALPNProtocols: ["h2"] }),
    };
    // A connection that is dead is given up after 15 s, and one that was idle is tried before a call. Idle ones are not pinged: Connect would go
    // on to do so once they have ended, which ends the process.
    const keepalive = { pingIntervalMs: 10_000, pingTimeoutMs: 5000 };
    super(`${secured === undefined ? "http" : "https"}://${authority}`, keepalive, options);
  }

  override async request(...given: Parameters<Http2SessionManager["request"]>): Promise<ClientHttp2Stream> {
    try {
      const stream = await super.request(...given);
      const session = stream.session as ClientHttp2Session | undefined;
      if (session !== undefined && !this.known.has(session)) {
        this.known.add(session);
        session.setLocalWindowSize(REPLY);
        // Connect stops listening once it has seen that the connection ended, which may be before Node tells why: that would end the process.
        session.on("error", () => undefined);
      }
      return stream;
    } catch (error) {
      if (typeof error === "object" && error !== null) {
        this.unsent.add(error);
      }
      throw error;
    }
  }

  /** Whether an error, or what caused it, is that of a request for which there was no connection. */
  isUnsent(error: unknown): boolean {
    for (let e = error; e instanceof Error; e = e.cause) {
      if (this.unsent.has(e)) {
        return true;
      }
    }
    return false;
  }
}
