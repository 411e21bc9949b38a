type Value = string | number | boolean;

/** Shown elsewhere on the page. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set(['model', 'prompt']);
/** Longer values are inputs by value, such as images. */
const MAX_LENGTH = 200;

/**
 * The simple parameters of a stored request, those of `metadata` included; the whole request is shown as JSON.
 */
export function describeParameters(request: unknown): readonly (readonly [name: string, value: Value])[] {
  if (typeof request !== 'object' || request === null) return [];
  const { metadata, ...own } = request as Readonly<Record<string, unknown>>;
  const nested = typeof metadata === 'object' && metadata !== null ? metadata : {};
  const named = new Map(Object.entries({ ...nested, ...own }));
  return [...named].filter((pair): pair is [string, Value] => !SHOWN_ELSEWHERE.has(pair[0]) && isShort(pair[1]));
}

const isShort = (value: unknown): value is Value =>
  typeof value === 'number' ||
  typeof value === 'boolean' ||
  (typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH && !/^(?:data:|https?:)/.test(value));
