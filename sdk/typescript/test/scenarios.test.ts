import assert from "node:assert/strict";
import { test } from "node:test";

import { connect } from "../src/index.js";
import { Daemon } from "./daemon.js";
import { Proxy } from "./proxy.js";
import { Runner, type Scenario } from "./scenarios.js";
import { testdata } from "./testdata.js";

test("scenarios", async (t) => {
  const scenarios = testdata("scenarios.json") as Scenario[];
  assert.ok(scenarios.length > 10);
  const daemon = await Daemon.start();
  const proxy = await Proxy.start(daemon.target);
  try {
    for (const [i, scenario] of scenarios.entries()) {
      await t.test(scenario.name, { timeout: 60_000 }, () =>
        new Runner(proxy, `scenario-${String(i)}`, scenario, (options) => connect(proxy.target, options)).run(),
      );
    }
  } finally {
    await proxy.stop();
    await daemon.kill();
  }
});
