import type { Static, TObject, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { UnsupportedRequestError } from '../upstreams/vendor-errors.ts';

/** The keywords of a schema that decide which keys of a value stay. */
interface SchemaKeywords {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

/** A copy with the keys the schema names, at every depth; null counts as absent. Values are validated elsewhere. */
function pickNamedKeys(schema: TSchema, value: unknown): unknown {
  const shape = schema as SchemaKeywords;
  if (shape.anyOf) {
    const fitting = shape.anyOf.find((option) => (option as SchemaKeywords).type === typeOf(value));
    return fitting ? pickNamedKeys(fitting, value) : value;
  }
  const { properties, items } = shape;
  if (items && Array.isArray(value)) return value.map((entry) => pickNamedKeys(items, entry));
  if (!properties || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(properties)) {
    const inner = properties[key];
    if (!inner || !Object.hasOwn(value, key)) continue;
    const given = (value as Readonly<Record<string, unknown>>)[key];
    if (given !== null && given !== undefined) kept[key] = pickNamedKeys(inner, given);
  }
  return kept;
}

/** Reads a caller's `metadata`; `schema` is the table it reads by. */
export interface MetadataParser<T extends TObject> {
  (metadata: Readonly<Record<string, unknown>>): Static<T>;
  readonly schema: T;
}

/**
 * Makes the reader of one vendor's metadata table: a function from the caller's `metadata` to the keys the schema names.
 * Keys it does not name are dropped, at every depth, so that no host, key or URL can be smuggled to a vendor; a value
 * of the wrong type is refused by its dotted name. Of a union, the first member of the value's own type counts.
 */
export function createMetadataParser<T extends TObject>(schema: T): MetadataParser<T> {
  const validator = Compile(schema);
  const read = (metadata: Readonly<Record<string, unknown>>): Static<T> => {
    const kept = pickNamedKeys(schema, metadata);
    if (validator.Check(kept)) return kept as Static<T>;
    const deep = (path: string): number => path.split('/').length;
    // Every member of a union reports an error; the deepest one is of the member that the caller meant.
    const [first] = validator.Errors(kept).toSorted((a, b) => deep(b.instancePath) - deep(a.instancePath));
    const path = (first?.instancePath ?? '').split('/').slice(1);
    const param = ['metadata', ...path].join('.');
    throw new UnsupportedRequestError(`${param} ${first?.message ?? 'is not valid'}.`, param);
  };
  return Object.assign(read, { schema });
}
