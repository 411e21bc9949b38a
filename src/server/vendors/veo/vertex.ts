import type { BufferedResponse, OutboundRequest } from '../../platform/outbound/outbound.ts';
import { type AdapterContext, endpointUrl, UnsupportedRequestError } from '../../upstreams/upstream.ts';
import type { ContentSource, RequestJson, VendorAdapter } from '../adapter.ts';
import { rejectedPoll, withJsonBody } from '../json-calls.ts';
import { asText, isSuccessStatus } from '../untrusted-json.ts';
import { isGeminiUrl } from './gemini.ts';
import { accessToken, parseGoogleError, type ServiceAccount, TokenRequestFailed } from './google.ts';
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

/**
 * Veo through Vertex AI (cloud.google.com/vertex-ai, veo-video-generation): a service account, and an operation polled
 * with POST.
 */

type ApiRoute = Pick<VendorAdapter, 'submit' | 'query' | 'content' | 'checkCredentials'>;

const OPERATION_NAME =
  /^(projects\/[\w.:-]+\/locations\/([a-z0-9-]+)\/publishers\/google\/models\/[\w.-]+)\/operations\/[\w-]+$/;

/** Polls an operation by its name, which contains its location. */
function fetchOperation(name: string, context: AdapterContext): Promise<BufferedResponse> {
  const [, model = '', location = ''] = OPERATION_NAME.exec(name) ?? [];
  return sendWithToken(context, { path: `v1/${model}:fetchPredictOperation`, location, body: { operationName: name } });
}

const modelPath = (model: string, context: AdapterContext): string => {
  const { project, location } = credentialsOf(context);
  return `projects/${encodeURIComponent(project)}/locations/${location}/publishers/google/models/${encodeURIComponent(model)}`;
};

/** Vertex AI's part of the adapter. */
export const vertex: ApiRoute = {
  async submit(request, context) {
    const body = toVeoBody(request, toEncodedMedia(request), 'vertex', context.options);
    const path = `v1/${modelPath(request.model, context)}:predictLongRunning`;
    const { location } = credentialsOf(context);
    const reply = await recoverTokenFailure<BufferedResponse | TokenRequestFailed>(
      sendWithToken(context, { path, location, body }),
      (it) => it,
    );
    if (reply instanceof TokenRequestFailed) return { kind: 'refused', error: reply.error, raw: null };
    return parseOperationSubmit(reply, 'vertex', OPERATION_NAME, context);
  },

  async query(stored, context) {
    const handle = parseHandle(stored);
    const reply = await recoverTokenFailure(fetchOperation(handle.name, context), throwPollFailed);
    return parseOperation(reply, handle, context);
  },

  /** In the customer's bucket with the same bearer token, or inside the operation, which is polled once more. */
  async content(stored, raw, variant, context) {
    if (variant !== undefined && variant !== 'video')
      throw new UnsupportedRequestError('Veo has only the video.', 'variant');
    const { gcsUri, url } = filmIn(raw) ?? {};
    if (gcsUri !== undefined) return storedFile(gcsUri, context);
    if (url !== undefined) return { kind: 'fetch', url, headers: {}, trusted: false };
    const reply = await recoverTokenFailure(fetchOperation(parseHandle(stored).name, context), throwPollFailed);
    if (!isSuccessStatus(reply)) throw rejectedPoll(parseGoogleError(reply, context.now(), 'missing'));
    const film = filmIn(reply.json);
    return inlineFile(film?.base64, film?.mimeType, reply);
  },

  /** Polls an operation that never existed: valid credentials get NOT_FOUND or INVALID_ARGUMENT. */
  async checkCredentials(context) {
    const model = modelPath('veo-3.1-generate-001', context);
    const operationName = `${model}/operations/00000000-0000-4000-8000-000000000000`;
    const { location } = credentialsOf(context);
    const path = `v1/${model}:fetchPredictOperation`;
    const asked = sendWithToken(context, { path, location, body: { operationName } });
    const reply = await recoverTokenFailure<BufferedResponse | TokenRequestFailed>(asked, (it) => it);
    if (reply instanceof TokenRequestFailed) return { ok: false, error: reply.error };
    const error = parseGoogleError(reply, context.now(), 'missing');
    const isKnown = error.code === 'NOT_FOUND' || error.code === 'INVALID_ARGUMENT';
    return isSuccessStatus(reply) || isKnown ? { ok: true } : { ok: false, error };
  },
};

/** Authorized requests to Vertex AI and to the Cloud Storage of its customers. */

export const credentialsOf = (context: AdapterContext) =>
  context.credentials as {
    readonly service_account: ServiceAccount;
    readonly project: string;
    readonly location: string;
  };

/** The global host of Vertex AI. */
export const VERTEX_HOST = 'aiplatform.googleapis.com';

/** Two multi-regions and the global endpoint have hosts of their own. */
const HOSTS: Readonly<Record<string, string>> = {
  global: VERTEX_HOST,
  eu: 'aiplatform.eu.rep.googleapis.com',
  us: 'aiplatform.us.rep.googleapis.com',
};

/**
 * The base URL of Vertex AI, which has a host for each location; the channel's default is Gemini's, and one the
 * administrator set takes precedence.
 */
export const vertexBase = (baseUrl: string, location: string): string =>
  isGeminiUrl(baseUrl) ? `https://${HOSTS[location] ?? `${location}-aiplatform.googleapis.com`}` : baseUrl;

/**
 * Sends a request with a token; if that token is refused, once
 * more with a new one, which is safe because no job was started.
 */
export async function sendWithToken(
  context: AdapterContext,
  call: {
    readonly method?: OutboundRequest['method'];
    /** Starts with the API's version. */
    readonly path: string;
    readonly location: string;
    readonly body?: RequestJson;
  },
): Promise<BufferedResponse> {
  const { service_account: account } = credentialsOf(context);
  const send = (token: string): Promise<BufferedResponse> => {
    const request: OutboundRequest = {
      method: call.method ?? 'POST',
      url: endpointUrl({ baseUrl: vertexBase(context.baseUrl, call.location) }, `/${call.path}`),
      headers: { authorization: `Bearer ${token}` },
      signal: context.signal,
    };
    return context.sendJson({ ...withJsonBody(request, call.body), maxBytes: MAX_RESPONSE_BYTES });
  };
  const token = await accessToken(account, context);
  const reply = await send(token);
  if (reply.status !== 401) return reply;
  const fresh = await accessToken(account, context, token);
  return fresh === token ? reply : send(fresh);
}

/** Handles a missing token. Nothing was sent, and the consequence depends on the request that needed the token. */
export async function recoverTokenFailure<T>(
  work: Promise<T>,
  otherwise: (refused: TokenRequestFailed) => T,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof TokenRequestFailed) return otherwise(error);
    throw error;
  }
}
/** Reports a missing token during a poll. */
export const throwPollFailed = ({ error }: TokenRequestFailed): never => {
  throw rejectedPoll(error);
};

const STORAGE_BASE_URL = 'https://storage.googleapis.com';

/**
 * A file in the customer's own bucket, fetched with the same bearer token through the JSON API; tests replace Google's
 * host by a simulator.
 *
 * @throws PollFailed if there is no token
 */
export async function storedFile(gcsUri: string, context: AdapterContext): Promise<ContentSource> {
  const [, bucket = '', object = ''] = /^gs:\/\/([^/]+)\/(.+)$/.exec(gcsUri) ?? [];
  const base = asText(context.options.storage_base_url) ?? STORAGE_BASE_URL;
  const url = `${base}/storage/v1/b/${bucket}/o/${encodeURIComponent(object)}?alt=media`;
  const token = await recoverTokenFailure(
    accessToken(credentialsOf(context).service_account, context),
    throwPollFailed,
  );
  return { kind: 'fetch', url, headers: { authorization: `Bearer ${token}` }, trusted: true };
}
