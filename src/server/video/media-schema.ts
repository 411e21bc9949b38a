import type { TSchema } from 'typebox';
import { invalid } from '../platform/errors.ts';
import { checkOf } from '../platform/http/validation.ts';
import type { Json, VideoRequest } from './vendor.ts';

interface Property {
  readonly 'x-upstream'?: string;
}

/**
 * Checks a body against the media schema of its model and picks the arguments the schema declares, each with the dotted
 * path it takes in the vendor's body (`x-upstream`, default: its own name at the top). Without a schema the prompt is
 * required and nothing is picked.
 */
export function readArguments(
  schema: TSchema | undefined,
  body: { readonly [key: string]: unknown },
): VideoRequest['extra'] {
  if (schema === undefined) {
    if (typeof body.prompt !== 'string' || body.prompt.trim() === '') throw invalid('prompt is required.', 'prompt');
    return [];
  }
  const checked = checkOf(schema)(body);
  if ('error' in checked) throw checked.error;
  const properties = (schema as { readonly properties?: Readonly<Record<string, Property>> }).properties ?? {};
  return Object.entries(properties)
    .filter(([name]) => Object.hasOwn(body, name) && !COMMON_FIELDS.has(name))
    .map(([name, property]) => ({ path: property['x-upstream'] ?? name, value: body[name] as Json }));
}

/** Fields every adapter reads by its own rules; a schema may constrain them without sending them a second time. */
const COMMON_FIELDS = new Set([
  'model',
  'prompt',
  'image',
  'images',
  'duration',
  'seconds',
  'size',
  'mode',
  'input_reference',
  'metadata',
]);
