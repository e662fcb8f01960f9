// Variables of a chain, which metadata of its nodes sets.

/** The most bytes of a value of metadata. */
const MAX_VALUE_BYTES = 4 << 10;

/** The metadata key of a variable whose value, as a rule JSON, is the entry's: at most 4 KiB. An empty value unsets it. */
export function variableKey(name: string): string {
  return `var/${name}`;
}

/** The metadata key of a variable whose value the agent keeps; its entry is what declaredVariable gives. An empty value unsets it. */
export function variableInfoKey(name: string): string {
  return `varinfo/${name}`;
}

/** What an agent tells of a variable whose value it keeps itself, a context of 200 kB say. */
export interface DeclaredVariable {
  /** 1 to 64 bytes, in the agent's own words. */
  readonly type: string;
  /** The bytes of the value: 0 to 2^53 - 1. */
  readonly size: number;
  /** The beginning of the value. */
  readonly preview: string;
  /** The agent's count of what it did when it set it: 0 to 2^53 - 1. */
  readonly iteration: number;
}

/** The value of the metadata variableInfoKey. Of a preview that is too long for metadata it has what fits. */
export function declaredVariable({ type, size, preview, iteration }: DeclaredVariable): string {
  const encoded = (points: readonly string[]): string =>
    JSON.stringify({ type, size, preview: points.join(""), iteration });
  const fits = (points: readonly string[]): boolean =>
    new TextEncoder().encode(encoded(points)).length <= MAX_VALUE_BYTES;
  const all = Array.from(preview.slice(0, MAX_VALUE_BYTES)); // more never fits
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(all.slice(0, middle))) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return encoded(all.slice(0, low));
}
