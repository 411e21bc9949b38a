import { Type } from 'typebox';
import { asObject } from '../../contract/objects.ts';
import {
  type AdapterContext,
  azureDeployment,
  chatAuthorizationHeaders,
  type ErrorReason,
  endpointUrl,
  openaiUrl,
} from '../upstreams/upstream.ts';
import type { CredentialCheck, VendorProfile } from './adapter.ts';
import { toVendorError } from './json-calls.ts';
import { asArray, asText } from './untrusted-json.ts';

/** The maximum number of models of a channel. */
const MAX_MODELS = 500;

const REASONS: Readonly<Record<number, ErrorReason>> = { 401: 'auth', 402: 'billing', 403: 'auth', 429: 'rate' };

/** Credentials of an account that consist of one key. */
const ApiKey = Type.Object(
  { api_key: Type.String({ minLength: 1, maxLength: 4096, writeOnly: true }) },
  { additionalProperties: false },
);

/** Location of a chat upstream's list of models. */
interface ModelList {
  readonly vendor: string;
  /** Version included. */
  readonly path: string;
  /** The member that holds the list, and the member of an entry that holds its id. */
  readonly listKey: string;
  readonly idKey: string;
}

/** Checks a key by requesting the list of models, which requires the key and is free. */
async function checkChatUpstreamKey(context: AdapterContext, list: ModelList): Promise<CredentialCheck> {
  const response = await context.sendJson({
    method: 'GET',
    url: list.vendor === 'openai' ? openaiUrl(context, list.path) : endpointUrl(context, list.path),
    headers: {
      ...chatAuthorizationHeaders(list.vendor, String(context.credentials.api_key), context),
      accept: 'application/json',
    },
  });
  // Azure lists the models that could be deployed; the URL of a deployment serves only that one.
  const deployment = list.vendor === 'openai' ? azureDeployment(context.baseUrl) : undefined;
  if (response.status === 200)
    return { ok: true, models: deployment === undefined ? parseModelIds(response.json, list) : [deployment] };
  const error = asObject(asObject(response.json)?.error);
  const reason = REASONS[response.status] ?? (response.status >= 500 ? 'capacity' : 'other');
  const message = asText(error?.message) ?? `HTTP ${response.status}`;
  const code = asText(error?.code) ?? asText(error?.type) ?? '';
  return { ok: false, error: toVendorError(response, context.now(), { code, message, meaning: { reason } }) };
}

/** Some upstreams return the bare list, or use the member names of another dialect. */
function parseModelIds(json: unknown, { listKey, idKey }: ModelList): string[] {
  const body = asObject(json);
  const list = [json, body?.[listKey], body?.data, body?.models].map(asArray).find((each) => each !== undefined) ?? [];
  return list
    .map((entry) => asText(asObject(entry)?.[idKey] ?? asObject(entry)?.id ?? entry)?.replace(/^models\//, ''))
    .filter((id) => id !== undefined)
    .slice(0, MAX_MODELS);
}

/** Any service with OpenAI's chat protocol. Its models are rows the administrator creates. */
export const openai: VendorProfile = {
  name: 'openai',
  title: 'OpenAI chat protocol',
  defaultBaseUrl: 'https://api.openai.com',
  credentials: ApiKey,

  /** platform.openai.com/docs/api-reference/models/list */
  checkCredentials: (context) =>
    checkChatUpstreamKey(context, { vendor: 'openai', path: '/v1/models', listKey: 'data', idKey: 'id' }),
};

/** Anthropic, and any service with its Messages protocol. Its models are rows the administrator creates. */
export const anthropic: VendorProfile = {
  name: 'anthropic',
  title: 'Anthropic Messages protocol',
  defaultBaseUrl: 'https://api.anthropic.com',
  credentials: ApiKey,

  /** docs.claude.com/en/api/models-list */
  checkCredentials: (context) =>
    checkChatUpstreamKey(context, { vendor: 'anthropic', path: '/v1/models?limit=200', listKey: 'data', idKey: 'id' }),
};

/** Google's Gemini API by its generateContent. Its models are rows the administrator creates. */
export const gemini: VendorProfile = {
  name: 'gemini',
  title: 'Gemini generateContent protocol',
  defaultBaseUrl: 'https://generativelanguage.googleapis.com',
  credentials: ApiKey,

  /** ai.google.dev/api/models */
  checkCredentials: (context) =>
    checkChatUpstreamKey(context, {
      vendor: 'gemini',
      path: '/v1beta/models?pageSize=200',
      listKey: 'models',
      idKey: 'name',
    }),
};
