type OptionalKeys<T> = { [K in keyof T]: undefined extends T[K] ? K : never }[keyof T];

/** `T` whose possibly undefined members may be absent instead, and are never undefined. */
type Defined<T> = { [K in Exclude<keyof T, OptionalKeys<T>>]: T[K] } & {
  [K in OptionalKeys<T>]?: Exclude<T[K], undefined>;
};

/** The object without the members that are undefined, for where an absent member and one set to undefined differ. */
export function defined<T extends object>(object: T): Defined<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** An object parsed from JSON of a caller or an upstream, so no member can be assumed to exist or to have its type. */
export type UntrustedObject = { readonly [key: string]: unknown };

/** Whether a value from outside is a JSON object: neither null nor an array. */
export const isObject = (value: unknown): value is UntrustedObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Undefined for everything that is no object: null, arrays, numbers, text. */
export const asObject = (value: unknown): UntrustedObject | undefined => (isObject(value) ? value : undefined);
