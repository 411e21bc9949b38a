import type { TSchema } from 'typebox';
import { STANDARD_FIELDS } from '../../../contract/standard-generation-field-names.ts';
import { invalidRequest } from '../../platform/app-error.ts';
import { memoizeByObject } from '../../platform/cache.ts';
import { validatorFor } from '../../platform/http/schema-validation.ts';
import { NO_LONG_TEXTS, withLongTexts } from '../../platform/long-text.ts';
import { runWithinTime } from '../../platform/run-within-time.ts';
import type { Json, VideoRequest } from '../../vendors/adapter.ts';
import type { GenerationRequest } from './generation-request.ts';

/** A sound expression needs microseconds; the time is elapsed time, on a machine that may be busy. */
const MAX_CHECK_MS = 250;

/** Whether a schema contains expressions. Compiles it too, which is not to count as time of a request. */
const hasPatterns = memoizeByObject((schema: TSchema): boolean => {
  validatorFor(schema)({});
  return /"pattern(?:Properties)?":/.test(JSON.stringify(schema));
});

/** An administrator's expression may take any time on a caller's text. */
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
 * Checks the body of a request against the media schema of its model and picks the arguments the schema declares, each with
 * the dotted path it takes in the vendor's body (`x-upstream`, default: its own name at the top). Without a schema nothing is
 * picked, and the prompt is required unless the format makes it optional.
 * @throws AppError `invalid_request`
 */
export function pickRequestArguments(
  schema: TSchema | undefined,
  {
    body,
    longTexts = NO_LONG_TEXTS,
    isPromptOptional,
  }: Pick<GenerationRequest, 'body' | 'longTexts' | 'isPromptOptional'>,
): VideoRequest['extraFields'] {
  if (schema === undefined) {
    const isMissing = typeof body.prompt !== 'string' || body.prompt.trim() === '';
    if (isMissing && isPromptOptional !== true) throw invalidRequest('prompt is required.', 'prompt');
    return [];
  }
  // A schema may say of a picture how long it may be, or what is in it.
  const whole = withLongTexts(body, longTexts);
  const checked = checkInTime(schema, whole);
  if ('error' in checked) throw checked.error;
  return Object.entries(propertiesOf(schema))
    .filter(([name]) => Object.hasOwn(whole, name) && !STANDARD_FIELDS.has(name))
    .map(([name, property]) => ({ path: property['x-upstream'] ?? name, value: whole[name] as Json }));
}
