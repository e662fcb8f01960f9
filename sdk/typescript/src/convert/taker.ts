// Objects whose known members are taken out; what is left are the extras.

import { compact, read, Value, type Member } from "../json.js";
import { ConversionError } from "./report.js";

/** An object whose known members are taken one by one. */
export class Taker {
  private readonly taken = new Set<string>();
  private readonly subs = new Map<string, Taker>();

  constructor(private readonly object: Value) {}

  /** The object's path. */
  get path(): string {
    return this.object.path;
  }

  /** A member, which is not taken. */
  look(name: string): Value | undefined {
    return this.object.member(name);
  }

  /** Takes a member: it will not be in the extras. */
  take(name: string): void {
    this.taken.add(name);
  }

  /**
   * Takes a member that is a string. One that is absent or null gives undefined, and a null stays in the extras; one of another kind is a
   * ConversionError.
   */
  string(name: string): string | undefined {
    const value = this.look(name);
    if (value === undefined || value.kind === "null") {
      return undefined;
    }
    if (value.kind !== "string") {
      throw new ConversionError(value.path, "is neither a string nor null");
    }
    this.take(name);
    return value.text;
  }

  /** Takes a member that is a string; takes nothing, and gives undefined, where it is not. */
  ifString(name: string): string | undefined {
    return this.look(name)?.kind === "string" ? this.string(name) : undefined;
  }

  /**
   * Begins to take members out of a member that is an object. What is left of it stays in the extras under its name; where nothing is left,
   * so does not the member.
   */
  sub(name: string, object: Value): Taker {
    const sub = new Taker(object);
    this.subs.set(name, sub);
    return sub;
  }

  /** The object without what was taken; undefined where nothing is left. */
  rest(): Value | undefined {
    const members: Member[] = [];
    for (const { name, value } of this.object.members) {
      const sub = this.subs.get(name);
      const rest = sub === undefined ? value : sub.rest();
      if (rest !== undefined && !this.taken.has(name)) {
        members.push({ name, value: rest });
      }
    }
    return members.length === 0 ? undefined : new Value("object", "", [], members);
  }

  /** What was not taken, in the form of Message.extras; "" for nothing. */
  extras(): string {
    const rest = this.rest();
    return rest === undefined ? "" : compact(rest, this.path);
  }
}

/** Reads extras; undefined where there are none. ConversionError where they are no JSON object. */
export function readExtras(extras: string, path: string): Value | undefined {
  if (extras === "") {
    return undefined;
  }
  const value = read(extras, path, []);
  if (value.kind !== "object") {
    throw new ConversionError(path, "is not an object");
  }
  return value;
}
