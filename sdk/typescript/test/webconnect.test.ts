// What the SDK over fetch makes of its options, and of what fetch does.

import assert from "node:assert/strict";
import { suite, test } from "node:test";

import { connect, TranscriptError, type WebOptions } from "../src/web/index.js";

/** The reason of the error of a call over a fetch. */
async function reasonOf(url: string, options: WebOptions): Promise<string> {
  try {
    await connect(url, { deadlineMs: 2000, retry: { attempts: 1 }, ...options }).serverInfo();
    return "none";
  } catch (error) {
    assert.ok(error instanceof TranscriptError, String(error));
    return error.reason ?? error.code;
  }
}

/** A fetch that notes what it is asked, and answers so. */
function answering(answer: () => Response): {
  seen: { url: string; init: RequestInit }[];
  fetch: typeof globalThis.fetch;
} {
  const seen: { url: string; init: RequestInit }[] = [];
  return {
    seen,
    fetch: (input, init) => {
      seen.push({ url: input instanceof Request ? input.url : input.toString(), init: init ?? {} });
      return Promise.resolve(answer());
    },
  };
}

suite("over fetch", () => {
  for (const [url, reason] of [
    ["http://transcripts.example:7422", "INSECURE"],
    ["http://127.0.0.1.example", "INSECURE"],
    ["ftp://127.0.0.1", "BAD_TARGET"],
    ["127.0.0.1:7422", "BAD_TARGET"],
    ["https://user:secret@transcripts.example", "BAD_TARGET"],
    ["https://transcripts.example/?a=b", "BAD_TARGET"],
    ["", "BAD_TARGET"],
  ] as const) {
    test(`"${url}" is ${reason}`, () => {
      assert.throws(
        () => connect(url),
        (error) => error instanceof TranscriptError && error.reason === reason && !error.message.includes("secret"),
      );
    });
  }

  test("a token is shown, and a redirect is not followed", async () => {
    const { seen, fetch } = answering(
      () => new Response(null, { status: 302, headers: { location: "https://elsewhere.example" } }),
    );
    assert.notEqual(await reasonOf("https://transcripts.example/api/", { token: "trd_x", fetch }), "none");
    const [first] = seen;
    assert.ok(first !== undefined && seen.length === 1);
    assert.equal(first.url, "https://transcripts.example/api/transcript.v1.TranscriptService/ServerInfo");
    assert.equal(new Headers(first.init.headers).get("authorization"), "Bearer trd_x");
    assert.equal(first.init.redirect, "manual");
  });

  test("no token, no call", async () => {
    const { seen, fetch } = answering(() => new Response());
    const fail = (): string => {
      throw new Error("the secret is lost");
    };
    assert.equal(await reasonOf("https://transcripts.example", { token: fail, fetch }), "UNAUTHENTICATED");
    assert.equal(seen.length, 0);
    assert.throws(
      () => connect("https://transcripts.example", { token: "two words" }),
      (error) => error instanceof TranscriptError && error.reason === "BAD_TARGET",
    );
  });

  test("a page of another origin is told what lets it in", async () => {
    const fetch = (): Promise<Response> => Promise.reject(new TypeError("Failed to fetch"));
    const told = async (page: string | undefined): Promise<string> => {
      Object.defineProperty(globalThis, "location", { value: page && { origin: page }, configurable: true });
      try {
        await connect("https://transcripts.example/api", { retry: { attempts: 1 }, fetch }).serverInfo();
        return "";
      } catch (error) {
        return String(error);
      } finally {
        Reflect.deleteProperty(globalThis, "location");
      }
    };
    assert.match(await told("https://app.example"), /must be started with --http-origin https:\/\/app\.example$/);
    for (const page of [undefined, "null", "https://transcripts.example"]) {
      assert.match(await told(page), /cannot be made$/);
    }
  });

  test("a connection that is lost is UNAVAILABLE", async () => {
    const fetch = (): Promise<Response> => Promise.reject(new TypeError("Failed to fetch"));
    assert.equal(await reasonOf("https://transcripts.example", { fetch }), "UNAVAILABLE");
  });

  test("an answer of something else is an error", async () => {
    const { fetch } = answering(() => new Response("<html>", { headers: { "content-type": "text/html" } }));
    assert.notEqual(await reasonOf("https://transcripts.example", { fetch }), "none");
  });
});
