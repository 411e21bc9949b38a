type OptionalKeys<T> = { [K in keyof T]: undefined extends T[K] ? K : never }[keyof T];

/** `T` whose members that may be undefined become optional and are never undefined. */
type Defined<T> = { [K in Exclude<keyof T, OptionalKeys<T>>]: T[K] } & {
  [K in OptionalKeys<T>]?: Exclude<T[K], undefined>;
};

/**
 * Copies the object without undefined members, for consumers that distinguish an absent member from an undefined one.
 */
export function defined<T extends object>(object: T): Defined<T> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/**
 * An object parsed from the JSON of a caller or an upstream. No member can be assumed to exist or to have a given type.
 */
export type UntrustedObject = { readonly [key: string]: unknown };

/** Whether an external value is a JSON object, that is, neither null nor an array. */
export const isObject = (value: unknown): value is UntrustedObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value as an object; undefined for null, arrays, numbers and text. */
export const asObject = (value: unknown): UntrustedObject | undefined => (isObject(value) ? value : undefined);
