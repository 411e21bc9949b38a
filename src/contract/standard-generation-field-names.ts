/**
 * Fields of a generation that every adapter reads by its own rules and every form shows. A media schema may constrain them
 * without sending them a second time, and they are not passed through as native fields.
 */
export const STANDARD_FIELDS: ReadonlySet<string> = new Set([
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
