import type { Static, TObject, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { defined } from '../../contract/objects.ts';
import { UnsupportedRequestError } from '../upstreams/upstream.ts';
import { asText } from './untrusted-json.ts';

/** The keywords of a schema that determine which keys of a value are kept. */
export interface SchemaKeywords {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

/** Copies the keys the schema names, at every depth; null counts as absent. Values are validated elsewhere. */
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

/** Parses a caller's `metadata` by its `schema`. */
interface MetadataParser<T extends TObject> {
  (metadata: Readonly<Record<string, unknown>>): Static<T>;
  readonly schema: T;
}

/**
 * Creates the parser of one vendor's metadata table: a function from the caller's `metadata` to the keys the schema
 * names. Other keys are dropped, at every depth, so that no host, key or URL can be smuggled to a vendor; a value of
 * the wrong type is refused by its dotted name. Of a union, the first member of the value's own type is used.
 */
export function createMetadataParser<T extends TObject>(schema: T): MetadataParser<T> {
  const validator = Compile(schema);
  const read = (metadata: Readonly<Record<string, unknown>>): Static<T> => {
    const kept = pickNamedKeys(schema, metadata);
    if (validator.Check(kept)) return kept as Static<T>;
    const deep = (path: string): number => path.split('/').length;
    // Every member of a union reports an error; the deepest one belongs to the member the caller meant.
    const [first] = validator.Errors(kept).toSorted((a, b) => deep(b.instancePath) - deep(a.instancePath));
    const path = (first?.instancePath ?? '').split('/').slice(1);
    const param = ['metadata', ...path].join('.');
    throw new UnsupportedRequestError(`${param} ${first?.message ?? 'is not valid'}.`, param);
  };
  return Object.assign(read, { schema });
}

/**
 * Price factors from a vendor's body; unknown ones are omitted. Audio counts if the body sets it, to true or false.
 *
 * @param factors As read from the body, so a value may have any type: media schemas of administrators write into it.
 */
export const knownFactors = (factors: {
  readonly resolution?: unknown;
  readonly size?: string;
  readonly audio?: unknown;
}): { readonly [factor: string]: string } =>
  defined({
    resolution: asText(factors.resolution),
    size: factors.size,
    audio: typeof factors.audio === 'boolean' ? String(factors.audio) : undefined,
  });

const MAX_SECONDS = 3_600;

/** Whole seconds from a vendor's body, as a number or a text; the price depends on them. */
export function parseSeconds(value: unknown, param: string): number {
  const seconds = typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value;
  if (typeof seconds === 'number' && Number.isInteger(seconds) && seconds >= 1 && seconds <= MAX_SECONDS)
    return seconds;
  throw new UnsupportedRequestError(`${param} must be whole seconds, from 1 to ${MAX_SECONDS}.`, param);
}

/** Refuses a common field that this vendor does not support. */
export function rejectField(param: string, why: string): never {
  throw new UnsupportedRequestError(`${param} ${why}.`, param);
}

const MONTH_AND_DAY = '(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\\d|3[01])';
/** `-2026-06-12`, `-20260612` or `-260612` at the end of a name. */
const DATE = new RegExp(`-(?:20)?\\d{2}-?${MONTH_AND_DAY}$`);

/** A dated release has the fields and prices of its model line: `model-2026-06-12` is `model`. */
export const undatedModel = (model: string): string => model.replace(DATE, '');
