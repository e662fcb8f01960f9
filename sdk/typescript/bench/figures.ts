// What calls cost in this language: `run.sh bench ADDRESS NAME` prints one line of JSON for tools/limits/sdks, which says what each figure is and has
// put the chains. NAME is that of a chat that nobody has begun.

import { byAlias, connect, policies, system, user, View, type Client } from "../src/index.js";

const WARM_UP = 50;
const APPENDS = 300;
const ASKED = 50;
const READS = 21;
const EARLY = 10_000;

/** How long a call takes in milliseconds: the median. */
async function median(times: number, call: () => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  for (let i = 0; i < times; i++) {
    const began = performance.now();
    await call();
    took.push(performance.now() - began);
  }
  took.sort((a, b) => a - b);
  return took[Math.floor(times / 2)] ?? 0;
}

/** Streams a chain that is too long to hold; memory is looked at once the first messages came, and from then on. */
async function streamed(client: Client) {
  const began = performance.now();
  let messages = 0;
  let early = 0;
  let most = 0;
  for await (const frame of client.frames(byAlias("deep"), { view: View.FULL })) {
    messages += frame.messages.length;
    if (messages >= EARLY) {
      most = Math.max(most, process.memoryUsage.rss());
      early ||= most;
    }
  }
  return { stream_ms: performance.now() - began, messages, early_bytes: early, most_bytes: most };
}

async function measured(address: string, name: string) {
  await using client = connect(address);
  await using strict = connect(address, { verify: true });
  const thread = await client.chat(name, [system("You are helpful.")]);
  const session = await client.open("session");
  const said = user("x".repeat(200));
  const append = () => thread.append([said]);
  await median(WARM_UP, append);
  return {
    append_ms: await median(APPENDS, append),
    ask_ms: await median(ASKED, () => session.messages(policies.coding())),
    read_ms: await median(READS, () => client.assemble(byAlias("long"))),
    verified_ms: await median(READS, () => strict.assemble(byAlias("long"))),
    ...(await streamed(client)),
  };
}

const [address, name] = process.argv.slice(2);
if (address === undefined || name === undefined) {
  throw new Error("figures: give the server's address and the name of a chat that nobody has begun");
}
console.log(JSON.stringify(await measured(address, name)));
