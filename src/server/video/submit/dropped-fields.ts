import type { TSchema } from 'typebox';
import { STANDARD_FIELDS } from '../../../contract/standard-generation-field-names.ts';
import type { VendorAdapter } from '../../vendors/adapter.ts';
import type { GenerationRequest } from './generation-request.ts';
import { declaresArgument } from './pick-request-arguments-by-media-schema.ts';

/** The keywords of a schema that decide which keys of a value reach a vendor. */
interface SchemaKeywords {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly anyOf?: readonly TSchema[];
}

const typeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);

/** Dotted paths of the keys that `schema` does not name, at every depth; null counts as absent. */
function droppedKeys(schema: TSchema, value: unknown, path: string): readonly string[] {
  const shape = schema as SchemaKeywords;
  if (shape.anyOf) {
    const fitting = shape.anyOf.find((option) => (option as SchemaKeywords).type === typeOf(value));
    return fitting ? droppedKeys(fitting, value, path) : [];
  }
  const { properties, items } = shape;
  if (items && Array.isArray(value))
    return [...new Set(value.flatMap((entry, index) => droppedKeys(items, entry, `${path}.${index}`)))];
  if (!properties || typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (inner === null || inner === undefined) return [];
    return known ? droppedKeys(known, inner, `${path}.${key}`) : [`${path}.${key}`];
  });
}

/** What of a body in our own formats its vendor is not sent: `metadata` the model does not know, and unknown members. */
export function droppedPaths(
  { body, metadata, media, officialBody }: GenerationRequest,
  inputSchema: TSchema | undefined,
  { metadata: schema, passthrough }: Pick<VendorAdapter, 'metadata' | 'passthrough'>,
): readonly string[] {
  if (officialBody !== undefined || media === undefined) return [];
  const read = new Set([...STANDARD_FIELDS, 'callback_url', ...media.pictures.map(({ field }) => field)]);
  const unknown = Object.entries(body).flatMap(([field, value]) =>
    read.has(field) || value === null || passthrough || declaresArgument(inputSchema, field) ? [] : [field],
  );
  return [...unknown, ...droppedKeys(schema, metadata, 'metadata')];
}

const MAX_DROPPED_LENGTH = 2_000;

/** Names come from the caller: what a header cannot hold is percent-encoded. */
export function toDroppedHeader(paths: readonly string[]): Readonly<Record<string, string>> {
  if (paths.length === 0) return {};
  const names = paths.slice(0, 100).map((path) => path.toWellFormed().replace(/[^\w.$-]/gu, encodeURIComponent));
  let text = names[0] ?? '';
  for (const name of names.slice(1)) if (text.length + name.length < MAX_DROPPED_LENGTH) text += `, ${name}`;
  return { 'x-reelgate-dropped': text.slice(0, MAX_DROPPED_LENGTH) };
}
