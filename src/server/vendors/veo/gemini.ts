import { asObject } from '../../../contract/objects.ts';
import type { BufferedResponse, OutboundRequest } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, endpointUrl, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import type { ContentSource, RequestJson, VendorAdapter } from '../adapter.ts';
import { rejectedPoll, withJsonBody } from '../json-calls.ts';
import { asArray, asText, isSuccessStatus } from '../untrusted-json.ts';
import { parseGoogleError } from './google.ts';
import {
  filmIn,
  inlineFile,
  MAX_RESPONSE_BYTES,
  parseHandle,
  parseOperation,
  parseOperationSubmit,
  toEncodedMedia,
  toVeoBody,
} from './request.ts';

/** Veo through the Gemini API (ai.google.dev/gemini-api/docs/video): an API key, and an operation polled with GET. */

export const GEMINI_BASE_URL = 'https://generativelanguage.googleapis.com';
/**
 * Whether a URL is the Gemini API's, with or without a version:
 * the default of channels with either kind of credentials.
 */
export const isGeminiUrl = (baseUrl: string): boolean => new URL(baseUrl).origin === GEMINI_BASE_URL;

type ApiRoute = Pick<VendorAdapter, 'submit' | 'query' | 'content' | 'checkCredentials'>;

const keyHeader = (context: AdapterContext): Readonly<Record<string, string>> => ({
  'x-goog-api-key': String(context.credentials.api_key),
});

/**
 * @param path Below the version.
 * @param method By default GET without a body, POST with one.
 */
export const geminiRequest = (
  context: AdapterContext,
  path: string,
  body?: RequestJson,
  method?: OutboundRequest['method'],
): OutboundRequest =>
  withJsonBody(
    {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      url: endpointUrl(context, `/v1beta/${path}`),
      headers: keyHeader(context),
      signal: context.signal,
    },
    body,
  );

/** A path below the version; no segment starts with a dot, which excludes `..`. */
const OPERATION_NAME = /^(?:[\w-][\w.-]*\/){0,8}operations\/[\w-][\w.-]{0,200}$/;

/** More models than the vendor has, and the maximum that one of our responses lists. */
const MAX_LISTED = 200;

/** The id of a file of the Gemini API; undefined for any other URL. */
export const fileIdOf = (uri: string): string | undefined =>
  /\/files\/([\w-]{1,128})(?::download)?(?:[/?]|$)/.exec(uri)?.[1];

/**
 * Location of the file: at our own base URL by its id, with the key, as in the official SDK, so that the key is sent to
 * no host that a response names. Any other URL is fetched as from an untrusted host, without the key.
 */
export function geminiFile(uri: string, context: AdapterContext): ContentSource {
  const file = fileIdOf(uri);
  if (file === undefined) return { kind: 'fetch', url: uri, headers: {}, trusted: false };
  const url = endpointUrl(context, `/v1beta/files/${file}:download?alt=media`);
  return { kind: 'fetch', url, headers: keyHeader(context), trusted: true };
}

const fetchOperation = (name: string, context: AdapterContext): Promise<BufferedResponse> =>
  context.sendJson({ ...geminiRequest(context, name), maxBytes: MAX_RESPONSE_BYTES });

/** The Gemini API's part of the adapter. */
export const gemini: ApiRoute = {
  async submit(request, context) {
    const body = toVeoBody(request, toEncodedMedia(request), 'gemini');
    const path = `models/${encodeURIComponent(request.model)}:predictLongRunning`;
    const reply = await context.sendJson(geminiRequest(context, path, body));
    return parseOperationSubmit(reply, 'gemini', OPERATION_NAME, context);
  },

  async query(stored, context) {
    const handle = parseHandle(stored);
    return parseOperation(await fetchOperation(handle.name, context), handle, context);
  },

  /** Either a file of the API, or inside the operation, which is polled once more. */
  async content(stored, raw, variant, context) {
    if (variant !== undefined && variant !== 'video')
      throw new UnsupportedRequestError('Veo has only the video.', 'variant');
    const { url, base64 } = filmIn(raw) ?? {};
    if (url !== undefined) return geminiFile(url, context);
    if (base64 === undefined) throw new UnsupportedRequestError('The provider gave no address for this video.');
    const reply = await fetchOperation(parseHandle(stored).name, context);
    if (!isSuccessStatus(reply)) throw rejectedPoll(parseGoogleError(reply, context.now(), 'missing'));
    const film = filmIn(reply.json);
    return inlineFile(film?.base64, film?.mimeType, reply);
  },

  async checkCredentials(context) {
    const response = await context.sendJson(geminiRequest(context, `models?pageSize=${MAX_LISTED}`));
    const models = asArray(asObject(response.json)?.models);
    if (isSuccessStatus(response) && models)
      return { ok: true, models: models.flatMap((model) => asText(asObject(model)?.name) ?? []).slice(0, MAX_LISTED) };
    return { ok: false, error: parseGoogleError(response, context.now(), 'missing') };
  },
};
