/** An object parsed from JSON of a caller or an upstream, so no member can be assumed to exist or to have its type. */
export type UntrustedObject = { readonly [key: string]: unknown };

/** Whether a value from outside is a JSON object: neither null nor an array. */
export const isObject = (value: unknown): value is UntrustedObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Undefined for everything that is no object: null, arrays, numbers, text. */
export const asObject = (value: unknown): UntrustedObject | undefined => (isObject(value) ? value : undefined);
