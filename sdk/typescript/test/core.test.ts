// What runs without Node: the core and the converters.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

/** The packages that the core may need: none of them needs Node. */
const ALLOWED = /^(@bufbuild\/protobuf|@connectrpc\/connect|@connectrpc\/connect-web|@noble\/hashes)(\/|$)/;

/** The modules that a compiled module needs, and theirs; and the packages. */
function graph(entry: string): { modules: Set<string>; packages: Set<string> } {
  const modules = new Set<string>();
  const packages = new Set<string>();
  const open = [entry];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (modules.has(file)) {
      continue;
    }
    modules.add(file);
    for (const [, name = ""] of readFileSync(file, "utf8").matchAll(/\bfrom\s+"([^"]+)"|\bimport\s+"([^"]+)"/g)) {
      if (name.startsWith(".")) {
        open.push(createRequire(file).resolve(name));
      } else {
        packages.add(name);
      }
    }
  }
  return { modules, packages };
}

for (const entry of ["core", "web/index", "openai/index", "openai/responses", "anthropic/index"]) {
  test(`${entry} needs nothing of Node`, () => {
    const { modules, packages } = graph(fileURLToPath(new URL(`../src/${entry}.js`, import.meta.url)));
    assert.ok(modules.size > 5 && packages.size > 0);
    assert.deepEqual(
      [...packages].filter((name) => !ALLOWED.test(name)),
      [],
    );
    assert.deepEqual(
      [...modules].filter((name) => name.includes("/src/node/")),
      [],
    );
  });
}
