import type { OutboundRequest } from '../../platform/outbound/outbound.ts';
import { type ContentSource, type Json, type VendorCall, VendorRefusal, type VideoVendor } from '../vendor.ts';
import { asArray, asObject, asText, asUrl, toRaw } from '../vendor-answer.ts';
import { unreadable } from '../vendor-errors.ts';
import { readGoogleError } from './google-errors.ts';
import { readHandle, readOperation, toHandle, type VideoReader } from './veo-operation.ts';
import { loadPictures, toVeoBody } from './veo-request.ts';

/** Veo by the Gemini API (ai.google.dev/gemini-api/docs/video): a key, an operation that is looked at with GET. */

export const GEMINI_BASE_URL = 'https://generativelanguage.googleapis.com';

type Route = Pick<VideoVendor, 'submit' | 'query' | 'content' | 'probe'>;

const keyHeader = (call: VendorCall): Readonly<Record<string, string>> => ({
  'x-goog-api-key': String(call.credentials.api_key),
});

const to = (call: VendorCall, path: string, body?: Json): OutboundRequest => ({
  method: body === undefined ? 'GET' : 'POST',
  url: `${call.baseUrl}/v1beta/${path}`,
  headers: { ...keyHeader(call), ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  signal: call.signal,
});

/** A path below the version; no segment begins with a dot, so that none leads upwards. */
const NAME = /^(?:[\w-][\w.-]*\/){0,8}operations\/[\w-][\w.-]{0,200}$/;

const holderOf = (response: unknown) => asObject(response)?.generateVideoResponse;

/** On the wire the list is `generatedSamples`, whatever the official SDK calls it in its own objects. */
const reader: VideoReader = {
  holder: holderOf,
  list: 'generatedSamples',
  artifact: (entry) => (asUrl(asObject(entry.video)?.uri) ? { kind: 'protected' } : undefined),
};

/**
 * Where the file is: at our own base URL by its id, with the key, as the official SDK does it, so that the key goes to no
 * host an answer names. Any other address is fetched as a stranger's, without the key.
 */
function toSource(uri: string, call: VendorCall): ContentSource {
  const file = /\/files\/([\w-]{1,128})(?::download)?(?:[/?]|$)/.exec(uri)?.[1];
  if (file === undefined) return { kind: 'fetch', url: uri, headers: {}, trusted: false };
  const url = `${call.baseUrl}/v1beta/files/${file}:download?alt=media`;
  return { kind: 'fetch', url, headers: keyHeader(call), trusted: true };
}

export const gemini: Route = {
  async submit(request, call) {
    const body = toVeoBody(request, await loadPictures(request, call), 'gemini');
    const path = `models/${encodeURIComponent(request.model)}:predictLongRunning`;
    const answer = await call.json(to(call, path, body));
    const raw = toRaw(answer);
    if (answer.status !== 200) return { kind: 'refused', error: readGoogleError(answer, call.now(), 'model'), raw };
    const name = asText(asObject(answer.json)?.name) ?? '';
    if (!NAME.test(name)) throw unreadable(answer);
    return { kind: 'accepted', handle: toHandle({ route: 'gemini', name }), upstreamId: name, raw };
  },

  async query(stored, call) {
    const handle = readHandle(stored);
    return readOperation(await call.json(to(call, handle.name)), handle, reader, call);
  },

  async content(_handle, raw, variant, call) {
    if (variant !== undefined && variant !== 'video') throw new VendorRefusal('Veo has only the video.', 'variant');
    const sample = asObject(asArray(asObject(holderOf(asObject(raw)?.response))?.generatedSamples)?.[0]);
    const uri = asUrl(asObject(sample?.video)?.uri);
    if (uri === undefined) throw new VendorRefusal('The provider gave no address for this video.');
    return toSource(uri, call);
  },

  async probe(call) {
    const answer = await call.json(to(call, 'models?pageSize=1'));
    if (answer.status === 200 && asArray(asObject(answer.json)?.models)) return { ok: true };
    return { ok: false, error: readGoogleError(answer, call.now(), 'missing') };
  },
};
