import type { UsableModel } from '../../data/usable-models-query.ts';

/** Fields of the studio's form by the names the server gives their places in a request. */
const FIELD_NAMES = {
  seconds: 'seconds',
  size: 'size',
  mode: 'mode',
  ratio: 'ratio',
  resolution: 'resolution',
  audio: 'audio',
  seed: 'seed',
  negative: 'negative_prompt',
} as const;
export type FormField = keyof typeof FIELD_NAMES;

/** Dotted places in a request body by form field; a field the vendor has no place for is missing and is not offered. */
export type RequestPaths = Readonly<Partial<Record<FormField, string>>>;

const COMMON_PATHS: RequestPaths = { seconds: 'duration', size: 'size', mode: 'mode' };

/** Where the form's fields go in a request for this model; the common places for a model that is no longer available. */
export function requestPathsFor(model: Pick<UsableModel, 'fields'> | undefined): RequestPaths {
  if (model === undefined) return COMMON_PATHS;
  const entries = Object.entries(FIELD_NAMES).map(([field, name]) => [field, model.fields[name]] as const);
  return Object.fromEntries(entries.filter(([, path]) => path !== undefined));
}
