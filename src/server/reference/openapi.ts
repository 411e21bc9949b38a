import type { TSchema } from 'typebox';
import { DEVICE_ERRORS } from '../../contract/device-auth.ts';
import type { Endpoint, EnvelopeKind, Policy } from '../../contract/endpoint.ts';
import { ERRORS } from '../../contract/errors.ts';

type Json = { [key: string]: unknown };

const SECURITY: Readonly<Record<Policy, readonly Json[]>> = {
  public: [],
  self: [],
  model: [{ apiKey: [] }],
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

const FAILURES: Readonly<Record<EnvelopeKind, Json>> = {
  api: object({ success: { const: false }, message: { type: 'string' } }),
  video: object({
    code: { type: 'string', enum: Object.keys(ERRORS) },
    message: { type: 'string' },
    data: { type: 'null' },
  }),
  'openai-video': object({
    code: { type: 'string' },
    message: { type: 'string' },
    data: { type: 'null' },
    error: openAiError,
  }),
  model: object({ error: openAiError }),
  device: object({
    success: { const: false },
    error: { type: 'string', enum: [...DEVICE_ERRORS] },
    message: { type: 'string' },
  }),
  oauth: object({ error: { type: 'string' }, error_description: { type: 'string' } }),
  page: { type: 'string' },
};

/** OpenAPI 3.1 from the lines of the contract (https://spec.openapis.org/oas/v3.1.0): JSON Schema goes in as it is. */
export function toOpenApi(
  endpoints: readonly Endpoint[],
  about: { readonly version: string; readonly baseUrl: string; readonly userHeader: string },
): Json {
  const paths: Record<string, Json> = {};
  for (const endpoint of endpoints) {
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
      description:
        'Device sign-in, video generation over eight vendors, chat relay, mailboxes, plans and notifications.',
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
  return {
    summary: endpoint.summary,
    tags: [endpoint.tag],
    operationId: toOperationId(endpoint),
    security: SECURITY[endpoint.policy],
    parameters: [...toParameters(endpoint.params, 'path'), ...toParameters(endpoint.query, 'query')],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      200: {
        description: 'Done.',
        ...(endpoint.answer === undefined ? {} : { content: { 'application/json': { schema: endpoint.answer } } }),
      },
      default: {
        description: 'A failure; /api addresses answer documented failures with 200 and success false.',
        content: {
          [endpoint.envelope === 'page' ? 'text/html' : 'application/json']: { schema: FAILURES[endpoint.envelope] },
        },
      },
    },
  };
}

/** An address and the same one with a slash at its end are two operations, so the slash has a word of its own. */
const toOperationId = ({ method, path }: Endpoint): string =>
  `${method.toLowerCase()}${path
    .replace(/(?<=.)\/$/, '/slash')
    .replace(/[^A-Za-z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`;

const TYPES: Readonly<Record<NonNullable<Endpoint['accepts']>, readonly string[]>> = {
  json: ['application/json'],
  form: ['application/x-www-form-urlencoded'],
  'json-or-multipart': ['application/json', 'multipart/form-data'],
};

function toRequestBody({ body, accepts = 'json' }: Endpoint): Json {
  return { required: true, content: Object.fromEntries(TYPES[accepts].map((type) => [type, { schema: body }])) };
}

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, TSchema & { readonly description?: string }>>;
  readonly required?: readonly string[];
}

function toParameters(schema: TSchema | undefined, place: 'path' | 'query'): Json[] {
  const { properties = {}, required = [] } = (schema ?? {}) as ObjectSchema;
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: property,
    ...(property.description === undefined ? {} : { description: property.description }),
  }));
}
