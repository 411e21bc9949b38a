import { randomBytes } from 'node:crypto';
import { Type } from 'typebox';
import type { TaskStatus } from '../../../contract/states.ts';
import type { OutboundAnswer } from '../../platform/outbound/outbound.ts';
import type {
  ErrorReason,
  Json,
  Media,
  ModelCapability,
  VendorCall,
  VendorError,
  VideoRequest,
  VideoVendor,
} from '../vendor.ts';
import { asId, asObject, asPercent, asText, entryOf, toRaw } from '../vendor-answer.ts';
import { applyExtra, compact, readSeconds, refuse, type VendorBody } from '../vendor-body.ts';
import { failedTask, notAnAnswer, refusedPoll, toVendorError, unreadable } from '../vendor-errors.ts';
import { toUrlOrDataUrl } from '../vendor-media.ts';

/**
 * OpenAI's videos (`/v1/videos`), spoken today by gateways and resellers; OpenAI closed its own in September 2026.
 * Source: openai/openai-openapi, paths `/videos…`. Objects and errors pass through unchanged, so ids are the upstream's.
 */

// Models and what they can do

const MODEL = {
  seconds: { values: [4, 8, 12], default: 4 },
  ratios: [],
  resolutions: [],
  modes: [],
  audio: true,
  negativePrompt: false,
  seed: false,
  images: { min: 0, max: 1, roles: ['first_frame'] },
} as const;

const models: readonly ModelCapability[] = [
  {
    ...MODEL,
    id: 'sora-2',
    title: 'Sora 2',
    sizes: ['720x1280', '1280x720'],
    price: { per_call: 0, per_second: 50_000 },
  },
  {
    ...MODEL,
    id: 'sora-2-pro',
    title: 'Sora 2 Pro',
    sizes: ['720x1280', '1280x720', '1024x1792', '1792x1024'],
    price: {
      per_call: 0,
      per_second: 150_000,
      multipliers: { size: { '1024x1792': 1.67, '1792x1024': 1.67 } },
    },
  },
];

// Request mapping

const DEFAULT_SECONDS = '4';
const DEFAULT_SIZE = '720x1280';

/** The JSON body; a picture given as a file is no part of it. */
function toBody(request: VideoRequest): VendorBody {
  if (request.mode !== undefined) refuse('mode', 'is not known to this model');
  if (request.images.length > 1) refuse('images', 'may hold one picture for this model');
  const [image] = request.images;
  return applyExtra(
    compact({
      ...request.native,
      model: request.model,
      prompt: request.prompt,
      seconds: request.seconds === undefined ? undefined : String(request.seconds),
      size: request.size,
      input_reference:
        image === undefined || image.kind === 'file'
          ? request.native?.input_reference
          : { image_url: toUrlOrDataUrl(image) },
    }),
    request.extra,
  );
}

/** RFC 7578; objects become bracketed names (`input_reference[image_url]`), as the official clients write them. */
function toMultipart(fields: VendorBody, file: Extract<Media, { kind: 'file' }>) {
  const boundary = `reelgate-${randomBytes(16).toString('hex')}`;
  const parts: Buffer[] = [];
  const part = (disposition: string, value: Buffer) => {
    parts.push(
      Buffer.from(`--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n`),
      value,
      Buffer.from('\r\n'),
    );
  };
  const quote = (name: string) => name.replace(/[\r\n"]/g, (sign) => encodeURIComponent(sign));
  const field = (name: string, value: Json): void => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      for (const [key, inner] of Object.entries(value)) field(`${name}[${key}]`, inner);
    } else part(`name="${quote(name)}"`, Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));
  };
  for (const [name, value] of Object.entries(fields)) field(name, value);
  const type = file.mimeType.replace(/[\r\n]/g, '');
  part(`name="input_reference"; filename="${quote(file.filename)}"\r\ncontent-type: ${type}`, file.bytes);
  parts.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: Buffer.concat(parts) };
}

// Status mapping

/** The four documented words, and those of imitators. */
const STATES: Readonly<Record<string, TaskStatus>> = {
  queued: 'QUEUED',
  pending: 'QUEUED',
  submitted: 'QUEUED',
  not_start: 'QUEUED',
  in_progress: 'IN_PROGRESS',
  processing: 'IN_PROGRESS',
  running: 'IN_PROGRESS',
  completed: 'SUCCESS',
  succeeded: 'SUCCESS',
  success: 'SUCCESS',
  failed: 'FAILURE',
  failure: 'FAILURE',
  cancelled: 'FAILURE',
  canceled: 'FAILURE',
  expired: 'FAILURE',
};

// Error reading

const REASONS: Readonly<Record<string, ErrorReason>> = {
  invalid_api_key: 'auth',
  unsupported_country_region_territory: 'auth',
  insufficient_quota: 'billing',
  billing_hard_limit_reached: 'billing',
  model_not_found: 'model',
  rate_limit_exceeded: 'rate',
  moderation_blocked: 'policy',
  content_policy_violation: 'policy',
};

interface Told {
  readonly code: string;
  readonly message: string;
  readonly param?: string;
}

/** The nested envelope of OpenAI, or the flat one of gateways that forget to nest it. */
function readTold(value: unknown): Told {
  const outer = asObject(value);
  const error = asObject(outer?.error) ?? outer;
  const code = error?.code;
  return {
    code: typeof code === 'number' ? String(code) : (asText(code) ?? asText(error?.type) ?? ''),
    message: asText(error?.message) ?? asText(outer?.error) ?? '',
    ...(typeof error?.param === 'string' ? { param: error.param } : {}),
  };
}

function readError(answer: OutboundAnswer, nowMs: number): VendorError {
  const told = readTold(answer.json);
  const reason = entryOf(REASONS, told.code);
  return toVendorError(answer, nowMs, { ...told, meaning: reason && { reason } });
}

// The vendor

const handleId = (handle: Json): string => asText(asObject(handle)?.id) ?? '';

const pathOf = (handle: Json, rest = ''): string => `/${encodeURIComponent(handleId(handle))}${rest}`;

/**
 * Azure OpenAI speaks the same protocol under a path, a key header and a version of its own; `options.api: "azure"` says so,
 * and models are named as its deployments. Source: learn.microsoft.com, Azure OpenAI video generation.
 */
const isAzure = (call: VendorCall): boolean => call.options.api === 'azure';

function auth(call: VendorCall): Record<string, string> {
  const key = String(call.credentials.api_key);
  return isAzure(call) ? { 'api-key': key } : { authorization: `Bearer ${key}` };
}

/** The address of `rest` (a path, or a query, or nothing) below the collection of videos. */
function toUrl(call: VendorCall, rest = ''): string {
  const url = new URL(`${call.baseUrl}${isAzure(call) ? '/openai' : ''}/v1/videos${rest}`);
  const version = asText(call.options.api_version);
  if (isAzure(call) && version !== undefined) url.searchParams.set('api-version', version);
  return url.href;
}

function ask(
  call: VendorCall,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: VendorBody,
): Promise<OutboundAnswer> {
  const headers = body ? { ...auth(call), 'content-type': 'application/json' } : auth(call);
  const url = toUrl(call, path);
  return call.json({ method, url, headers, signal: call.signal, ...(body ? { body: JSON.stringify(body) } : {}) });
}

function readSubmit(answer: OutboundAnswer, call: VendorCall) {
  const raw = toRaw(answer);
  if (answer.status >= 400) return { kind: 'refused', error: readError(answer, call.now()), raw } as const;
  const video = asObject(answer.json);
  const id = asId(video?.id) ?? asId(video?.task_id);
  if (id === undefined || answer.status >= 300) throw unreadable(answer);
  return { kind: 'accepted', handle: { id }, upstreamId: id, raw } as const;
}

export const sora: VideoVendor = {
  name: 'sora',
  title: 'Sora',
  defaultBaseUrl: 'https://api.openai.com',
  credentials: Type.Object({ api_key: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
  models,
  // Its fields are native ones of the body.
  metadata: Type.Object({}),
  passthrough: true,

  meter(request) {
    const body = toBody(request);
    const seconds = readSeconds(body.seconds ?? DEFAULT_SECONDS, 'seconds');
    return { seconds, factors: { size: typeof body.size === 'string' ? body.size : DEFAULT_SIZE } };
  },

  async submit(request, call) {
    const [image] = request.images;
    const body = toBody(request);
    if (image?.kind !== 'file') return readSubmit(await ask(call, 'POST', '', body), call);
    const form = toMultipart(body, image);
    const headers = { ...auth(call), 'content-type': form.contentType };
    const url = toUrl(call);
    return readSubmit(await call.json({ method: 'POST', url, headers, body: form.body, signal: call.signal }), call);
  },

  async query(handle, call) {
    const answer = await ask(call, 'GET', pathOf(handle));
    const raw = toRaw(answer);
    const video = asObject(answer.json);
    if (answer.status === 404 && asObject(video?.error)) {
      const { code, message } = readTold(video);
      return failedTask(raw, { reason: 'missing', code, message, httpStatus: 404 });
    }
    if (answer.status >= 400) throw refusedPoll(readError(answer, call.now()));
    const word = asText(video?.status);
    const id = asId(video?.id) ?? asId(video?.task_id);
    if (!video || word === undefined || (id !== undefined && id !== handleId(handle))) throw notAnAnswer(answer);
    const state = entryOf(STATES, word.toLowerCase()) ?? 'UNKNOWN';
    if (state === 'SUCCESS') return { state, artifact: { kind: 'protected' }, raw };
    const progress = asPercent(video.progress);
    if (state !== 'FAILURE') return { state, ...(progress === undefined ? {} : { progress }), raw };
    const { code, message } = readTold(asObject(video.error) ?? { message: `The upstream calls the task ${word}.` });
    return failedTask(raw, { reason: entryOf(REASONS, code) ?? 'other', code, message });
  },

  async content(handle, _raw, variant, call) {
    const query = variant === undefined ? '' : `?variant=${encodeURIComponent(variant)}`;
    return {
      kind: 'fetch',
      url: toUrl(call, pathOf(handle, `/content${query}`)),
      headers: auth(call),
      trusted: true,
    };
  },

  async remix(handle, request, call) {
    return readSubmit(await ask(call, 'POST', pathOf(handle, '/remix'), { prompt: request.prompt }), call);
  },

  async remove(handle, call) {
    await ask(call, 'DELETE', pathOf(handle));
  },

  async probe(call) {
    const answer = await ask(call, 'GET', '?limit=1');
    // Imitators without a list answer 404 or 405, after they have looked at the key.
    if (answer.status < 400 || answer.status === 404 || answer.status === 405) return { ok: true };
    return { ok: false, error: readError(answer, call.now()) };
  },
};
