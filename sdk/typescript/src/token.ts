// Tokens.

import type { Interceptor } from "@connectrpc/connect";

import { fault, TranscriptError, undone } from "./errors.js";

/** What gives the token of a call, which is asked for each attempt. */
export type TokenSource = string | (() => string | Promise<string>);

/** The interceptor that shows a token. BAD_TARGET where it is a string that cannot be one. */
export function showing(token: TokenSource): Interceptor {
  const wrong = typeof token === "function" ? undefined : faultOf(token);
  if (wrong !== undefined) {
    throw fault("BAD_TARGET", wrong);
  }
  const give = typeof token === "function" ? token : (): string => token;
  return (next) => async (request) => {
    request.header.set("authorization", await bearer(give));
    return next(request);
  };
}

/** The header of a call with the token that give gives. UNAUTHENTICATED, of a call that is not sent, where it gives none. */
async function bearer(give: () => string | Promise<string>): Promise<string> {
  let token: unknown;
  try {
    token = await give();
  } catch (error) {
    throw noToken("the function of the token failed", error); // whose message may have a secret in it
  }
  const fault = faultOf(token);
  if (fault !== undefined) {
    throw noToken(fault);
  }
  return `Bearer ${String(token)}`;
}

function noToken(what: string, cause?: unknown): unknown {
  const message = `UNAUTHENTICATED: the call was not sent: ${what}`;
  return undone(new TranscriptError("UNAUTHENTICATED", "UNAUTHENTICATED", message, {}, { cause }));
}

/** Why a value is no token; it tells nothing of it. */
export function faultOf(token: unknown): string | undefined {
  if (typeof token !== "string") {
    return "a token is a string";
  }
  if (token === "") {
    return "a token is not empty";
  }
  return /^[!-~]+$/.test(token) ? undefined : "a token is one word of ASCII letters, digits and signs";
}
