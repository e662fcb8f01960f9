// Carries out the scenarios of proto/testdata/scenarios.json, which its README describes.

import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import assert from "node:assert/strict";

import {
  assistant,
  byAlias,
  byId,
  call,
  calls,
  headAt,
  headIs,
  mayHaveHappened,
  mustExist,
  mustNotExist,
  Origin,
  policies,
  PolicySchema,
  result,
  revisionIs,
  Role,
  RunLoopState,
  RunOutcome,
  system,
  text,
  ToolCallState,
  TranscriptError,
  user,
  View,
  type AliasMove,
  type Client,
  type ClientOptions,
  type Condition,
  type Message,
  type NodeInit,
  type PolicyInit,
  type PutResult,
  type Ref,
  type Thread,
  type ToolCall,
} from "../src/core.js";
import type { ProxyControl } from "./proxycontrol.js";

/** A step's arguments, and results: JSON. */
/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-argument,
   @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-return
   -- the file of scenarios is their schema */
type Json = Record<string, any>;

export interface Scenario {
  readonly name: string;
  readonly verify?: boolean;
  readonly deterministic?: boolean;
  readonly deadlines?: Readonly<Record<string, number>>;
  readonly steps: readonly Json[];
}

// From the JSON of scenarios to what the SDK takes.

const ROLES = ["system", "developer", "user", "assistant", "tool"];

function message(given: Json): Message {
  const [[role, said] = ["", ""]] = Object.entries(given) as [string, string][];
  const words = said.repeat(given.times ?? 1);
  switch (role) {
    case "system":
      return system(words);
    case "user":
      return user(words);
    case "assistant":
      return assistant(
        words,
        (given.calls ?? []).map((c: Json) => call(c.id, c.name, c.arguments)),
      );
    case "tool":
      return result(call(given.of, given.name, ""), words, { isError: given.error ?? false });
    case "developer":
      return { ...system(words), role: Role.DEVELOPER };
    default:
      throw new Error(`no role is called ${role}`);
  }
}

function messages(given: Json[] | undefined): Message[] {
  return (given ?? []).map(message);
}

function ref(given: Json): Ref {
  return given.alias === undefined ? byId(given.id) : byAlias(given.alias);
}

function condition(given: Json | undefined): Condition | undefined {
  if (given === undefined) {
    return undefined;
  }
  if (given.must_not_exist === true) {
    return mustNotExist();
  }
  if (given.must_exist === true) {
    return mustExist();
  }
  if (given.head !== undefined && given.revision !== undefined) {
    return headAt(given.head, BigInt(given.revision));
  }
  return given.head === undefined ? revisionIs(BigInt(given.revision)) : headIs(given.head);
}

function policy(given: JsonValue | undefined): PolicyInit | undefined {
  if (typeof given === "string") {
    return policies[given as keyof typeof policies]();
  }
  return given === undefined ? undefined : fromJson(PolicySchema, given);
}

function view(given: string | undefined): View | undefined {
  return given === undefined ? undefined : View[given.toUpperCase() as keyof typeof View];
}

function fromHex(digits: string): Uint8Array {
  return Uint8Array.from(digits.match(/../g) ?? [], (two) => Number.parseInt(two, 16));
}

function node(given: Json): NodeInit {
  return {
    ...(given.parent !== undefined && given.parent !== "previous" && { parent: ref(given.parent) }),
    previous: given.parent === "previous",
    messages: messages(given.messages),
    metadata: given.metadata,
    salt: given.salt === undefined ? undefined : fromHex(given.salt),
    aliases: (given.aliases ?? []).map(move),
  };
}

function move(given: Json): AliasMove {
  return {
    name: given.name,
    if: condition(given.if),
    labels: given.labels,
    delete: given.delete,
    target: given.target === undefined ? undefined : ref(given.target),
  };
}

// From what the SDK gives to the JSON of scenarios.

function shown(m: Message): Json {
  return {
    [Role[m.role].toLowerCase()]: text(m),
    ...(m.origin !== Origin.UNSPECIFIED && { origin: Origin[m.origin] }),
    ...(calls(m).length > 0 && { calls: calls(m).map(called) }),
    ...(m.toolCallId !== undefined && { of: m.toolCallId }),
    ...(m.name !== undefined && { name: m.name }),
    ...(m.isError && { error: true }),
  };
}

function called(c: ToolCall): Json {
  return { id: c.id, name: c.name, arguments: c.arguments };
}

function put(p: PutResult): Json {
  const aliases = p.aliases.map(({ name, changed }) => ({ name, changed }));
  return { id: p.nodeId, created: p.created, retried: p.retried, aliases };
}

function failure(error: TranscriptError): Json {
  return {
    error: {
      code: error.code,
      reason: error.reason ?? "",
      head: error.head,
      may_have_happened: mayHaveHappened(error),
      retried: error.retried,
      deleted: error.deleted !== undefined,
      fields: error.violations.map((v) => v.field),
      receipt: bytesToHex(error.receipt ?? new Uint8Array()),
    },
  };
}

function told(thread: Thread, more: Json = {}): Json {
  return { head: thread.head, depth: thread.depth, alias: thread.alias, new: thread.isNew, ...more };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) {
    list.push(item);
  }
  return list;
}

/** A result with numbers for integers of 64 bits. */
function plain(result: unknown): unknown {
  return JSON.parse(JSON.stringify(result, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value)));
}

/** An expectation in which the texts of messages are repeated as often as they say. */
function expanded(given: unknown): unknown {
  if (Array.isArray(given)) {
    return given.map(expanded);
  }
  if (typeof given !== "object" || given === null) {
    return given;
  }
  const { times, ...rest } = given as Json;
  const [[first, words] = ["", ""]] = Object.entries(rest);
  if (times !== undefined) {
    return { ...rest, [first]: (words as string).repeat(times) };
  }
  return Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, expanded(value)]));
}

/** Compares a result with what it must have. */
function compare(want: unknown, got: unknown, at: string): void {
  if (Array.isArray(want)) {
    assert.ok(
      Array.isArray(got) && got.length === want.length,
      `${at} is ${JSON.stringify(got)}, want ${JSON.stringify(want)}`,
    );
    want.forEach((w, i) => {
      compare(w, got[i], `${at}[${String(i)}]`);
    });
    return;
  }
  if (typeof want === "object" && want !== null) {
    assert.ok(typeof got === "object" && got !== null, `${at} is ${JSON.stringify(got)}`);
    if (ROLES.includes(Object.keys(want)[0] ?? "")) {
      assert.deepEqual(got, want, at); // a message, as a whole
    }
    for (const [key, value] of Object.entries(want)) {
      compare(value, (got as Json)[key], `${at}.${key}`);
    }
    return;
  }
  assert.equal(got, want, at);
}

/** The verbs. */
type Verb = (client: Client, a: Json, threads: Map<string, Thread>) => Promise<Json>;

function thread(threads: Map<string, Thread>, name: string): Thread {
  const found = threads.get(name);
  assert.ok(found, `there is no thread ${name}`);
  return found;
}

/** A verb that makes a thread. */
function making(make: (client: Client, a: Json, threads: Map<string, Thread>) => Promise<Thread>): Verb {
  return async (client, a, threads) => {
    const made = await make(client, a, threads);
    threads.set(a.thread, made);
    return told(made);
  };
}

/** A verb of a thread that ends in its state. */
function onThread(act: (thread: Thread, a: Json) => Promise<unknown>): Verb {
  return async (_, a, threads) => {
    const t = thread(threads, a.thread);
    await act(t, a);
    return told(t);
  };
}

const verbs: Readonly<Record<string, Verb>> = {
  start: making((client, a) =>
    client.start({
      messageId: a.message_id,
      replyTo: a.reply_to,
      chat: a.chat,
      system: messages(a.system),
      messages: messages(a.messages),
    }),
  ),
  chat: making((client, a) => client.chat(a.name, messages(a.system))),
  resume: making((client, a) => client.resume(a.message_id)),
  open: making((client, a) => client.open(a.alias)),
  fork: making((_, a, threads) => thread(threads, a.from).fork(a.alias)),
  spawn: making((_, a, threads) =>
    thread(threads, a.from).spawn({
      callId: a.call_id,
      alias: a.alias,
      messages: messages(a.messages),
      inherit: a.inherit,
    }),
  ),
  append: onThread((t, a) =>
    a.metadata === undefined
      ? t.append(messages(a.messages))
      : t.appendNode({ messages: messages(a.messages), metadata: a.metadata }),
  ),
  append_results: onThread((t, a) => t.appendResults(messages(a.messages))),
  reply: onThread((t, a) => t.reply(a.reply_id, messages(a.messages))),
  finish: onThread((t, a) => t.finish(a.outcome, messages(a.messages))),
  sent: onThread((t, a) => t.sent(a.message_id)),
  answer_unknown: onThread((t) => t.answerUnknown()),
  refresh: onThread((t) => t.refresh()),
  compact: async (_, a, threads) => {
    const t = thread(threads, a.thread);
    const { written } = await t.compact({
      summary: a.summary,
      summaryOnly: a.summary_only,
      through: a.through,
      policy: policy(a.policy),
      dryRun: a.dry_run,
    });
    return told(t, { written });
  },
  compact_when: async (_, a, threads) => {
    const t = thread(threads, a.thread);
    const done = await t.compactWhen({
      bytes: a.bytes,
      compaction: { summaryOnly: a.summary_only },
      ...(a.summary !== undefined && { summarize: (): string => a.summary }),
    });
    return told(t, { written: done?.written ?? false });
  },
  messages: async (_, a, threads) => ({
    messages: (await thread(threads, a.thread).messages(policy(a.policy))).map(shown),
  }),
  open_calls: async (_, a, threads) => ({ calls: (await thread(threads, a.thread).openCalls()).map(called) }),
  reply_text: (_, a, threads) => Promise.resolve({ text: thread(threads, a.thread).replyText(message(a.message)) }),
  assemble: async (client, a) => {
    const got = await client.assemble(ref(a.of), {
      view: view(a.view),
      policy: policy(a.policy),
      condenseLast: a.condense_last,
      after: a.after,
      ifNoneMatch: a.if_none_match,
      lastMessages: a.last_messages,
    });
    return {
      head: got.headId,
      base: got.baseId,
      etag: got.etag,
      not_modified: got.notModified,
      more_before: got.moreBefore,
      messages: got.messages.map(shown),
    };
  },
  frames: async (client, a) => ({
    messages: (await all(client.frames(ref(a.of), { view: view(a.view) }))).flatMap((f) => f.messages).map(shown),
  }),
  put: async (client, a) => put(await client.put(node(a.node))),
  put_all: async (client, a) => ({ nodes: (await client.putAll(a.nodes.map(node))).map(put) }),
  put_erased: async (client, a) => {
    const [put] = await client.putArchived([
      {
        envelope: hexToBytes(a.envelope),
        payload: hexToBytes(a.payload),
        erasure: { messageBytes: [a.message_bytes], receipt: hexToBytes(a.receipt) },
      },
    ]);
    return { id: put?.nodeId };
  },
  resolve: async (client, a) => {
    const { alias, counters } = await client.resolve(a.alias);
    return { head: alias.nodeId, depth: counters?.full?.depth, revision: alias.revision, labels: alias.labels };
  },
  set_aliases: async (client, a) => ({
    aliases: (await client.setAliases(a.moves.map(move))).map(({ name, changed, revised, revision }) => ({
      name,
      changed,
      revised,
      revision,
    })),
  }),
  delete_alias: async (client, a) => ({
    previous: await client.deleteAlias(a.alias, condition(a.if), { forgetHistory: a.forget }),
  }),
  aliases: async (client, a) => ({ names: (await all(client.aliases({ prefix: a.prefix }))).map((one) => one.name) }),
  recall: async (client, a) => {
    const got = await client.recall(ref(a.of), { id: a.call_id, occurrence: a.occurrence });
    return {
      name: got.call?.name,
      arguments: got.call?.arguments,
      state: ToolCallState[got.state],
      text: got.parts.map((p) => (p.kind.case === "text" ? p.kind.value : "")).join(""),
      earlier: got.earlierOccurrences,
    };
  },
  tool: async (_, a, threads) => {
    const t = thread(threads, a.thread);
    const tool = a.name === "search_history" ? t.searchTool() : t.recallTool();
    assert.equal(tool.name, a.name);
    if (a.arguments === undefined) {
      return { openai: tool.openai, anthropic: tool.anthropic };
    }
    const said = (await tool.run(a.arguments)).replace(/\d{4}-\d\d-\d\d \d\d:\d\d/g, "TIME");
    return { text: said.replace(/[0-9a-f]{12}\.\d+/g, "PLACE") };
  },
  search: async (client, a) => ({
    hits: (
      await all(
        client.search({
          head: a.of === undefined ? undefined : ref(a.of),
          aliasPrefix: a.prefix,
          text: a.text,
          regexp: a.regexp,
        }),
      )
    ).map((hit) => ({ role: Role[hit.role], tool: hit.toolName ?? "" })),
  }),
  run_loops: async (client, a) => ({
    loops: (await all(client.runLoops(ref(a.of)))).map((loop) => ({
      state: RunLoopState[loop.state],
      outcome: RunOutcome[loop.outcome],
      messages: loop.messages,
      unanswered: loop.unansweredCalls,
    })),
  }),
  replay: async (client, a) => ({
    calls: (await client.replay(ref(a.of))).calls.map((c) => ({
      id: c.id,
      name: c.name,
      state: ToolCallState[c.state],
      result: c.result,
    })),
  }),
  describe: async (client, a) => {
    const got = await client.describe(ref(a.of));
    return {
      head: got.headId,
      aliases: got.aliases,
      tools: got.tools.map((t) => t.name),
      state: RunLoopState[got.loop?.state ?? 0],
      outcome: RunOutcome[got.loop?.outcome ?? 0],
      pending: (got.loop?.pending ?? []).map((c) => c.id),
    };
  },
  stats: async (client) => {
    const { nodes, messages, aliases, forks } = await client.stats();
    return { nodes, messages, aliases, forks };
  },
};

/** Carries out one scenario. */
export class Runner {
  private readonly clients = new Map<string, Client>();
  private readonly threads = new Map<string, Thread>();
  private readonly bound = new Map<string, unknown>();

  constructor(
    private readonly proxy: ProxyControl,
    private readonly namespace: string,
    private readonly scenario: Scenario,
    /** Makes a client that calls by the proxy. */
    private readonly dial: (options: ClientOptions) => Client,
  ) {}

  async run(): Promise<void> {
    try {
      for (const [i, step] of this.scenario.steps.entries()) {
        try {
          await this.step(step);
        } catch (error) {
          const what = error instanceof Error ? error.message : String(error);
          throw new Error(`step ${String(i + 1)}, ${String(step.do)}: ${what}`, { cause: error });
        }
      }
    } finally {
      for (const client of this.clients.values()) {
        client.close();
      }
    }
  }

  private async step(step: Json): Promise<void> {
    const { proxy } = this;
    await proxy.reset();
    for (const rule of step.lose ?? []) {
      await proxy.add(rule);
    }
    const done = this.result(step);
    if (step.during !== undefined) {
      await proxy.held();
      for (const inner of step.during) {
        this.judge(inner, await this.result(inner));
      }
      await proxy.release();
    }
    this.judge(step, await done);
    const state = await proxy.state();
    assert.deepEqual(state.rules ?? [], [], "rules that have calls to take still");
    for (const [method, times] of Object.entries(step.sent ?? {})) {
      assert.equal(state.calls?.[method] ?? 0, times, `${method} was sent so often`);
    }
  }

  private judge(step: Json, got: Json): void {
    const want = expanded(this.filled(step.expect ?? {})) as Json;
    assert.ok("error" in want || !("error" in got), `failed: ${JSON.stringify(got)}`);
    compare(want, got, "result");
    for (const [key, value] of Object.entries(step.differs ?? {})) {
      assert.notEqual(got[key], this.filled(value), key);
    }
    for (const [name, key] of Object.entries<string>(step.bind ?? {})) {
      this.bound.set(name, got[key]);
    }
  }

  /** Arguments or expectations with what names were bound to. */
  private filled(given: unknown): unknown {
    if (typeof given === "string" && given.startsWith("$")) {
      return this.bound.get(given.slice(1));
    }
    if (Array.isArray(given)) {
      return given.map((one) => this.filled(one));
    }
    if (typeof given === "object" && given !== null) {
      return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, this.filled(value)]));
    }
    return given;
  }

  private async result(step: Json): Promise<Json> {
    const judged = ["expect", "differs", "bind", "during", "lose", "sent"];
    const own = Object.fromEntries(Object.entries(step).filter(([key]) => !judged.includes(key)));
    const verb = verbs[step.do as string];
    assert.ok(verb, `no verb is called ${String(step.do)}`);
    try {
      return plain(await verb(this.client(step.by ?? "a"), this.filled(own) as Json, this.threads)) as Json;
    } catch (error) {
      if (error instanceof TranscriptError) {
        return failure(error);
      }
      throw error;
    }
  }

  private client(by: string): Client {
    let client = this.clients.get(by);
    if (client === undefined) {
      client = this.dial({
        namespace: this.namespace,
        deadlineMs: (this.scenario.deadlines?.[by] ?? 20) * 1000,
        retry: { attempts: 4, firstMs: 1, maxMs: 10 },
        verify: this.scenario.verify ?? false,
        deterministic: this.scenario.deterministic ?? false,
      });
      this.clients.set(by, client);
    }
    return client;
  }
}
