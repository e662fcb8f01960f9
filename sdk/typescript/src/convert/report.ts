/** What a conversion changed. docs/conversion.md says which function makes which. */
export type ChangeKind =
  /** Lone surrogates in a string became U+FFFD; `count` of them. Reading only. */
  | "surrogates"
  /** The provider's form has no place for this, so that reading what was written gives something else. */
  | "inexact"
  /** Not written; of a request that is read, no part of a transcript. */
  | "left_out"
  /** Something else was written in its place; `to` tells what, where it is short. */
  | "replaced"
  /** A call id or a name that the provider refuses became another: `from` and `to`. */
  | "renamed"
  /** Written as part of the provider's message before it. */
  | "joined"
  /** Written in another place. */
  | "moved"
  /** A result was written for a call that has none; `path` is the call. */
  | "added";

/** One thing that a conversion changed. */
export interface Change {
  /**
   * Where: a member of the provider's JSON when reading (`messages[3].content[0].text`), a field of the given messages when
   * writing (`messages[3].parts[0]`).
   */
  readonly path: string;
  /** What was done. */
  readonly kind: ChangeKind;
  /** What it was, where that is an id or a name; an absent id is "". */
  readonly from?: string;
  /** What it became, where that is short. */
  readonly to?: string;
  /** How many, where that can be more than one. */
  readonly count?: number;
  /** The provider's rule, in a few words; never content. */
  readonly why?: string;
}

/** What a conversion changed, in the order of the messages. An empty report says that nothing was. */
export type Report = readonly Change[];

/**
 * An error about a provider's JSON, or about messages that no provider's JSON can hold. It names the member and the rule, never the
 * value.
 */
export class ConversionError extends Error {
  override readonly name = "ConversionError";

  /**
   * @param path - The member: `messages[3].tool_calls[0].function.arguments`. Empty for the whole document.
   * @param rule - What does not hold of it: `is not a string`.
   */
  constructor(
    readonly path: string,
    readonly rule: string,
  ) {
    super(`${path === "" ? "the document" : path} ${rule}`);
  }
}

/** No message is left to send: a provider refuses a request without one. */
export class NoMessagesError extends Error {
  override readonly name = "NoMessagesError";

  /** @param report - Why: what was left out. */
  constructor(readonly report: Report) {
    super("no message to send");
  }
}

/** The path of an item of the list at path. */
export function index(path: string, i: number): string {
  return `${path}[${String(i)}]`;
}

/** The path of a member of the object at path. A name that is no short identifier is not shown. */
export function join(path: string, name: string): string {
  const shown = /^[0-9A-Za-z_-]{1,64}$/.test(name) ? name : "?";
  return path === "" ? shown : `${path}.${shown}`;
}
