// Where the last run of a chain stands, folded over its messages as the service does.

import { MessageState, Role, type Message } from "./gen/transcript/v1/message_pb.js";
import { RunLoopState, type LoopStatus } from "./gen/transcript/v1/transcript_service_pb.js";
import { calls, isOpaque } from "./messages.js";
import { isBlank } from "./texts.js";

/**
 * How a run ended. replied: it was answered, by whatever means. stopped: its agent ended it on purpose, at a limit say. failed: its agent
 * could not go on. cancelled: somebody else ended it.
 */
export type Outcome = "replied" | "stopped" | "failed" | "cancelled";

/** The metadata key that holds an Outcome, for a node that appendNode puts with notes or further metadata. */
export const OUTCOME_KEY = "run/end";

/** Where the last run stands at a head. */
export interface Run {
  readonly phase: "none" | "asked" | "working" | "ended";
  /** Whether nobody asked for it: it comes before any user message. */
  readonly leadIn: boolean;
  /** Whether a final reply is the last of it, system messages aside. */
  readonly replyLast: boolean;
  /** The ids of the calls at the head that wait for a result. */
  readonly group: readonly (string | undefined)[];
  /** Whether the group has a result, so that a further assistant message begins a new one. */
  readonly results: boolean;
}

/** That of a chain without messages. */
export const NO_RUN: Run = { phase: "none", leadIn: false, replyLast: false, group: [], results: false };

/** Whether there is a run, and it is not closed, as far as the chain goes. */
export function isOpen(run: Run): boolean {
  return run.phase !== "none" && !isClosed(run);
}

function isClosed(run: Run): boolean {
  return run.phase === "ended" || (!run.leadIn && run.replyLast);
}

/**
 * A run as describe tells it. Whether an open one was answered yet is not told: it counts as answered, so that a question begins another.
 */
export function described(loop: LoopStatus | undefined): Run {
  switch (loop?.state) {
    case undefined:
    case RunLoopState.UNSPECIFIED:
      return NO_RUN;
    case RunLoopState.OPEN:
      return { ...NO_RUN, phase: "working", leadIn: loop.leadIn };
    default:
      return { ...NO_RUN, phase: "ended" };
  }
}

/** What a node does to a run. */
export interface Step {
  readonly run: Run;
  /** Whether the run goes on in the node. */
  readonly part: boolean;
  /** Whether it ends there, or has ended before. */
  readonly ended: boolean;
}

/** Folds a node, which is valid. */
export function stepBy(run: Run, messages: readonly Message[], outcome: string | undefined): Step {
  let now = run;
  let begins = false;
  let said = false;
  for (const message of messages) {
    if (isOpaque(message)) {
      continue;
    }
    const found = paired(now, message);
    now = found.run;
    if (!begins) {
      begins = found.shown && beginsRun(now, message);
      said ||= !begins && message.role >= Role.USER;
    }
    if (found.shown) {
      now = heard(now, message);
    }
  }
  if (outcome !== undefined) {
    const ends = now.phase !== "none" && !now.leadIn;
    const unanswered = now.group.length > 0 && now.phase !== "none";
    now = {
      ...NO_RUN,
      phase: ends ? "ended" : now.phase,
      leadIn: now.leadIn,
      replyLast: now.replyLast && !unanswered, // a stub for a call without a result is no reply
    };
  }
  const open = isOpen(run);
  return { run: now, part: open && (said || !begins), ended: !open || begins || isClosed(now) };
}

function isInstruction(message: Message): boolean {
  return message.role === Role.SYSTEM || message.role === Role.DEVELOPER;
}

/** Whether a message begins a run behind one that stands so. */
function beginsRun(run: Run, message: Message): boolean {
  if (isInstruction(message)) {
    return false;
  }
  return message.role === Role.USER ? run.phase !== "asked" : run.phase === "none";
}

/** The run behind a message that a view shows. */
function heard(run: Run, message: Message): Run {
  if (isInstruction(message)) {
    return run;
  }
  if (message.role === Role.USER) {
    return run.phase === "asked" ? run : { ...run, phase: "asked", leadIn: false, replyLast: false };
  }
  return { ...run, phase: "working", leadIn: run.leadIn || run.phase === "none", replyLast: canReply(message) };
}

/** Whether the message is a final reply where no later one of its run is. */
function canReply(message: Message): boolean {
  const whole = message.state === MessageState.UNSPECIFIED;
  return message.role === Role.ASSISTANT && whole && calls(message).length === 0 && !isEmpty(message);
}

/** Whether there is no part other than reasoning, opaque parts and text of white space alone. */
function isEmpty(message: Message): boolean {
  return message.parts.every(({ kind }) =>
    kind.case === "text" ? isBlank(kind.value) : kind.case === "reasoning" || kind.case === "opaque",
  );
}

/**
 * The run once the message found its place in the group of calls at the head, and whether the message is shown: a result that answers no call
 * is not.
 */
function paired(run: Run, message: Message): { run: Run; shown: boolean } {
  if (message.role === Role.TOOL) {
    const at = run.group.indexOf(message.toolCallId);
    if (at < 0) {
      return { run, shown: false };
    }
    return { run: { ...run, group: run.group.toSpliced(at, 1), results: true }, shown: true };
  }
  const own = calls(message).map((call) => call.id);
  const continues = own.length > 0 && !run.results;
  // A stub for a call without a result is no reply.
  const replyLast = run.replyLast && (continues || run.group.length === 0);
  return { run: { ...run, replyLast, group: continues ? [...run.group, ...own] : own, results: false }, shown: true };
}
