// What of node:assert the scenarios use, where there is no Node.

function same(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
    return Object.is(a, b);
  }
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === others.length &&
    keys.every((key) => same(a[key as keyof typeof a], b[key as keyof typeof b]))
  );
}

function hold(is: boolean, what: string | undefined, ...values: unknown[]): void {
  if (!is) {
    throw new Error(`${what ?? "an assertion fails"}: ${values.map((v) => JSON.stringify(v)).join(", ")}`);
  }
}

export default {
  ok: (value: unknown, what?: string): void => {
    hold(Boolean(value), what, value);
  },
  equal: (got: unknown, want: unknown, what?: string): void => {
    hold(Object.is(got, want), what, got, want);
  },
  notEqual: (got: unknown, other: unknown, what?: string): void => {
    hold(!Object.is(got, other), what, got, other);
  },
  deepEqual: (got: unknown, want: unknown, what?: string): void => {
    hold(same(got, want), what, got, want);
  },
};
