/** Values of members that their schema alone does not make readable, by name. */
const BY_NAME: Readonly<Record<string, unknown>> = {
  model: 'kling-v3',
  prompt: 'A paper boat drifts down a rainy street at dusk',
  seconds: '5',
  size: '1280x720',
  url: 'https://example.com/image.png',
  image: 'https://example.com/image.png',
  username: 'maria',
  display_name: 'Maria',
  password: 'correct-horse-battery',
  email: 'maria@example.com',
  to: 'maria@example.com',
  name: 'render farm',
  title: 'Where is my video?',
  content: 'A video of this morning has not arrived.',
  phone: '+4915112345678',
  local_part: 'maria',
  user_code: 'BCDF-GHJK',
  package_code: 'studio',
  id: 1,
  task_id: 'task_VcEpsU0m1zR7',
  status: 'completed',
  message: '',
  created_at: 1_795_900_000,
  created_time: 1_795_900_000,
};

/** Texts for members that only their pattern describes; the first that matches is used. */
const PATTERN_EXAMPLES = ['text', '08:00', '1', 'a1b2c3d4'];

interface ExampleSchema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly ExampleSchema[];
  readonly oneOf?: readonly ExampleSchema[];
  readonly allOf?: readonly ExampleSchema[];
  readonly properties?: Readonly<Record<string, ExampleSchema>>;
  readonly required?: readonly string[];
  readonly items?: ExampleSchema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minProperties?: number;
}

const MAX_DEPTH = 10;

/**
 * A value that a reader of the schema can copy: constants and defaults first, then readable values by member name.
 *
 * @param isRequest leaves out optional members, except those that make an example worth reading
 */
export function schemaExample(schema: unknown, isRequest: boolean, name = '', depth = 0): unknown {
  const given = (schema ?? {}) as ExampleSchema;
  if (given.const !== undefined) return given.const;
  if (given.examples?.[0] !== undefined) return given.examples[0];
  if (given.enum !== undefined) return given.enum.find((value) => value !== '') ?? given.enum[0];
  const options = given.anyOf ?? given.oneOf;
  if (options !== undefined)
    return schemaExample(
      options.find(({ type }) => type !== 'null'),
      isRequest,
      name,
      depth,
    );
  if (given.allOf !== undefined)
    return Object.assign({}, ...given.allOf.map((each) => schemaExample(each, isRequest, name, depth)));
  const type = Array.isArray(given.type) ? given.type.find((each) => each !== 'null') : given.type;
  const known = BY_NAME[name];
  if (known !== undefined && fits(known, given, type)) return known;
  if (given.default !== undefined) return given.default;
  return plainExample(given, String(type ?? ''), isRequest, depth);
}

function plainExample(given: ExampleSchema, type: string, isRequest: boolean, depth: number): unknown {
  if (type === 'array') {
    if (depth >= MAX_DEPTH || (isRequest && (given.minItems ?? 0) === 0)) return [];
    return [schemaExample(given.items, isRequest, '', depth + 1)];
  }
  if (type === 'object') return objectExample(given, isRequest, depth);
  if (type === 'integer' || type === 'number') return Math.max(given.minimum ?? given.exclusiveMinimum ?? 0, 1);
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  if (given.format === 'date-time') return '2026-11-28T12:00:00Z';
  const text = given.pattern === undefined ? undefined : PATTERN_EXAMPLES.find((each) => fits(each, given, type));
  if (text !== undefined) return text;
  return type === 'string' ? 'text'.padEnd(given.minLength ?? 0, 'x').slice(0, given.maxLength ?? 32) : {};
}

function objectExample(given: ExampleSchema, isRequest: boolean, depth: number): Readonly<Record<string, unknown>> {
  if (depth >= MAX_DEPTH) return {};
  const { properties = {}, required = [], minProperties = 0 } = given;
  const names = Object.keys(properties);
  const shown = names.filter((name) => !isRequest || required.includes(name) || (depth === 0 && name in BY_NAME));
  const enough = shown.length >= minProperties ? shown : names.slice(0, minProperties);
  return Object.fromEntries(enough.map((name) => [name, schemaExample(properties[name], isRequest, name, depth + 1)]));
}

function fits(value: unknown, { pattern, minLength = 0, maxLength = 1e9 }: ExampleSchema, type: unknown): boolean {
  if (typeof value === 'number') return type === 'integer' || type === 'number';
  const text = String(value);
  const isMatch = pattern === undefined || new RegExp(pattern, 'u').test(text);
  return type === 'string' && text.length >= minLength && text.length <= maxLength && isMatch;
}
