// Where a server is.

import { isIP } from "node:net";

import { fault } from "../errors.js";
import { mustBeString } from "../refs.js";

/** A server's address. */
export interface Target {
  /** Of a TCP address: `host:port`, with brackets around an IPv6 address. */
  readonly authority: string;
  /** Of a unix socket: its path. */
  readonly socket?: string;
  /** Whether it is surely on this machine. */
  readonly isLocal: boolean;
}

/** Reads `host:port`, `dns:host:port` or `unix:PATH`. BAD_TARGET for another form. */
export function parseTarget(target: string): Target {
  mustBeString("target", target);
  const unix = /^unix:(?:\/\/)?(.+)$/.exec(target)?.[1];
  if (unix !== undefined) {
    return { authority: "localhost", socket: unix, isLocal: true };
  }
  const address = target.replace(/^dns:(?:\/\/[^/]*\/)?/, "");
  const match = /^(\[[0-9a-fA-F:.%]+\]|[^:/\s[\]]+):(\d{1,5})$/.exec(address);
  const host = match?.[1];
  const port = Number(match?.[2]);
  if (host === undefined || port > 65535) {
    throw fault("BAD_TARGET", 'the target must be "host:port", such as "127.0.0.1:7420", or "unix:PATH"');
  }
  return { authority: address, isLocal: isLoopback(host.replace(/^\[|\]$/g, "")) };
}

function isLoopback(host: string): boolean {
  if (host === "localhost" || host === "::1") {
    return true;
  }
  return isIP(host) === 4 && host.startsWith("127.");
}
