// The tools of the model.

import type { Files } from "./files.js";

/** What a model is told of a tool, and what runs its calls with the arguments as the model wrote them. The SDK's tools are such, too. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Record<string, unknown>; // a JSON Schema
  run(toolArguments: string): Promise<string>;
}

const LIMIT = 10_000_000;

/** The tools for a call. What has an effect is written down under its key. */
export function toolsOf(files: Files, key: string): Tool[] {
  return [
    tool("read_note", "Read a note.", { name: string }, ({ name }) => files.note(name)),
    tool("calculate", "Calculate with two whole numbers.", { a: integer, op: operator, b: integer }, calculate),
    tool("pay", "Pay somebody an amount of euros.", { to: string, amount: integer }, ({ to, amount }) =>
      files.pay({ key, to, amount }),
    ),
    tool("ring", "Ring the bell at the door.", {}, () => files.ring(key)),
  ];
}

const string = { type: "string" } as const;
const integer = { type: "integer" } as const;
const operator = { type: "string", enum: ["+", "-", "*"] } as const;

type Properties = Readonly<Record<string, { readonly type: "string" | "integer" }>>;
type Arguments<P extends Properties> = {
  readonly [name in keyof P]: P[name]["type"] extends "string" ? string : number;
};

/** A tool that gives run the arguments with these properties, all of which are needed. */
function tool<P extends Properties>(
  name: string,
  description: string,
  properties: P,
  run: (given: Arguments<P>) => string,
): Tool {
  return {
    name,
    description,
    parameters: { type: "object", properties, required: Object.keys(properties) },
    run: async (text) => {
      const given = parsed(text);
      const right = Object.entries(properties).every(([member, { type }]) => fits(given[member], type));
      return right ? run(given as Arguments<P>) : "The arguments are not those that the tool takes.";
    },
  };
}

function parsed(text: string): Record<string, unknown> {
  try {
    const given: unknown = JSON.parse(text);
    return typeof given === "object" && given !== null ? { ...given } : {};
  } catch {
    return {};
  }
}

function fits(value: unknown, type: "string" | "integer"): boolean {
  return type === "string" ? typeof value === "string" && value.isWellFormed() : Number.isSafeInteger(value);
}

function calculate({ a, op, b }: { readonly a: number; readonly op: string; readonly b: number }): string {
  if (Math.max(Math.abs(a), Math.abs(b)) > LIMIT) {
    return `The numbers may be up to ${LIMIT}.`;
  }
  switch (op) {
    case "+":
      return String(a + b);
    case "-":
      return String(a - b);
    case "*":
      return String(a * b);
    default:
      return "op has to be +, - or *.";
  }
}
