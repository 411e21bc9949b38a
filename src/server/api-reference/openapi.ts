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
import { schemaExample } from './schema-example.ts';

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
          description: 'A user access token, or the access_token of a device sign-in.',
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
