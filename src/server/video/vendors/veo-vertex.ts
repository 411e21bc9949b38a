import type { OutboundAnswer, OutboundRequest } from '../../platform/outbound/outbound.ts';
import { CouldNotAsk, type Json, type VendorCall, VendorRefusal, type VideoVendor } from '../vendor.ts';
import { asArray, asObject, asText, toRaw, type Untrusted } from '../vendor-answer.ts';
import { notAnAnswer, refusedPoll, unreadable } from '../vendor-errors.ts';
import { readGoogleError } from './google-errors.ts';
import { accessToken, type ServiceAccount, TokenRefused } from './google-token.ts';
import { GEMINI_BASE_URL } from './veo-gemini.ts';
import { readHandle, readOperation, toHandle, type VideoReader } from './veo-operation.ts';
import { loadPictures, toVeoBody } from './veo-request.ts';

/** Veo by Vertex AI (cloud.google.com/vertex-ai, veo-video-generation): a service account, an operation asked for by POST. */

type Route = Pick<VideoVendor, 'submit' | 'query' | 'content' | 'probe'>;

const credentialsOf = (call: VendorCall) =>
  call.credentials as { readonly service_account: ServiceAccount; readonly project: string; readonly location: string };

/** Two multi-regions and the global endpoint have hosts of their own. */
const HOSTS: Readonly<Record<string, string>> = {
  global: 'aiplatform.googleapis.com',
  eu: 'aiplatform.eu.rep.googleapis.com',
  us: 'aiplatform.us.rep.googleapis.com',
};

/** Vertex AI has a host per location, where the vendor's default base URL is Gemini's; one set on the channel wins. */
export const vertexBase = (baseUrl: string, location: string): string =>
  baseUrl === GEMINI_BASE_URL ? `https://${HOSTS[location] ?? `${location}-aiplatform.googleapis.com`}` : baseUrl;

const STORAGE_BASE_URL = 'https://storage.googleapis.com';

/** A reply may hold the video: an eight-second one at 4k, and a third more for its Base64. */
const MAX_REPLY_BYTES = 96 * 1024 ** 2;

/** One exchange with a token; where that is refused, one more with a fresh one, which is safe since nothing was begun. */
async function exchange(call: VendorCall, path: string, location: string, body: Json): Promise<OutboundAnswer> {
  const { service_account: account } = credentialsOf(call);
  const send = (token: string): Promise<OutboundAnswer> => {
    const request: OutboundRequest = {
      method: 'POST',
      url: `${vertexBase(call.baseUrl, location)}/v1/${path}`,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: call.signal,
    };
    return call.json({ ...request, maxBytes: MAX_REPLY_BYTES });
  };
  const token = await accessToken(account, call);
  const answer = await send(token);
  if (answer.status !== 401) return answer;
  const fresh = await accessToken(account, call, token);
  return fresh === token ? answer : send(fresh);
}

const NAME = /^(projects\/[\w.:-]+\/locations\/([a-z0-9-]+)\/publishers\/google\/models\/[\w.-]+)\/operations\/[\w-]+$/;

/** Asks for an operation by its name, which says where it lives. */
function fetchOperation(name: string, call: VendorCall): Promise<OutboundAnswer> {
  const [, model = '', location = ''] = NAME.exec(name) ?? [];
  return exchange(call, `${model}:fetchPredictOperation`, location, { operationName: name });
}

const modelPath = (model: string, call: VendorCall): string => {
  const { project, location } = credentialsOf(call);
  return `projects/${encodeURIComponent(project)}/locations/${location}/publishers/google/models/${encodeURIComponent(model)}`;
};

const isObjectAddress = (value: unknown): value is string =>
  typeof value === 'string' && /^gs:\/\/[a-z0-9._-]+\/.+$/.test(value);

/** Base64 is marked where it stood, since megabytes have no place in a task's row. */
function withoutBytes(answer: OutboundAnswer): Json {
  const operation = asObject(answer.json);
  const response = asObject(operation?.response);
  const videos = asArray(response?.videos);
  if (!operation || !response || !videos) return toRaw(answer);
  const marked = videos.map((entry) => {
    const video = asObject(entry);
    if (typeof video?.bytesBase64Encoded !== 'string') return entry;
    return { ...video, bytesBase64Encoded: `[${video.bytesBase64Encoded.length} characters of Base64]` };
  });
  return { ...operation, response: { ...response, videos: marked } } as Json;
}

const reader: VideoReader = {
  holder: (response) => response,
  list: 'videos',
  artifact(entry) {
    if (isObjectAddress(entry.gcsUri)) return { kind: 'protected' };
    return asText(entry.bytesBase64Encoded) === undefined ? undefined : { kind: 'inline' };
  },
  raw: withoutBytes,
};

const firstVideo = (operation: unknown): Untrusted | undefined =>
  asObject(asArray(asObject(asObject(operation)?.response)?.videos)?.[0]);

/** The address of an object for its JSON API, where the bearer is taken; tests put a simulator in Google's place. */
function toStorageUrl(gcsUri: string, call: VendorCall): string {
  const [, bucket = '', object = ''] = /^gs:\/\/([^/]+)\/(.+)$/.exec(gcsUri) ?? [];
  const base = asText(call.options.storage_base_url) ?? STORAGE_BASE_URL;
  return `${base}/storage/v1/b/${bucket}/o/${encodeURIComponent(object)}?alt=media`;
}

/** No token, no question: what that means depends on what was to be asked. */
async function orTokenRefused<T>(work: Promise<T>, otherwise: (refused: TokenRefused) => T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof TokenRefused) return otherwise(error);
    throw error;
  }
}
const cannotAsk = ({ error }: TokenRefused): never => {
  throw refusedPoll(error);
};

export const vertex: Route = {
  async submit(request, call) {
    const body = toVeoBody(request, await loadPictures(request, call), 'vertex', call.options);
    const path = `${modelPath(request.model, call)}:predictLongRunning`;
    const { location } = credentialsOf(call);
    const answer = await orTokenRefused<OutboundAnswer | TokenRefused>(
      exchange(call, path, location, body),
      (it) => it,
    );
    if (answer instanceof TokenRefused) return { kind: 'refused', error: answer.error, raw: null };
    const raw = toRaw(answer);
    if (answer.status !== 200) return { kind: 'refused', error: readGoogleError(answer, call.now(), 'model'), raw };
    const name = asText(asObject(answer.json)?.name) ?? '';
    if (!NAME.test(name)) throw unreadable(answer);
    return { kind: 'accepted', handle: toHandle({ route: 'vertex', name }), upstreamId: name, raw };
  },

  async query(stored, call) {
    const handle = readHandle(stored);
    const answer = await orTokenRefused(fetchOperation(handle.name, call), cannotAsk);
    return readOperation(answer, handle, reader, call);
  },

  /** In the customer's bucket with the same bearer, or inside the operation, which is asked for once more. */
  async content(stored, raw, variant, call) {
    if (variant !== undefined && variant !== 'video') throw new VendorRefusal('Veo has only the video.', 'variant');
    const stowed = firstVideo(raw)?.gcsUri;
    if (isObjectAddress(stowed)) {
      const token = await orTokenRefused(accessToken(credentialsOf(call).service_account, call), cannotAsk);
      const headers = { authorization: `Bearer ${token}` };
      return { kind: 'fetch', url: toStorageUrl(stowed, call), headers, trusted: true };
    }
    const answer = await orTokenRefused(fetchOperation(readHandle(stored).name, call), cannotAsk);
    if (answer.status !== 200) throw refusedPoll(readGoogleError(answer, call.now(), 'missing'));
    const video = firstVideo(answer.json);
    const base64 = asText(video?.bytesBase64Encoded);
    if (base64 === undefined) throw notAnAnswer(answer);
    const bytes = Buffer.from(base64, 'base64');
    if (bytes.length === 0) throw new CouldNotAsk('the upstream answered with something else than a video');
    return { kind: 'bytes', bytes, mimeType: asText(video?.mimeType) ?? 'video/mp4' };
  },

  /** Asks for an operation that never was: who may ask is told that there is none. */
  async probe(call) {
    const model = modelPath('veo-3.1-generate-001', call);
    const operationName = `${model}/operations/00000000-0000-4000-8000-000000000000`;
    const asked = exchange(call, `${model}:fetchPredictOperation`, credentialsOf(call).location, { operationName });
    const answer = await orTokenRefused<OutboundAnswer | TokenRefused>(asked, (it) => it);
    if (answer instanceof TokenRefused) return { ok: false, error: answer.error };
    const error = readGoogleError(answer, call.now(), 'missing');
    const isKnown = error.code === 'NOT_FOUND' || error.code === 'INVALID_ARGUMENT';
    return answer.status === 200 || isKnown ? { ok: true } : { ok: false, error };
  },
};
