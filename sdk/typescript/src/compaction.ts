// What a compaction keeps.

import type { PolicyInit } from "./assembly.js";
import { Origin, type Message } from "./gen/transcript/v1/message_pb.js";
import type { CompactResponse } from "./gen/transcript/v1/transcript_service_pb.js";
import { text } from "./messages.js";
import type { AliasUpdate } from "./writes.js";

/** What a compaction keeps; without any of it, by the server's defaults. */
export interface Compaction {
  /**
   * The last node that it stands for, by id: the head or an ancestor, with no call left unanswered at it; absent or "": the last such node. With
   * summary or summaryOnly Client.compact needs it, but for a dry run, which tells it: the last node that the summary tells of.
   */
  readonly through?: string | undefined;
  /** Bounds what is kept. */
  readonly policy?: PolicyInit | undefined;
  /** Comes first and replaces an earlier one. At most 1 MiB. */
  readonly summary?: string | undefined;
  /** Keeps no closed run loop. */
  readonly summaryOnly?: boolean | undefined;
  /** As in NodeInit; absent: one is made, by which the compaction is known again. */
  readonly salt?: Uint8Array | undefined;
  /** Reports what would be written, and writes nothing. */
  readonly dryRun?: boolean | undefined;
  /** Set to the compaction node in the same commit, beside the alias that is the head. */
  readonly aliases?: readonly AliasUpdate[] | undefined;
}

/** Whether a quarter of the view would go, beside a summary of so many bytes. */
export function enoughGoes({ report, counters }: CompactResponse, summaryBytes: number): boolean {
  const goes = (report?.bytesBefore ?? 0n) - (report?.bytesAfter ?? 0n) - BigInt(summaryBytes);
  return goes * 4n >= (counters?.effective?.bytes ?? 0n);
}

/** The text of the summary in a view; "" without one. */
export function summaryOf(messages: readonly Message[]): string {
  const summary = messages.find((m) => m.origin === Origin.SUMMARY);
  return summary === undefined ? "" : text(summary);
}
