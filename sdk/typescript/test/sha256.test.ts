import assert from "node:assert/strict";
import test from "node:test";

import { connect, nodeId, user } from "../src/index.js";
import { computeSha256, sha256 } from "../src/sha256.js";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

test("SHA-256 is the same wherever it is computed", () => {
  const parts = ["a", "", "bc"].map((part) => new TextEncoder().encode(part));
  const content = { messages: [user("Hello?")] };
  const portable = [hex(sha256(...parts)), hex(sha256()), nodeId(content)];
  connect("127.0.0.1:1").close(); // from here on Node computes it
  assert.equal(portable[0], ABC);
  assert.deepEqual([hex(sha256(...parts)), hex(sha256()), nodeId(content)], portable);
  computeSha256(() => new Uint8Array(32).fill(7));
  assert.equal(nodeId(content), "07".repeat(32));
});
