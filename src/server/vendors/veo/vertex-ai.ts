import { asObject, type UntrustedObject } from '../../../contract/is-object.ts';
import type { BufferedResponse, OutboundRequest } from '../../platform/outbound/outbound.ts';
import type { AdapterContext } from '../../upstreams/call.ts';
import { PollFailed, UnsupportedRequestError } from '../../upstreams/error.ts';
import type { Json, VendorAdapter } from '../adapter.ts';
import { ambiguousSubmit, rejectedPoll, unreadablePoll } from '../error-mapping.ts';
import { asArray, asText, toRawResponse } from '../untrusted-json.ts';
import { GEMINI_BASE_URL } from './gemini-api.ts';
import { parseGoogleError } from './google-errors.ts';
import { accessToken, type ServiceAccount, TokenRequestFailed } from './google-token.ts';
import { parseHandle, parseOperation, type ResponseLayout, toHandle } from './operation.ts';
import { loadImages, toVeoBody } from './request.ts';

/** Veo by Vertex AI (cloud.google.com/vertex-ai, veo-video-generation): a service account, an operation polled with POST. */

type ApiRoute = Pick<VendorAdapter, 'submit' | 'query' | 'content' | 'checkCredentials'>;

const credentialsOf = (context: AdapterContext) =>
  context.credentials as {
    readonly service_account: ServiceAccount;
    readonly project: string;
    readonly location: string;
  };

export const VERTEX_HOST = 'aiplatform.googleapis.com';

/** Two multi-regions and the global endpoint have hosts of their own. */
const HOSTS: Readonly<Record<string, string>> = {
  global: VERTEX_HOST,
  eu: 'aiplatform.eu.rep.googleapis.com',
  us: 'aiplatform.us.rep.googleapis.com',
};

/** Vertex AI has a host per location, and the vendor's default base URL is Gemini's; one set on the channel takes precedence. */
export const vertexBase = (baseUrl: string, location: string): string =>
  baseUrl === GEMINI_BASE_URL ? `https://${HOSTS[location] ?? `${location}-aiplatform.googleapis.com`}` : baseUrl;

const STORAGE_BASE_URL = 'https://storage.googleapis.com';

/** A response may contain the video: eight seconds at 4k, and a third more for its Base64. */
const MAX_RESPONSE_BYTES = 96 * 1024 ** 2;

/** One request with a token; if that is refused, one more with a new token, which is safe since no job was begun. */
async function sendWithToken(
  context: AdapterContext,
  path: string,
  location: string,
  body: Json,
): Promise<BufferedResponse> {
  const { service_account: account } = credentialsOf(context);
  const send = (token: string): Promise<BufferedResponse> => {
    const request: OutboundRequest = {
      method: 'POST',
      url: `${vertexBase(context.baseUrl, location)}/v1/${path}`,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: context.signal,
    };
    return context.sendJson({ ...request, maxBytes: MAX_RESPONSE_BYTES });
  };
  const token = await accessToken(account, context);
  const reply = await send(token);
  if (reply.status !== 401) return reply;
  const fresh = await accessToken(account, context, token);
  return fresh === token ? reply : send(fresh);
}

const OPERATION_NAME =
  /^(projects\/[\w.:-]+\/locations\/([a-z0-9-]+)\/publishers\/google\/models\/[\w.-]+)\/operations\/[\w-]+$/;

/** Polls an operation by its name, which contains its location. */
function fetchOperation(name: string, context: AdapterContext): Promise<BufferedResponse> {
  const [, model = '', location = ''] = OPERATION_NAME.exec(name) ?? [];
  return sendWithToken(context, `${model}:fetchPredictOperation`, location, { operationName: name });
}

const modelPath = (model: string, context: AdapterContext): string => {
  const { project, location } = credentialsOf(context);
  return `projects/${encodeURIComponent(project)}/locations/${location}/publishers/google/models/${encodeURIComponent(model)}`;
};

const isStorageUri = (value: unknown): value is string =>
  typeof value === 'string' && /^gs:\/\/[a-z0-9._-]+\/.+$/.test(value);

/** Base64 is replaced by a marker, since a task's row must not hold megabytes. */
function redactBase64(reply: BufferedResponse): Json {
  const operation = asObject(reply.json);
  const response = asObject(operation?.response);
  const videos = asArray(response?.videos);
  if (!operation || !response || !videos) return toRawResponse(reply);
  const marked = videos.map((entry) => {
    const video = asObject(entry);
    if (typeof video?.bytesBase64Encoded !== 'string') return entry;
    return { ...video, bytesBase64Encoded: `[${video.bytesBase64Encoded.length} characters of Base64]` };
  });
  return { ...operation, response: { ...response, videos: marked } } as Json;
}

const responseLayout: ResponseLayout = {
  container: (response) => response,
  list: 'videos',
  artifact(entry) {
    if (isStorageUri(entry.gcsUri)) return { kind: 'protected' };
    return asText(entry.bytesBase64Encoded) === undefined ? undefined : { kind: 'inline' };
  },
  raw: redactBase64,
};

const firstVideo = (operation: unknown): UntrustedObject | undefined =>
  asObject(asArray(asObject(asObject(operation)?.response)?.videos)?.[0]);

/** The URL of an object in the JSON API, which accepts the bearer token; tests replace Google's host by a simulator. */
function toStorageUrl(gcsUri: string, context: AdapterContext): string {
  const [, bucket = '', object = ''] = /^gs:\/\/([^/]+)\/(.+)$/.exec(gcsUri) ?? [];
  const base = asText(context.options.storage_base_url) ?? STORAGE_BASE_URL;
  return `${base}/storage/v1/b/${bucket}/o/${encodeURIComponent(object)}?alt=media`;
}

/** Without a token nothing is sent: what that means depends on the request it was for. */
async function recoverTokenFailure<T>(work: Promise<T>, otherwise: (refused: TokenRequestFailed) => T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof TokenRequestFailed) return otherwise(error);
    throw error;
  }
}
const throwPollFailed = ({ error }: TokenRequestFailed): never => {
  throw rejectedPoll(error);
};

export const vertex: ApiRoute = {
  async submit(request, context) {
    const body = toVeoBody(request, await loadImages(request, context), 'vertex', context.options);
    const path = `${modelPath(request.model, context)}:predictLongRunning`;
    const { location } = credentialsOf(context);
    const reply = await recoverTokenFailure<BufferedResponse | TokenRequestFailed>(
      sendWithToken(context, path, location, body),
      (it) => it,
    );
    if (reply instanceof TokenRequestFailed) return { kind: 'refused', error: reply.error, raw: null };
    const raw = toRawResponse(reply);
    if (reply.status !== 200) return { kind: 'refused', error: parseGoogleError(reply, context.now(), 'model'), raw };
    const name = asText(asObject(reply.json)?.name) ?? '';
    if (!OPERATION_NAME.test(name)) throw ambiguousSubmit(reply);
    return { kind: 'accepted', handle: toHandle({ route: 'vertex', name }), upstreamId: name, raw };
  },

  async query(stored, context) {
    const handle = parseHandle(stored);
    const reply = await recoverTokenFailure(fetchOperation(handle.name, context), throwPollFailed);
    return parseOperation(reply, handle, responseLayout, context);
  },

  /** In the customer's bucket with the same bearer token, or inside the operation, which is polled once more. */
  async content(stored, raw, variant, context) {
    if (variant !== undefined && variant !== 'video')
      throw new UnsupportedRequestError('Veo has only the video.', 'variant');
    const stowed = firstVideo(raw)?.gcsUri;
    if (isStorageUri(stowed)) {
      const token = await recoverTokenFailure(
        accessToken(credentialsOf(context).service_account, context),
        throwPollFailed,
      );
      const headers = { authorization: `Bearer ${token}` };
      return { kind: 'fetch', url: toStorageUrl(stowed, context), headers, trusted: true };
    }
    const reply = await recoverTokenFailure(fetchOperation(parseHandle(stored).name, context), throwPollFailed);
    if (reply.status !== 200) throw rejectedPoll(parseGoogleError(reply, context.now(), 'missing'));
    const video = firstVideo(reply.json);
    const base64 = asText(video?.bytesBase64Encoded);
    if (base64 === undefined) throw unreadablePoll(reply);
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.length === 0) throw new PollFailed('the upstream answered with something else than a video');
    return { kind: 'bytes', bytes, mimeType: asText(video?.mimeType) ?? 'video/mp4' };
  },

  /** Polls an operation that never existed: valid credentials get NOT_FOUND or INVALID_ARGUMENT. */
  async checkCredentials(context) {
    const model = modelPath('veo-3.1-generate-001', context);
    const operationName = `${model}/operations/00000000-0000-4000-8000-000000000000`;
    const asked = sendWithToken(context, `${model}:fetchPredictOperation`, credentialsOf(context).location, {
      operationName,
    });
    const reply = await recoverTokenFailure<BufferedResponse | TokenRequestFailed>(asked, (it) => it);
    if (reply instanceof TokenRequestFailed) return { ok: false, error: reply.error };
    const error = parseGoogleError(reply, context.now(), 'missing');
    const isKnown = error.code === 'NOT_FOUND' || error.code === 'INVALID_ARGUMENT';
    return reply.status === 200 || isKnown ? { ok: true } : { ok: false, error };
  },
};
