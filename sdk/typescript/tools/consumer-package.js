// consumer-package.js LOCK TARBALL: prints the package.json of a program that depends on the tarball alone, with the versions of the
// dependencies that the lock has.

import { readFileSync } from "node:fs";

const [, , lock, tarball] = process.argv;
const { packages } = JSON.parse(readFileSync(lock, "utf8"));
const locked = Object.entries(packages).filter(([path, p]) => path !== "" && p.dev !== true);
const overrides = Object.fromEntries(
  locked.map(([path, p]) => [path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length), p.version]),
);
const consumer = {
  name: "consumer",
  private: true,
  type: "module",
  dependencies: { transcriptd: `file:${tarball}` },
  overrides,
};
console.log(JSON.stringify(consumer, null, 2));
