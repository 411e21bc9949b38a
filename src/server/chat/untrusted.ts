/** An object of somebody else's JSON, where nothing may be taken for granted. */
export type Untrusted = { readonly [key: string]: unknown };

/** Undefined for everything that is no object: null, arrays, numbers, text. */
export function asObject(value: unknown): Untrusted | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Untrusted) : undefined;
}
