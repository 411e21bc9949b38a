import type { TSchema } from 'typebox';
import { STANDARD_FIELDS } from '../../contract/video.ts';
import { invalidRequest } from '../platform/app-error.ts';
import { memoizeByObject } from '../platform/cache.ts';
import { runWithinTime } from '../platform/concurrency.ts';
import { validatorFor } from '../platform/http/schema-validation.ts';
import { NO_IMAGES } from '../platform/json.ts';
import type { RequestJson, VendorAdapter, VideoRequest } from '../vendors/adapter.ts';
import type { SchemaKeywords } from '../vendors/metadata.ts';
import type { GenerationRequest } from './generation-request.ts';
import { withImages } from './request-media.ts';

/** A sound expression needs microseconds; this limit is elapsed time on a machine that may be busy. */
const MAX_CHECK_MS = 250;

/**
 * Whether a schema contains regular expressions. Also compiles the schema, so that compilation does not count towards a
 * request's time limit.
 */
const hasPatterns = memoizeByObject((schema: TSchema): boolean => {
  validatorFor(schema)({});
  return /"pattern(?:Properties)?":/.test(JSON.stringify(schema));
});

/** Limits the time of a check, because an administrator's expression may backtrack excessively on a caller's text. */
function checkInTime(schema: TSchema, value: unknown): ReturnType<ReturnType<typeof validatorFor>> {
  if (!hasPatterns(schema)) return validatorFor(schema)(value);
  const checked = runWithinTime(() => validatorFor(schema)(value), MAX_CHECK_MS);
  if (checked === undefined)
    throw invalidRequest('A pattern in the schema of the model takes too long on this request.');
  return checked;
}

interface Property {
  readonly 'x-upstream'?: string;
}

type SchemaProperties = Readonly<Record<string, Property>>;
const propertiesOf = (schema: TSchema | undefined): SchemaProperties =>
  (schema as { readonly properties?: SchemaProperties } | undefined)?.properties ?? {};

/** Whether a member of a body is an argument of the model's media schema. */
export const declaresArgument = (schema: TSchema | undefined, name: string): boolean =>
  Object.hasOwn(propertiesOf(schema), name);

/**
 * Checks the body of a request against its model's media schema and picks the arguments the schema declares, each with
 * its dotted path in the vendor's body (`x-upstream`, default: its own name at the top level). Without a schema nothing
 * is picked, and the prompt is required unless the format makes it optional.
 * @throws AppError `invalid_request`
 */
export function pickRequestArguments(
  schema: TSchema | undefined,
  {
    body,
    bodyImages = NO_IMAGES,
    isPromptOptional,
  }: Pick<GenerationRequest, 'body' | 'bodyImages' | 'isPromptOptional'>,
): VideoRequest['extraFields'] {
  if (schema === undefined) {
    const isMissing = typeof body.prompt !== 'string' || body.prompt.trim() === '';
    if (isMissing && isPromptOptional !== true) throw invalidRequest('prompt is required.', 'prompt');
    return [];
  }
  // A schema may constrain the length or the content of an image, so the check needs the images in full.
  const checked = checkInTime(schema, withImages(body, bodyImages, String));
  if ('error' in checked) throw checked.error;
  const whole = withImages(body, bodyImages, (image) => image);
  return Object.entries(propertiesOf(schema))
    .filter(([name]) => Object.hasOwn(whole, name) && !STANDARD_FIELDS.has(name))
    .map(([name, property]) => ({ path: property['x-upstream'] ?? name, value: whole[name] as RequestJson }));
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

/**
 * Paths of a body in our own formats that are not sent to its vendor: `metadata` the model does not know, and unknown
 * members.
 */
export function droppedPaths(
  { body, metadata, media, officialBody }: GenerationRequest,
  inputSchema: TSchema | undefined,
  adapter: Pick<VendorAdapter, 'metadata' | 'passthrough' | 'droppedMetadata'>,
  target: string,
): readonly string[] {
  const { metadata: schema, passthrough } = adapter;
  if (officialBody !== undefined || media === undefined) return [];
  const read = new Set([...STANDARD_FIELDS, 'callback_url', ...media.images.map(({ field }) => field)]);
  const unknown = Object.entries(body).flatMap(([field, value]) =>
    read.has(field) || value === null || passthrough || declaresArgument(inputSchema, field) ? [] : [field],
  );
  const unused = (adapter.droppedMetadata?.(target) ?? []).filter((key) => metadata[key] != null);
  return [...unknown, ...droppedKeys(schema, metadata, 'metadata'), ...unused.map((key) => `metadata.${key}`)];
}

const MAX_DROPPED_LENGTH = 2_000;

/** Names come from the caller; characters that a header cannot hold are percent-encoded. */
export function toDroppedHeader(paths: readonly string[]): Readonly<Record<string, string>> {
  if (paths.length === 0) return {};
  const names = paths.slice(0, 100).map((path) => path.toWellFormed().replace(/[^\w.$-]/gu, encodeURIComponent));
  let text = names[0] ?? '';
  for (const name of names.slice(1)) if (text.length + name.length < MAX_DROPPED_LENGTH) text += `, ${name}`;
  return { 'x-reelgate-dropped': text.slice(0, MAX_DROPPED_LENGTH) };
}
