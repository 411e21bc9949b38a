import type { TSchema } from 'typebox';
import { DEVICE_ERRORS } from '../../contract/device-auth.ts';
import {
  type Endpoint,
  type EnvelopeKind,
  envelopeForClient,
  envelopeOfPath,
  type Policy,
} from '../../contract/endpoint.ts';
import { ERRORS } from '../../contract/error-codes.ts';
import { defined } from '../../contract/objects.ts';

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

type Json = { [key: string]: unknown };

const SECURITY: Readonly<Record<Policy, readonly Json[]>> = {
  public: [],
  self: [],
  model: [{ apiKey: [] }],
  mcp: [{ apiKey: [] }],
  'claude-code': [{ apiKey: [] }],
  account: [
    { accessToken: [], userId: [] },
    { session: [], userId: [] },
  ],
  owner: [
    { accessToken: [], userId: [] },
    { session: [], userId: [] },
  ],
  admin: [
    { accessToken: [], userId: [] },
    { session: [], userId: [] },
  ],
  root: [
    { accessToken: [], userId: [] },
    { session: [], userId: [] },
  ],
};

const nullable = (type: string): Json => ({ type: [type, 'null'] });
const object = (properties: Json): Json => ({ type: 'object', properties, required: Object.keys(properties) });
const openAiError = object({
  message: { type: 'string' },
  type: { type: 'string' },
  param: nullable('string'),
  code: { type: 'string' },
});

const anthropicError = object({
  type: { const: 'error' },
  error: object({ type: { type: 'string' }, message: { type: 'string' } }),
  request_id: { type: 'string' },
});
const oauthError = object({ error: { type: 'string' }, error_description: { type: 'string' } });

const FAILURES: Readonly<Record<EnvelopeKind, Json>> = {
  api: object({ success: { const: false }, message: { type: 'string' } }),
  video: object({
    // A vendor's refusal of a submit is returned with the vendor's own code.
    code: { type: 'string', anyOf: [{ enum: Object.keys(ERRORS) }, { description: "The vendor's own code." }] },
    message: { type: 'string' },
    data: { type: 'null' },
  }),
  // The documented body of a missing task has no `error`.
  'openai-video': {
    ...object({ code: { type: 'string' }, message: { type: 'string' }, data: { type: 'null' } }),
    properties: {
      code: { type: 'string' },
      message: { type: 'string' },
      data: { type: 'null' },
      error: openAiError,
    },
  },
  model: object({ error: openAiError }),
  anthropic: anthropicError,
  'claude-code': anthropicError,
  gemini: object({
    error: object({ code: { type: 'integer' }, message: { type: 'string' }, status: { type: 'string' } }),
  }),
  device: object({
    success: { const: false },
    error: { type: 'string', enum: [...DEVICE_ERRORS] },
    message: { type: 'string' },
  }),
  oauth: oauthError,
  'claude-code-oauth': oauthError,
  mcp: object({
    jsonrpc: { const: '2.0' },
    id: { type: ['string', 'integer', 'null'] },
    error: object({ code: { type: 'integer' }, message: { type: 'string' } }),
  }),
  kling: object({
    code: { type: 'integer' },
    message: { type: 'string' },
    request_id: { type: 'string' },
    data: { type: 'null' },
  }),
  // The service's envelope, or the front gateway's for a wrong key.
  jimeng: {
    anyOf: [
      object({
        code: { type: 'integer' },
        data: { type: 'null' },
        message: { type: 'string' },
        request_id: { type: 'string' },
        status: { type: 'integer' },
        time_elapsed: { type: 'string' },
      }),
      object({ ResponseMetadata: { type: 'object' } }),
    ],
  },
  page: { type: 'string' },
};

/**
 * Generates OpenAPI 3.1 from the endpoints of the contract (https://spec.openapis.org/oas/v3.1.0): JSON Schema is
 * embedded unchanged.
 */
export function toOpenApi(
  endpoints: readonly Endpoint[],
  about: { readonly version: string; readonly baseUrl: string; readonly userHeader: string },
): Json {
  const paths: Record<string, Json> = {};
  for (const endpoint of endpoints) {
    if (endpoint.isOtherSpelling) continue;
    const path = endpoint.path.replace(/:(\w+)/g, '{$1}');
    const operations = paths[path] ?? {};
    operations[endpoint.method.toLowerCase()] = toOperation(endpoint);
    paths[path] = operations;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Reelgate',
      version: about.version,
      description: 'Device sign-in, video generation over ten vendors, chat relay, mailboxes, plans and notifications.',
    },
    servers: [{ url: about.baseUrl }],
    tags: [...new Set(endpoints.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An sk- token or the llm_token of a device sign-in.' },
        accessToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'A management access token, or the access_token of a device sign-in.',
        },
        session: { type: 'apiKey', in: 'cookie', name: 'session' },
        userId: {
          type: 'apiKey',
          in: 'header',
          name: about.userHeader,
          description: 'The id of the account, beside every management credential.',
        },
      },
    },
  };
}

function toOperation(endpoint: Endpoint): Json {
  const body = endpoint.body === undefined ? undefined : toRequestBody(endpoint);
  return defined({
    summary: endpoint.summary,
    tags: [endpoint.tag],
    operationId: toOperationId(endpoint),
    security: SECURITY[endpoint.policy],
    parameters: [...toParameters(endpoint.params, 'path'), ...toParameters(endpoint.query, 'query')],
    requestBody: body,
    responses: {
      ...Object.fromEntries(
        (endpoint.responseStatuses ?? [200]).map((status) => [status, toSuccess(endpoint, status)]),
      ),
      default: {
        description: 'An error. Endpoints below /api report documented errors with status 200 and `success: false`.',
        content: toErrorContent(endpoint),
      },
    },
  });
}

const ANTHROPIC_HEADERS = { 'anthropic-version': '2023-06-01' };
const GEMINI_HEADERS = { 'x-goog-api-key': 'key' };

/** Errors before routing, such as an unknown host, use the envelope of the path; some depend on the client. */
function toErrorContent({ envelope, path }: Endpoint): Json {
  const envelopes = [
    ...new Set([
      envelope,
      envelopeOfPath(path),
      envelopeForClient(envelope, path, ANTHROPIC_HEADERS),
      envelopeForClient(envelope, path, GEMINI_HEADERS),
    ]),
  ];
  const html = envelopes.includes('page') ? { 'text/html': { schema: FAILURES.page } } : {};
  const schemas = envelopes.filter((each) => each !== 'page').map((each) => FAILURES[each]);
  if (schemas.length === 0) return html;
  return { ...html, 'application/json': { schema: schemas.length === 1 ? schemas[0] : { anyOf: schemas } } };
}

/** Envelopes whose documented errors have status 200, like the success. */
const ERRORS_WITH_STATUS_200: ReadonlySet<EnvelopeKind> = new Set(['api', 'device']);

function toSuccess(endpoint: Endpoint, status: number): Json {
  const { envelope, response, documentedResponse = response } = endpoint;
  const { responseTypes = [envelope === 'page' ? 'text/html' : 'application/json'] } = endpoint;
  if (status === 202 || status === 204 || (status >= 300 && status < 400))
    return { description: status === 304 ? 'Not modified.' : 'Done.' };
  const success: unknown = documentedResponse ?? { type: 'object' };
  const json =
    ERRORS_WITH_STATUS_200.has(envelope) && documentedResponse !== undefined
      ? { [canBeBoth(documentedResponse) ? 'anyOf' : 'oneOf']: [success, FAILURES[envelope]] }
      : success;
  const example = documentedResponse === undefined ? undefined : schemaExample(documentedResponse, false);
  const content = responseTypes.map((type) => [
    type,
    type === 'application/json' ? defined({ schema: json, example }) : {},
  ]);
  return { description: 'Done.', content: Object.fromEntries(content) };
}

/** Turns a trailing slash into a word, because a path with and without one are two operations. */
const toOperationId = ({ method, path }: Endpoint): string =>
  `${method.toLowerCase()}${path
    .replace(/(?<=.)\/$/, '/slash')
    .replace(/[^A-Za-z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`;

const TYPES: Readonly<Record<NonNullable<Endpoint['accepts']>, readonly string[]>> = {
  json: ['application/json'],
  form: ['application/x-www-form-urlencoded'],
  'json-or-multipart': ['application/json', 'multipart/form-data'],
  upload: ['multipart/form-data'],
  discard: ['application/json', 'application/x-protobuf'],
};

function toRequestBody({ body, accepts = 'json', optionalBody = false, files = [] }: Endpoint): Json {
  const schemaOf = (type: string): unknown => (type === 'multipart/form-data' ? toMultipartSchema(body, files) : body);
  const example = schemaExample(body, true);
  const content = TYPES[accepts].map((type) => [
    type,
    type === 'application/json' ? { schema: schemaOf(type), example } : { schema: schemaOf(type) },
  ]);
  return { required: !optionalBody, content: Object.fromEntries(content) };
}

/** Whether a response of this schema may also contain `success: false`, as the state of a device code does. */
function canBeBoth(schema: TSchema): boolean {
  const { properties = {} } = schema as ObjectSchema;
  return (properties['success'] as { readonly const?: unknown } | undefined)?.const !== true;
}

/** In a multipart body, files are bytes and all other fields texts. */
function toMultipartSchema(body: TSchema | undefined, files: readonly string[]): Json {
  const { properties = {}, required = [] } = (body ?? {}) as ObjectSchema;
  const binary = { type: 'string', contentMediaType: 'application/octet-stream' };
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.keys(properties).map((name) => [
        name,
        files.includes(name) ? { anyOf: [binary, { type: 'array', items: binary }] } : { type: 'string' },
      ]),
    ),
    required,
  };
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, TSchema & { readonly description?: string }>>;
  readonly required?: readonly string[];
}

function toParameters(schema: TSchema | undefined, place: 'path' | 'query'): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema;
  return Object.entries(properties).map(([name, property]) =>
    defined({
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      schema: property,
      description: property.description,
    }),
  );
}
