// JSON as a tree that keeps the order of members and the spelling of numbers, for what ids are computed from.

import { ConversionError, index, join, type Change } from "./convert/report.js";

/** What JSON.parse gives, numbers without their spelling. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** An object of JSON. */
export interface JsonObject {
  [name: string]: JsonValue;
}

/** The kinds of JSON values. */
export type Kind = "null" | "bool" | "number" | "string" | "list" | "object";

/** One member of an object. */
export interface Member {
  readonly name: string;
  readonly value: Value;
}

/** How many objects and arrays may lie in each other in extras. */
export const MAX_JSON_DEPTH = 128;

/** How many may in a document; it leaves room for extras nested 128 deep below what a converter takes. */
const MAX_DEPTH = 256;

/** How deep a path names; what lies deeper is named by "…". */
const PATH_LEVELS = 16;

const NO_ITEMS: readonly Value[] = [];
const NO_MEMBERS: readonly Member[] = [];

/** One JSON value: read from a document, or made to be written. */
export class Value {
  /** The value's place: the parent is absent of a document, whose name is its path. */
  private parent: Value | undefined;
  private place: string | number = "";

  /**
   * @param text - A string's text, in which a lone surrogate is U+FFFD; the spelling of a number or a literal.
   * @param items - A list's values.
   * @param members - An object's members in source order, no name twice.
   */
  constructor(
    readonly kind: Kind,
    readonly text: string,
    readonly items: readonly Value[] = NO_ITEMS,
    readonly members: readonly Member[] = NO_MEMBERS,
  ) {}

  /** Puts the value in its place, once. */
  at(parent: Value | undefined, place: string | number): this {
    this.parent = parent;
    this.place = place;
    return this;
  }

  /** The value's path: `messages[3].content`; empty for a document without a name. */
  get path(): string {
    const places: (string | number)[] = [this.place];
    for (let above = this.parent; above !== undefined; above = above.parent) {
      places.push(above.place);
    }
    const [root = "", ...line] = places.reverse();
    const path = line
      .slice(0, PATH_LEVELS)
      .reduce<string>(
        (path, place) => (typeof place === "number" ? index(path, place) : join(path, place)),
        String(root),
      );
    return line.length > PATH_LEVELS ? path + "…" : path;
  }

  /** The member with that name; undefined also of what is no object. */
  member(name: string): Value | undefined {
    return this.members.find((m) => m.name === name)?.value;
  }

  /** A string's text; undefined of any other kind. */
  get asString(): string | undefined {
    return this.kind === "string" ? this.text : undefined;
  }

  /** Whether the value is the literal true. */
  get isTrue(): boolean {
    return this.kind === "bool" && this.text === "true";
  }

  /** The object with a member more, or with another value for it. */
  with(name: string, value: Value): Value {
    const members = this.members.filter((m) => m.name !== name);
    return new Value("object", "", NO_ITEMS, [...members, { name, value }]);
  }

  /** The object without a member. */
  without(name: string): Value {
    return new Value(
      "object",
      "",
      NO_ITEMS,
      this.members.filter((m) => m.name !== name),
    ).at(this.parent, this.place);
  }
}

/** A string. */
export function string(text: string): Value {
  return new Value("string", text);
}

/** A list. */
export function list(items: readonly Value[]): Value {
  return new Value("list", "", items);
}

/** An object of the members that are there. */
export function object(members: Record<string, Value | undefined>): Value {
  const there = Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]));
  return new Value("object", "", NO_ITEMS, there);
}

/** The literals. */
export const NULL = new Value("null", "null");
export const TRUE = new Value("bool", "true");

/**
 * An object and the members of extras that it has not. Where both have an object, these are merged likewise; where both have something
 * else, the object's stays. The members that extras has come last, in its order, so that taking the others out gives extras again.
 */
export function merged(value: Value, extras: Value | undefined): Value {
  if (extras === undefined) {
    return value;
  }
  const own = value.members.filter((m) => extras.member(m.name) === undefined);
  const shared = extras.members.map((m) => {
    const have = value.member(m.name);
    if (have === undefined) {
      return m;
    }
    return { name: m.name, value: have.kind === "object" && m.value.kind === "object" ? merged(have, m.value) : have };
  });
  return new Value("object", "", NO_ITEMS, [...own, ...shared]);
}

/**
 * The one compact form of a value: members in their order, no white space, strings escaped as JSON.stringify does, numbers as they are
 * spelled.
 */
export function write(value: Value): string {
  const out: string[] = [];
  append(out, value, Number.POSITIVE_INFINITY);
  return out.join("");
}

/** The compact form in which extras have a value. ConversionError where it is nested more than 128 deep. */
export function compact(value: Value, path: string): string {
  const out: string[] = [];
  if (!append(out, value, MAX_JSON_DEPTH)) {
    throw new ConversionError(path, `is refused: nested deeper than ${String(MAX_JSON_DEPTH)}`);
  }
  return out.join("");
}

/** The value that a text is JSON of, as extras may have it: at most 128 deep. Undefined where it is none. */
export function readCompactable(text: string): Value | undefined {
  const value = readAny(text);
  return value !== undefined && append([], value, MAX_JSON_DEPTH) ? value : undefined;
}

/** The value that a text is JSON of; undefined where it is none. */
export function readAny(text: string): Value | undefined {
  try {
    return read(text, "", []);
  } catch (error) {
    if (error instanceof ConversionError) {
      return undefined;
    }
    throw error;
  }
}

/** Appends the compact form; false where it is nested deeper than levels. */
function append(out: string[], value: Value, levels: number): boolean {
  switch (value.kind) {
    case "string":
      out.push(JSON.stringify(value.text));
      return true;
    case "list":
      out.push("[");
      for (const [i, item] of value.items.entries()) {
        if (i > 0) {
          out.push(",");
        }
        if (!append(out, item, levels - 1)) {
          return false;
        }
      }
      out.push("]");
      return levels > 0;
    case "object":
      out.push("{");
      for (const [i, m] of value.members.entries()) {
        out.push(i > 0 ? "," : "", JSON.stringify(m.name), ":");
        if (!append(out, m.value, levels - 1)) {
          return false;
        }
      }
      out.push("}");
      return levels > 0;
    default:
      out.push(value.text);
      return true;
  }
}

/**
 * Reads one JSON text (RFC 8259), whose path is root: a string, bytes in UTF-8, or a value that JSON.stringify turns into such a text.
 * No member may stand twice in an object. Each string with lone surrogates is noted in changes. ConversionError where it is no JSON;
 * TypeError for what JSON.stringify has no text of.
 */
export function read(source: unknown, root: string, changes: Change[]): Value {
  if (typeof source === "string") {
    return new Reader(source, isWellFormed, changes).document(root);
  }
  if (source instanceof Uint8Array) {
    const text = utf8(source);
    if (text !== undefined) {
      return new Reader(text, isWellFormed, changes).document(root);
    }
    // The reader finds the member that is not UTF-8, each byte taken for a character.
    return new Reader(latin1(source), isUtf8, changes).document(root);
  }
  const text = JSON.stringify(source) as string | undefined;
  if (text === undefined) {
    throw new TypeError(
      `pass JSON as a string, as bytes or as objects, not ${source === undefined ? "undefined" : `a ${typeof source}`}`,
    );
  }
  return new Reader(text, isWellFormed, changes).document(root);
}

/** Whether a string has no surrogate without its other half, so that UTF-8 can hold it. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** The text of bytes in UTF-8; undefined where they are not. */
export function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192) {
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  }
  return text;
}

function isUtf8(text: string): boolean {
  return utf8(Uint8Array.from(text, (c) => c.charCodeAt(0))) !== undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const REPLACEMENT = "\ufffd";

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** Reads one document once. */
class Reader {
  private position = 0;

  constructor(
    private readonly source: string,
    private readonly isText: (text: string) => boolean,
    private readonly changes: Change[],
  ) {}

  document(root: string): Value {
    const value = this.value(undefined, root, 1);
    if (this.next() !== "") {
      throw new ConversionError(root, "holds more than one JSON text");
    }
    return value;
  }

  /** Skips white space and gives the character there, "" at the end. */
  private next(): string {
    for (; ; this.position++) {
      const c = this.source.charAt(this.position);
      if (c !== " " && c !== "\t" && c !== "\n" && c !== "\r") {
        return c;
      }
    }
  }

  /** Reads the value that begins here. */
  private value(parent: Value | undefined, place: string | number, depth: number): Value {
    const c = this.next();
    if (depth > MAX_DEPTH) {
      throw new ConversionError(pathOf(parent, place), "is nested too deep");
    }
    switch (c) {
      case "{":
        return this.object(parent, place, depth);
      case "[":
        return this.list(parent, place, depth);
      case '"': {
        const fail = new Value("string", "").at(parent, place);
        return new Value("string", this.text(fail)).at(parent, place);
      }
      default:
        return this.scalar(parent, place);
    }
  }

  private list(parent: Value | undefined, place: string | number, depth: number): Value {
    const items: Value[] = [];
    const value = new Value("list", "", items).at(parent, place);
    this.position++;
    if (this.next() === "]") {
      this.position++;
      return value;
    }
    for (;;) {
      items.push(this.value(value, items.length, depth + 1));
      if (this.ends("]", value)) {
        return value;
      }
    }
  }

  private object(parent: Value | undefined, place: string | number, depth: number): Value {
    const members: Member[] = [];
    const value = new Value("object", "", NO_ITEMS, members).at(parent, place);
    this.position++;
    if (this.next() === "}") {
      this.position++;
      return value;
    }
    const names = new Set<string>();
    for (;;) {
      const name = this.name(value);
      const member = { name, value: this.value(value, name, depth + 1) };
      if (names.has(name)) {
        throw new ConversionError(member.value.path, "stands twice in its object");
      }
      names.add(name);
      members.push(member);
      if (this.ends("}", value)) {
        return value;
      }
    }
  }

  /** Reads a member's name and the colon. */
  private name(object: Value): string {
    if (this.next() !== '"') {
      throw notJson(object);
    }
    const name = this.text(object);
    if (this.next() !== ":") {
      throw notJson(object);
    }
    this.position++;
    return name;
  }

  /** Reads a comma, or the bracket that ends a list or an object. */
  private ends(bracket: string, value: Value): boolean {
    const c = this.next();
    if (c !== "," && c !== bracket) {
      throw notJson(value);
    }
    this.position++;
    return c === bracket;
  }

  private scalar(parent: Value | undefined, place: string | number): Value {
    for (const literal of ["null", "true", "false"]) {
      if (this.source.startsWith(literal, this.position)) {
        this.position += literal.length;
        return new Value(literal === "null" ? "null" : "bool", literal).at(parent, place);
      }
    }
    const start = this.position;
    const ok = this.number();
    const value = new Value("number", this.source.slice(start, this.position)).at(parent, place);
    if (!ok) {
      throw notJson(value);
    }
    return value;
  }

  /** Skips a number; false where there is none, or it breaks off. */
  private number(): boolean {
    this.skip("-");
    if (!this.skip("0") && !this.digits()) {
      return false;
    }
    if (this.skip(".") && !this.digits()) {
      return false;
    }
    if (this.skip("e") || this.skip("E")) {
      if (!this.skip("+")) {
        this.skip("-");
      }
      return this.digits();
    }
    return true;
  }

  private skip(c: string): boolean {
    if (this.source.charAt(this.position) !== c) {
      return false;
    }
    this.position++;
    return true;
  }

  private digits(): boolean {
    const start = this.position;
    for (;;) {
      const c = this.source.charCodeAt(this.position);
      if (!(c >= 0x30 && c <= 0x39)) {
        return this.position > start;
      }
      this.position++;
    }
  }

  /** Reads the string that begins here; at is the value that errors name. */
  private text(at: Value): string {
    this.position++;
    const pieces: string[] = [];
    let lone = 0;
    for (;;) {
      const plain = this.plain();
      if (!this.isText(plain)) {
        throw new ConversionError(at.path, "is not UTF-8");
      }
      pieces.push(plain);
      const c = this.source.charCodeAt(this.position);
      if (c === QUOTE) {
        break;
      }
      if (c !== BACKSLASH) {
        throw notJson(at);
      }
      const escaped = this.escape(at);
      if (isWellFormed(escaped)) {
        pieces.push(escaped);
      } else {
        lone++;
        pieces.push(REPLACEMENT);
      }
    }
    this.position++;
    if (lone > 0) {
      this.changes.push({ path: at.path, kind: "surrogates", count: lone });
    }
    return pieces.length === 1 ? (pieces[0] ?? "") : pieces.join("");
  }

  /** Skips what stands for itself. */
  private plain(): string {
    const start = this.position;
    for (; this.position < this.source.length; this.position++) {
      const c = this.source.charCodeAt(this.position);
      if (c === QUOTE || c === BACKSLASH || c < 0x20) {
        break;
      }
    }
    return this.source.slice(start, this.position);
  }

  /** Reads one escape, two for a surrogate pair; a surrogate without its other half is given as it is. */
  private escape(at: Value): string {
    const unit = this.unit(this.position);
    if (unit === undefined) {
      const plain = ESCAPES[this.source.charAt(this.position + 1)];
      if (plain === undefined) {
        throw notJson(at);
      }
      this.position += 2;
      return plain;
    }
    this.position += 6;
    const second = unit >= 0xd800 && unit < 0xdc00 ? this.unit(this.position) : undefined;
    if (second !== undefined && second >= 0xdc00 && second <= 0xdfff) {
      this.position += 6;
      return String.fromCharCode(unit, second);
    }
    return String.fromCharCode(unit);
  }

  /** The code unit of the \uXXXX at a position. */
  private unit(position: number): number | undefined {
    const digits = this.source.slice(position, position + 6);
    return /^\\u[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits.slice(2), 16) : undefined;
  }
}

function notJson(value: Value): ConversionError {
  return new ConversionError(value.path, "is not JSON");
}

function pathOf(parent: Value | undefined, place: string | number): string {
  return new Value("null", "null").at(parent, place).path;
}
