// Texts that an SDK writes or holds a server to, the same in every language (proto/testdata/texts.json).

/** The text of the stub that stands for the result of a call which has none. */
export const STUB_TEXT = "[no result: the call was interrupted]";

/** What an agent puts as the result of a call of which nobody knows whether it ran. */
export const UNKNOWN_RESULT_TEXT = "[result unknown: the agent was interrupted while this call may have been running]";

/** The text that stands where a message was erased. */
export const ERASED_TEXT = "[erased]";

/** The text of a reply as it is handed to people: what is stored has no prefix. */
export function withDepth(depth: bigint | number, text: string): string {
  return `[depth:${String(depth)}] ${text}`;
}

const WHITE = "[\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const BLANK = new RegExp(`^${WHITE}*$`);
const IS_WHITE = new RegExp(`^${WHITE}$`);

/**
 * Whether a text is nothing but code points with the Unicode property White_Space. The set is written out: it must not change with the tables of
 * a newer runtime.
 */
export function isBlank(text: string): boolean {
  return BLANK.test(text);
}

/** A text without the white space at its end. */
export function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && IS_WHITE.test(text.charAt(end - 1))) {
    end--;
  }
  return text.slice(0, end);
}
