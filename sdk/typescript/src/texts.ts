// Texts that an SDK writes or holds a server to, the same in every language (proto/testdata/texts.json).

/** The text of the stub that stands for the result of a call which has none. */
export const STUB_TEXT = "[no result: the call was interrupted]";

/** What an agent puts as the result of a call of which nobody knows whether it ran. */
export const UNKNOWN_RESULT_TEXT = "[result unknown: the agent was interrupted while this call may have been running]";

/** The text of a reply as it is handed to people: what is stored has no prefix. */
export function withDepth(depth: bigint | number, text: string): string {
  return `[depth:${String(depth)}] ${text}`;
}
