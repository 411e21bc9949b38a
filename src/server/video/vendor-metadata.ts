import type { Static, TObject, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { VendorRefusal } from './vendor.ts';

/** The keywords of a schema that decide which keys of a value stay. */
interface Shape {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

/** A copy with the keys the schema names, at every depth; null counts as absent. Values are judged elsewhere. */
function prune(schema: TSchema, value: unknown): unknown {
  const shape = schema as Shape;
  if (shape.anyOf) {
    const fitting = shape.anyOf.find((option) => (option as Shape).type === typeOf(value));
    return fitting ? prune(fitting, value) : value;
  }
  const { properties, items } = shape;
  if (items && Array.isArray(value)) return value.map((entry) => prune(items, entry));
  if (!properties || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(properties)) {
    const inner = properties[key];
    if (!inner || !Object.hasOwn(value, key)) continue;
    const given = (value as Readonly<Record<string, unknown>>)[key];
    if (given !== null && given !== undefined) kept[key] = prune(inner, given);
  }
  return kept;
}

/** Reads a caller's `metadata`; `schema` is the table it reads by. */
export interface MetadataReader<T extends TObject> {
  (metadata: Readonly<Record<string, unknown>>): Static<T>;
  readonly schema: T;
}

/**
 * Makes the reader of one vendor's metadata table: a function from the caller's `metadata` to the keys the schema names.
 * Keys it does not name are dropped, at every depth, so that no host, key or address can be smuggled to a vendor; a value
 * of the wrong type is refused by its dotted name. Of a union, the first member of the value's own type counts.
 */
export function metadataReader<T extends TObject>(schema: T): MetadataReader<T> {
  const validator = Compile(schema);
  const read = (metadata: Readonly<Record<string, unknown>>): Static<T> => {
    const kept = prune(schema, metadata);
    if (validator.Check(kept)) return kept as Static<T>;
    const deep = (path: string): number => path.split('/').length;
    // Of a union every member complains; the deepest complaint is about the member that was meant.
    const [first] = validator.Errors(kept).toSorted((a, b) => deep(b.instancePath) - deep(a.instancePath));
    const path = (first?.instancePath ?? '').split('/').slice(1);
    const param = ['metadata', ...path].join('.');
    throw new VendorRefusal(`${param} ${first?.message ?? 'is not valid'}.`, param);
  };
  return Object.assign(read, { schema });
}
