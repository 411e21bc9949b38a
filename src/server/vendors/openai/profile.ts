import { Type } from 'typebox';
import { asObject } from '../../../contract/is-object.ts';
import type { ErrorReason } from '../../upstreams/error.ts';
import type { VendorProfile } from '../adapter.ts';
import { toVendorError } from '../error-mapping.ts';
import { asArray, asText } from '../untrusted-json.ts';

const MAX_MODELS = 200;

const REASONS: Readonly<Record<number, ErrorReason>> = { 401: 'auth', 402: 'billing', 403: 'auth', 429: 'rate' };

/** Any service with OpenAI's chat protocol. Its models are rows the administrator creates. */
export const openai: VendorProfile = {
  name: 'openai',
  title: 'OpenAI chat protocol',
  defaultBaseUrl: 'https://api.openai.com',
  credentials: Type.Object(
    { api_key: Type.String({ minLength: 1, maxLength: 4096, writeOnly: true }) },
    { additionalProperties: false },
  ),

  /** The list of models needs the key and costs nothing (platform.openai.com/docs/api-reference/models/list). */
  async checkCredentials(context) {
    const response = await context.sendJson({
      method: 'GET',
      url: `${context.baseUrl}/v1/models`,
      headers: { authorization: `Bearer ${String(context.credentials.api_key)}`, accept: 'application/json' },
    });
    if (response.status === 200) return { ok: true, models: parseModelIds(response.json) };
    const error = asObject(asObject(response.json)?.error);
    const reason = REASONS[response.status] ?? (response.status >= 500 ? 'capacity' : 'other');
    const message = asText(error?.message) ?? `HTTP ${response.status}`;
    return {
      ok: false,
      error: toVendorError(response, context.now(), { code: asText(error?.code) ?? '', message, meaning: { reason } }),
    };
  },
};

const parseModelIds = (json: unknown): string[] =>
  (asArray(asObject(json)?.data) ?? [])
    .map((entry) => asText(asObject(entry)?.id))
    .filter((id) => id !== undefined)
    .slice(0, MAX_MODELS);
